import type { Json } from '../../base/canonical.ts'
import { limits } from '../../base/limits.ts'
import { doubtsAbout, isForbidden, unproven } from './record-doubts.ts'
import {
  itemsOf,
  marksOf,
  nameKeys,
  type RecordEntry,
  type RecordItem,
  textKeys,
  textOf,
  textsOf,
} from './record-items.ts'

/**
 * Concepts and claims, each with the constraints that limit it. What nobody reviewed, what is disputed, forbidden or
 * without evidence says so in its text and in a finding.
 */
export function ontologyEntries(files: ReadonlyMap<string, Json>): readonly RecordEntry[] {
  const constraints = byTarget(itemsOf(files, 'constraints'), targetKeys)
  const relations = byTarget(itemsOf(files, 'relations'), endKeys)
  const evidence = new Map(itemsOf(files, 'evidence').map((item) => [item.id, item]))
  return [
    ...itemsOf(files, 'concepts').map((concept) => conceptEntry(concept, constraints, relations)),
    ...itemsOf(files, 'claims').map((claim) => claimEntry(claim, constraints, evidence)),
  ]
}

type ByTarget = ReadonlyMap<string, readonly { readonly item: RecordItem }[]>

const conceptKeys = ['concept', 'concepts', 'concept_id', 'concept_ids', 'subject']
const targetKeys = ['applies_to', 'claim_id', 'claim_ids', 'claims', 'target', 'targets', ...conceptKeys]
const endKeys = ['from', 'to', 'source', 'target', 'subject', 'object']
const proofKeys = ['evidence', 'evidence_id', 'evidence_ids', 'source', 'sources', 'source_anchors', 'anchors']

/** Items by what they name; those that name nothing stand under the empty name, for they concern everything. */
function byTarget(items: readonly RecordItem[], keys: readonly string[]): ByTarget {
  const named = items.flatMap((item) => {
    const targets = new Set(textsOf(item.fields, keys))
    return [...(targets.size === 0 ? [''] : targets)].map((target) => ({ target, item }))
  })
  return Map.groupBy(named, ({ target }) => target)
}

function conceptEntry(item: RecordItem, constraints: ByTarget, relations: ByTarget): RecordEntry {
  const name = textOf(item.fields, nameKeys) ?? item.id
  const related = (relations.get(item.id) ?? []).map((relation) => `Relation: ${relationText(relation.item)}`)
  return {
    item,
    title: name,
    lines: [
      `Concept: ${name}`,
      ...textsOf(item.fields, textKeys),
      ...limitsOn([item.id], constraints),
      ...related.slice(0, limits.knowledgeRecordLinesMax),
    ],
    findings: doubtsAbout(item, 'concept', true),
    marks: marksOf(item),
  }
}

const relationText = ({ fields }: RecordItem): string =>
  [
    textOf(fields, ['from', 'source', 'subject']),
    textOf(fields, ['type', 'predicate', 'relation', 'label', 'name']),
    textOf(fields, ['to', 'target', 'object']),
  ]
    .filter((part) => part !== undefined)
    .join(' ')

/** A limit that is left out must be known to be. */
function limitsOn(about: readonly string[], constraints: ByTarget): readonly string[] {
  const found = [
    ...new Set(['', ...about].flatMap((target) => (constraints.get(target) ?? []).map(({ item }) => item))),
  ]
  const shown = found.slice(0, limits.knowledgeRecordLinesMax)
  const rest = found.length - shown.length
  return [
    ...shown.map(({ id, fields }) => `Constraint: ${textsOf(fields, [...textKeys, 'name']).join(' ') || id}`),
    ...(rest > 0 ? [`Constraint: ${rest} more that are not shown here`] : []),
  ]
}

function claimEntry(item: RecordItem, constraints: ByTarget, evidence: ReadonlyMap<string, RecordItem>): RecordEntry {
  const text = textsOf(item.fields, textKeys).join(' ') || item.id
  const proofs = textsOf(item.fields, proofKeys).flatMap((id) => evidence.get(id) ?? [])
  const places = marksOf(item)
  const findings = doubtsAbout(item, 'claim', proofs.length + places.length > 0)
  const doubt = findings.map(({ message }) => message).join('; ')
  const claim = isForbidden(item) ? 'Forbidden claim, not to be made' : doubt === '' ? 'Claim' : `Claim (${doubt})`
  return {
    item,
    title: textOf(item.fields, ['name', 'title', 'label']) ?? item.id,
    lines: [`${claim}: ${text}`, ...limitsOn([item.id, ...textsOf(item.fields, conceptKeys)], constraints)],
    findings,
    // Whether the files are there is known only where the pack is.
    ...(proofs.length === 0 && places.length > 0 && { unanchored: unproven(item, 'claim') }),
    marks: [...places, ...proofs.flatMap(marksOf)],
  }
}

import { byUnit } from '../../base/canonical.ts'
import { sha256 } from '../../base/hash.ts'
import { limits } from '../../base/limits.ts'
import { version } from '../../base/version.ts'
import type { CompileRun } from '../../model/knowledge/records.ts'
import { sourceMapPath } from '../read-records.ts'
import { stemOf } from '../select/layout.ts'
import { type CompiledDocument, compileDocument } from './compile-document.ts'
import { generatedSuite } from './generated-suite.ts'
import { descriptionOf, guideOf, plainTitle } from './import-texts.ts'
import type { PackText } from './pack-content.ts'
import { placeDocuments } from './place-documents.ts'
import { entryFile, inOrder, jsonFile } from './write-pack.ts'

export interface Import {
  readonly name: string
  /** Otherwise made from the titles of the documents. */
  readonly description?: string | undefined
  /** `2026-03-14`. */
  readonly today?: string | undefined
  /** Paths relative to the folder that they come from. At least one. */
  readonly documents: readonly PackText[]
  /** How many files the pack may have. */
  readonly filesMax?: number
}

/**
 * Documents as a document-first pack: the texts as they are, one split for each section, anchored to its line in the
 * document. The same documents give the same bytes, in whatever order they come.
 */
export function importDocuments(given: Import): readonly PackText[] {
  const documents = compiledOf(given.documents, given.filesMax ?? limits.knowledgeFilesMax)
  const titled = documents.map((each) => ({ ...each, title: titleOf(each) }))
  const primary = primaryOf(documents.map(({ document }) => document.path))
  const header = {
    name: given.name,
    description: given.description ?? descriptionOf(given.name, titled),
    type: 'domain-reference',
    status: 'needs-review',
    profile: 'document-first',
    mode: 'data',
    grounding: 'recommended',
    updated: given.today,
    primaryDocument: primary,
  } as const
  const prompts = generatedSuite(given.name, titled)
  return inOrder([
    entryFile(header, guideOf(given.name, titled)),
    ...documents.flatMap(({ document, splits }) => [document, ...splits]),
    jsonFile(sourceMapPath, { claims: [], document_sections: documents.flatMap(({ mapped }) => mapped) }),
    jsonFile('runs/compile-import.json', runOf(documents, primary)),
    ...(prompts === undefined ? [] : [jsonFile('evals/discovery.train.json', prompts)]),
  ])
}

/** Splits are made, and mapped, as long as a pack may have more files; sections of other documents are found without. */
function compiledOf(documents: readonly PackText[], filesMax: number): readonly CompiledDocument[] {
  let room = filesMax - documents.length - otherFiles
  return placeDocuments(documents).map((document) => {
    const compiled = compileDocument(document)
    if (compiled.splits.length > room) return { ...compiled, splits: [], mapped: [] }
    room -= compiled.splits.length
    return compiled
  })
}

const otherFiles = 4

const titleOf = ({ document, sections }: CompiledDocument): string =>
  plainTitle(sections.find(({ headings }) => headings.length > 0)?.headings[0] ?? '') || stemOf(document.path)

/** Where a reader begins: a file named so, the one nearest to the top; else the first. */
const primaryOf = (paths: readonly string[]): string | undefined => {
  const depth = (path: string): number => path.split('/').length
  const rank = (path: string): number => {
    const at = beginnings.indexOf(stemOf(path).toLowerCase())
    return at < 0 ? beginnings.length : at
  }
  return paths.toSorted(
    (left, right) => rank(left) - rank(right) || depth(left) - depth(right) || byUnit(left, right),
  )[0]
}

const beginnings = ['readme', 'index', 'overview', 'introduction', 'getting-started', 'guide']

const runOf = (documents: readonly CompiledDocument[], primary: string | undefined): CompileRun => ({
  run_id: 'compile-import',
  trigger: 'ingest',
  status: 'passed',
  inputs: documents.map(({ document: { path, text } }) => ({ path, sha256: sha256(text) })),
  outputs: documents.flatMap(({ splits }) => splits.map(({ path }) => ({ path, operation: 'created' as const }))),
  compiler: { tool: 'ambit', version },
  review: { required: true, reason: 'imported as it was: nobody has looked at it yet' },
  profile: 'document-first',
  runtime_mode: 'data',
  ...(primary !== undefined && { primary_document: primary }),
})

import assert from 'node:assert/strict'
import { test } from 'vitest'
import { chooseFrom, resolve, world } from '../../../test/support/knowledge-selection.ts'
import type { Json } from '../../base/canonical.ts'
import { indexRecords } from './records.ts'

const reviewed = { review_status: 'reviewed', evidence: ['e1'] }
const ontology: Readonly<Record<string, Json>> = {
  'ontology/concepts.json': {
    concepts: [
      { id: 'pump', name: 'Pump', definition: 'Moves water.', status: 'reviewed' },
      { id: 'fish', name: 'Fish', definition: 'Swims in water.', status: 'reviewed' },
    ],
  },
  'ontology/constraints.json': [
    { id: 'k1', applies_to: ['pump'], rule: 'Only below 60 degrees.' },
    { id: 'k2', applies_to: ['fish'], rule: 'Only in summer.' },
  ],
  'ontology/relations.json': { relations: [{ id: 'r', from: 'pump', type: 'feeds', to: 'tank' }] },
  'ontology/evidence.json': [{ id: 'e1', path: 'sources/sheet.md', anchor: 'L3' }],
  'ontology/claims.json': {
    claims: [
      { id: 'good', text: 'The pump holds 3 bar.', concept: 'pump', ...reviewed },
      { id: 'new', text: 'The pump holds 9 bar.', evidence: ['e1'] },
      { id: 'fought', text: 'The pump is loud.', ...reviewed, status: 'disputed' },
      { id: 'banned', text: 'The pump heals colds.', ...reviewed, review_status: 'forbidden' },
      { id: 'bare', text: 'The pump is blue.', review_status: 'approved' },
    ],
  },
  'ontology/action-types.json': { action_types: [{ id: 'a', name: 'Restart pump', text: 'Call the pump tool.' }] },
  'ontology/action-logs.json': { 'action-logs': [{ id: 'l', text: 'The pump was restarted.' }] },
  'answers/questions.json': { questions: [{ id: 'q', text: 'How loud is the pump?' }] },
  'answers/answer-blocks.json': {
    answer_blocks: [{ id: 'b', question_id: 'q', answer: 'It hums.', status: 'approved', citation_targets: ['t'] }],
  },
  'answers/citation-targets.json': { citation_targets: [{ id: 't', url: 'https://example.org/hum' }] },
  'answers/monitoring-runs.json': { monitoring_runs: [{ id: 'm', text: 'The pump was seen on a search page.' }] },
}

const index = (files = ontology) => indexRecords(new Map(Object.entries(files)))
const section = (id: string, files = ontology) => {
  const found = index(files).flatMap(({ sections }) => sections.filter((one) => one.id === id))[0]
  return { lines: found?.text?.split('\n'), codes: found?.findings?.map(({ code }) => code), marks: found?.marks }
}

test('a concept brings its constraints and relations, and no others [K-71 K-73]', () => {
  assert.deepEqual(section('pump').lines, [
    'Concept: Pump',
    'Moves water.',
    'Constraint: Only below 60 degrees.',
    'Relation: pump feeds tank',
  ])
})

test('a claim is a fact only when it was reviewed and has evidence [K-71]', () => {
  const { lines, codes, marks } = section('good')
  assert.deepEqual(lines, ['Claim: The pump holds 3 bar.', 'Constraint: Only below 60 degrees.'])
  assert.deepEqual([codes, marks], [[], ['sources/sheet.md#L3']])
  assert.deepEqual(section('new').codes, ['claim-inferred'])
  assert.deepEqual(section('fought').codes, ['claim-disputed'])
  assert.deepEqual(section('bare').codes, ['claim-source-required'])
  assert.deepEqual(section('banned').codes, ['claim-disputed'])
  assert.deepEqual(section('banned').lines, ['Forbidden claim, not to be made: The pump heals colds.'])
  assert.match(section('new').lines?.[0] ?? '', /^Claim \(claim `new` was not reviewed\): /)
})

test('actions, their logs and monitoring are nothing that is known [K-72 K-74]', () => {
  const all = index().flatMap(({ sections }) => sections.map(({ text }) => text))
  assert.equal(all.length, 8)
  for (const text of all) assert.doesNotMatch(text ?? '', /estart|tool|search page/)
})

test('an answer is a candidate, and what it could cite is unchecked and no anchor [K-74]', () => {
  assert.deepEqual(section('b').lines, [
    'Question: How loud is the pump?',
    'Answer, a candidate: It hums.',
    'Could be cited, unchecked: https://example.org/hum',
  ])
  assert.deepEqual(section('b').marks, [])
})

const files = { 'sources/sheet.md': 'one\ntwo\n3 bar' }
const here = [world({ profile: 'wiki-first' }, files, { records: index() })]

test('only what the query asks for is sent, and doubts stand in front of it [K-71 K-74 K-88]', () => {
  const { text, packs } = resolve(here, { query: 'swims fish summer' })
  assert.match(text, /Concept: Fish\nSwims in water\.\nConstraint: Only in summer\./)
  assert.doesNotMatch(text, /3 bar|colds|hums/)
  assert.deepEqual(packs[0]?.files, ['ontology/concepts.json'])
  const doubtful = resolve(here, { query: 'pump 9 bar' })
  assert.match(
    doubtful.text,
    /<knowledge_warning code="claim-inferred" severity="warning">ontology\/claims\.json: claim `new` was not reviewed/,
  )
})

test('evidence of a claim is an anchor when its file is there [K-71]', () => {
  const { choice } = chooseFrom(here, { query: 'holds 3 bar' })
  const good = choice.packs[0]?.sections.find(({ section: one }) => one.id === 'good')
  assert.deepEqual(good?.anchors, ['sources/sheet.md#L3'])
})

test('evidence that is not there proves nothing, be it an entry or a file [K-71]', () => {
  const claims = [
    { id: 'entry', text: 'Pump one.', review_status: 'reviewed', evidence: ['gone'] },
    { id: 'file', text: 'Pump two.', review_status: 'reviewed', source: { path: 'sources/gone.md' } },
    { id: 'web', text: 'Pump three.', review_status: 'reviewed', source: 'https://example.org/' },
    { id: 'there', text: 'Pump four.', review_status: 'reviewed', source: { path: './sources/sheet.md' } },
    { id: 'known', text: 'Pump five.', review_status: 'reviewed', evidence_id: 'e1' },
  ]
  const records = index({ ...ontology, 'ontology/claims.json': { claims } })
  const { choice } = chooseFrom([world({ profile: 'wiki-first' }, files, { records })], { query: 'pump' })
  const unproven = choice.diagnostics.filter(({ code }) => code === 'claim-source-required')
  assert.deepEqual(unproven.map(({ message }) => message).sort(), [
    'claim `entry` has no evidence',
    'claim `file` has no evidence',
    'claim `web` has no evidence',
  ])
})

test('records of any shape are read without harm [K-71]', () => {
  const odd: readonly Json[] = [
    null,
    1,
    'x',
    [],
    [[]],
    [null, 1, { id: 4 }],
    { claims: {} },
    { claims: [1, null, [], {}] },
    { concepts: [{ id: '__proto__', name: '' }] },
  ]
  for (const value of odd) {
    const found = indexRecords(
      new Map([
        ['ontology/claims.json', value],
        ['ontology/concepts.json', value],
      ]),
    )
    for (const { sections } of found)
      for (const one of sections) assert(one.id !== '' && (one.findings?.length ?? 0) > 0)
  }
})

test('many constraints on everything stay few, and the rest is counted [K-73]', () => {
  const many = {
    'ontology/concepts.json': [{ id: 'a', name: 'A', status: 'reviewed' }],
    'ontology/constraints.json': Array.from({ length: 500 }, (_, n) => ({ id: `k${n}`, rule: `Rule ${n}.` })),
  }
  const { lines } = section('a', many)
  assert.equal(lines?.length, 18)
  assert.equal(lines?.at(-1), 'Constraint: 484 more that are not shown here')
})

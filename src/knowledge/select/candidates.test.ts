import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { makePack } from '../../../test/support/knowledge-selection.ts'
import { candidatesOf } from './candidates.ts'
import { placeOf } from './layout.ts'

const never = [
  'KNOWLEDGE.md',
  'SKILL.md',
  'LICENSE',
  'indexes/source-map.json',
  'indexes/a.md',
  'runs/compile-1.json',
  'runs/notes.md',
  'evals/discovery.train.json',
  'evals/a.md',
  'schemas/a.json',
  'assets/a.md',
  'scripts/a.md',
  'documents/scripts/a.md',
  'documents/SKILL.md',
  'wiki/skill.md',
  'compiled/index.json',
  'compiled/.hidden.md',
  'documents/../indexes/a.md',
  'documents//a.md',
  'documents/a\\b.md',
  '/documents/a.md',
  'documents/a.exe',
  'documents/a.pdf',
  'other/a.md',
  'ontology/a.md',
]

const tiers = (header: Parameters<typeof makePack>[0], paths: readonly string[], more = {}) =>
  candidatesOf(makePack(header), { paths, guide: '', ...more }).tiers

test('what is no place of facts is never a candidate, in no profile [K-62 K-63]', () => {
  for (const profile of ['document-first', 'wiki-first', 'hybrid'] as const) {
    assert.deepEqual(tiers({ profile }, [...never, 'sources/a.md', 'sources/b/c.md']), [])
    const { records } = candidatesOf(makePack({ profile }), { paths: never, guide: never.join('\n') })
    assert.deepEqual(records, [])
  }
})

test('document-first: documents with splits beside short views, then the rest; a split only without its document [K-57 K-58]', () => {
  const paths = [
    'documents/pumps.md',
    'documents/valves.md',
    'compiled/splits/pumps/limits.md',
    'compiled/briefing.md',
    'compiled/playbook.md',
    'wiki/a.md',
  ]
  assert.deepEqual(tiers({ primaryDocument: './documents/pumps.md' }, paths), [
    ['documents/pumps.md', 'compiled/briefing.md'],
    ['documents/valves.md', 'compiled/playbook.md'],
  ])
  assert.deepEqual(tiers({}, ['compiled/splits/pumps/limits.md', 'documents/valves.md']), [
    ['compiled/splits/pumps/limits.md'],
    ['documents/valves.md'],
  ])
})

test('document-first without splits begins with the primary document [K-58]', () => {
  assert.deepEqual(
    tiers({ primaryDocument: 'documents/b.md' }, ['documents/b.md', 'documents/a.md', 'compiled/facts.md']),
    [['compiled/facts.md', 'documents/b.md'], ['documents/a.md']],
  )
})

test('wiki-first: all views, whatever their names, then pages [K-57 K-59]', () => {
  const paths = ['wiki/a.md', 'compiled/zebra.md', 'compiled/sub/x.md', 'documents/a.md']
  assert.deepEqual(tiers({ profile: 'wiki-first' }, paths), [['compiled/sub/x.md', 'compiled/zebra.md'], ['wiki/a.md']])
})

test('hybrid begins with the primary document, else with the context map, else where the operator says [K-60]', () => {
  const paths = ['documents/a.md', 'wiki/a.md', 'wiki/b.md', 'compiled/facts.md', 'compiled/boundaries.md']
  const first = (header: object, more: object) => tiers({ profile: 'hybrid', ...header }, paths, more)[0]
  const guide = 'Context map: limits are in `wiki/b.md`, prices in [here](documents/gone.md).'
  assert.deepEqual(first({ primaryDocument: 'documents/a.md' }, { guide }), [
    'documents/a.md',
    'compiled/boundaries.md',
  ])
  assert.deepEqual(first({}, { guide }), ['wiki/b.md', 'compiled/boundaries.md'])
  assert.deepEqual(first({}, { configured: ['wiki/'] }), ['wiki/a.md', 'wiki/b.md', 'compiled/boundaries.md'])
  assert.deepEqual(first({}, {}), ['compiled/boundaries.md', 'compiled/facts.md'])
})

test('a document-first pack without documents or primary document shows the gap [K-30]', () => {
  const codes = (header: object, paths: readonly string[]) =>
    candidatesOf(makePack(header), { paths, guide: '' }).diagnostics.map(({ code, path }) => `${code} ${path}`)
  assert.deepEqual(codes({}, ['wiki/a.md']), ['primary-missing documents/'])
  assert.deepEqual(codes({}, ['documents/a.md']), [])
  assert.deepEqual(codes({}, ['documents/a.md', 'documents/b.md']), ['primary-missing documents/'])
  assert.deepEqual(codes({ primaryDocument: 'documents/b.md' }, ['documents/a.md']), ['primary-missing documents/b.md'])
  assert.deepEqual(codes({ primaryDocument: '../../etc/passwd' }, ['documents/a.md']), ['path-escape KNOWLEDGE.md'])
  assert.deepEqual(codes({ primaryDocument: 'documents/a.md' }, ['documents/a.md']), [])
  assert.deepEqual(codes({ profile: 'wiki-first' }, ['documents/a.md']), ['primary-missing documents/'])
})

test('a key of the header that leads out of the pack is an error and names nothing [K-70]', () => {
  const out = ['../../../etc/passwd', 'documents/../../a.md', '/documents/a.md', 'C:/a.md', 'file:///etc/passwd']
  for (const path of out) {
    const keys = { primaryDocument: path, primaryOntology: path, primaryAnswers: path }
    const { diagnostics, tiers: found } = candidatesOf(makePack(keys), { paths: ['documents/a.md'], guide: '' })
    assert.deepEqual(
      diagnostics.map(({ code, severity }) => `${code} ${severity}`),
      ['path-escape error', 'path-escape error', 'path-escape error'],
    )
    assert.deepEqual(found, [['documents/a.md']])
  }
  assert.deepEqual(tiers({ primaryDocument: 'wiki/../documents/b.md' }, ['documents/a.md', 'documents/b.md']), [
    ['documents/b.md'],
    ['documents/a.md'],
  ])
})

test('of ontology and answers only what can be known is opened, never actions, logs or monitoring [K-71 K-72 K-74]', () => {
  const names = 'ontology concepts relations claims evidence constraints coverage signals objectives resources'.split(
    ' ',
  )
  const operational = ['action-types', 'decision-gates', 'action-logs', 'feedback']
  const answers = [
    'questions',
    'answer-blocks',
    'citation-targets',
    'source-surfaces',
    'structured-data',
    'monitoring-runs',
  ]
  const paths = [
    ...[...names, ...operational].map((n) => `ontology/${n}.json`),
    ...answers.map((n) => `answers/${n}.json`),
  ]
  const pack = makePack({
    primaryOntology: 'ontology/action-types.json',
    primaryAnswers: 'answers/monitoring-runs.json',
  })
  assert.deepEqual(candidatesOf(pack, { paths, guide: '' }).records, [
    ...['claims', 'concepts', 'constraints', 'evidence', 'ontology', 'relations'].map(
      (name) => `ontology/${name}.json`,
    ),
    ...['answer-blocks', 'citation-targets', 'questions'].map((name) => `answers/${name}.json`),
  ])
})

test('the order of files does not matter, and no path is a candidate twice [K-64]', () => {
  const folder = fc.constantFrom(
    'documents',
    'wiki',
    'compiled',
    'compiled/splits/a',
    'sources',
    'indexes',
    'ontology',
    '',
  )
  const path = fc
    .tuple(folder, fc.constantFrom('a.md', 'b.md', 'facts.md', 'claims.json', 'SKILL.md'))
    .map((parts) => parts.join('/'))
  const header = fc.record({
    profile: fc.constantFrom('document-first' as const, 'wiki-first' as const, 'hybrid' as const),
  })
  fc.assert(
    fc.property(header, fc.uniqueArray(path), (given, paths) => {
      const found = candidatesOf(makePack(given), { paths, guide: '' })
      assert.deepEqual(candidatesOf(makePack(given), { paths: [...paths].reverse(), guide: '' }), found)
      const all = found.tiers.flat()
      assert.equal(new Set(all).size, all.length)
      assert(all.every((one) => paths.includes(one) && placeOf(one) !== undefined && placeOf(one) !== 'source'))
    }),
  )
})

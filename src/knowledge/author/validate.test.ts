import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { givenContent } from '../../../test/support/knowledge-content.ts'
import type { PackHeader } from '../../model/knowledge/knowledge.ts'
import { packPath } from '../pack-path.ts'
import { validate } from './validate.ts'

const told = (files: Readonly<Record<string, unknown>>, header: Partial<PackHeader> = {}): readonly string[] =>
  validate(givenContent({ 'KNOWLEDGE.md': '', ...files }, header)).map(
    ({ code, severity, path }) => `${severity} ${code} ${path}`,
  )

const run = {
  run_id: 'compile-1',
  trigger: 'manual',
  status: 'passed',
  inputs: [{ path: 'documents/a.md' }],
  outputs: [{ path: 'compiled/facts.md', operation: 'created' }],
}
const resolution = {
  run_id: 'context-1',
  query: 'which seal?',
  status: 'passed',
  activated_packs: [{ name: 'pumps', activation: 'explicit', selected_files: ['compiled/facts.md'] }],
}
const result = {
  suite: 'train',
  pack_name: 'pumps',
  results: [],
  summary: {
    passed: 0,
    failed: 0,
    precision: 1,
    recall: 1,
    false_positives: 0,
    false_negatives: 0,
    warning_accuracy: 1,
  },
}
const suite = { pack_name: 'pumps', cases: [{ id: '1', prompt: 'which seal?', expected: 'select' }] }
const claim = (source: object, more: object = {}) => ({
  claim_id: 'c1',
  text: 'Seals last a year.',
  status: 'confirmed',
  source,
  ...more,
})

test.each<[string, Readonly<Record<string, unknown>>, Partial<PackHeader>, readonly string[]]>([
  ['nothing', { 'documents/a.md': '' }, { profile: 'document-first', primaryDocument: 'documents/a.md' }, []],
  ['nothing', { 'documents/a.md': '' }, { profile: 'document-first', primaryDocument: './documents/a.md' }, []],
  [
    'a document-first pack without documents',
    {},
    { profile: 'document-first' },
    ['warning primary-missing KNOWLEDGE.md'],
  ],
  [
    'documents and no primary one',
    { 'documents/a.md': '' },
    { profile: 'document-first' },
    ['warning primary-missing KNOWLEDGE.md'],
  ],
  [
    'a primary document that is gone',
    {},
    { primaryDocument: 'documents/a.md' },
    ['warning primary-missing KNOWLEDGE.md'],
  ],
  ['a primary document elsewhere', {}, { primaryDocument: '../a.md' }, ['error path-escape KNOWLEDGE.md']],
  ['a content ontology without one', {}, { type: 'content-ontology' }, ['error ontology-missing KNOWLEDGE.md']],
  ['an ontology without its key', { 'ontology/ontology.json': {} }, {}, ['warning ontology-missing KNOWLEDGE.md']],
  ['an ontology that is gone', {}, { primaryOntology: 'ontology/a.json' }, ['error ontology-missing KNOWLEDGE.md']],
  ['an ontology elsewhere', {}, { primaryOntology: '/etc/a.json' }, ['error path-escape KNOWLEDGE.md']],
  ['nothing', { 'ontology/a.json': {} }, { type: 'content-ontology', primaryOntology: 'ontology/a.json' }, []],
  ['answers without their key', { 'answers/questions.json': [] }, {}, ['warning answers-missing KNOWLEDGE.md']],
  ['answers that are gone', {}, { primaryAnswers: 'answers/a.json' }, ['error answers-missing KNOWLEDGE.md']],
])('%s is found in the layout of %j with %j [K-33 K-34 K-35]', (_, files, header, expected) => {
  assert.deepEqual(told(files, header), expected)
})

test('a persona needs guidance on its boundaries: a file of that name or a heading [K-31]', () => {
  const persona = { mode: 'persona' } as const
  assert.deepEqual(told({ 'compiled/voice.md': '# Voice' }, persona), ['warning persona-boundaries KNOWLEDGE.md'])
  assert.deepEqual(told({ 'compiled/boundaries.md': '' }, persona), [])
  assert.deepEqual(told({ 'wiki/a.md': '# Me\n\n## What I never say\n\nPrices.' }, persona), [])
  assert.deepEqual(told({ 'sources/boundaries.md': '' }, persona), ['warning persona-boundaries KNOWLEDGE.md'])
})

test.each<[string, unknown, readonly string[]]>([
  ['runs/compile-1.json', run, []],
  ['runs/compile-1.json', { ...run, trigger: 'luck' }, ['error record-invalid runs/compile-1.json']],
  ['runs/compile-1.json', { ...run, more: 1 }, ['error record-invalid runs/compile-1.json']],
  ['runs/compile-1.json', { ...run, inputs: [{ path: '../../secret' }] }, ['error path-escape runs/compile-1.json']],
  ['runs/context-1.json', resolution, []],
  ['runs/context-1.json', { ...resolution, activated_packs: [] }, ['error record-invalid runs/context-1.json']],
  ['runs/context-compile-1.json', resolution, []],
  ['runs/eval-discovery-1.json', result, []],
  ['runs/eval-discovery-1.json', run, ['error record-invalid runs/eval-discovery-1.json']],
  ['runs/lint-compile-1.json', { anything: true }, []],
  ['runs/health-1.json', '{"a": 1, "a": 2}', ['error record-invalid runs/health-1.json']],
  ['runs/old/compile-1.json', { anything: true }, ['error record-invalid runs/old/compile-1.json']],
  [
    'answers/questions.json',
    'no JSON',
    ['error record-invalid answers/questions.json', 'warning answers-missing KNOWLEDGE.md'].toSorted(),
  ],
])('the kind of a record follows from how its name begins: %s %j [K-66]', (path, value, expected) => {
  assert.deepEqual(told({ [path]: value }).toSorted(), expected)
})

test.each<[object, readonly string[]]>([
  [claim({ path: 'sources/a.md', anchor: 'L2' }), []],
  [claim({ path: 'sources/a.md', anchor: '#L1-L3' }), []],
  [claim({ path: 'sources/a.md#the-seals' }), []],
  [claim({ path: 'sources/a.pdf', anchor: 'page=7' }), []],
  [claim({ path: 'sources/gone.md' }), ['error source-missing']],
  [claim({ path: 'sources/gone.md' }, { status: 'missing' }), []],
  [claim({ path: '../a.md' }), ['error path-escape']],
  [claim({ path: 'sources/a.md', anchor: 'L99' }), ['warning anchor-missing']],
  [claim({ path: 'sources/a.md', anchor: 'bearings' }), ['warning anchor-missing']],
  [claim({ path: 'sources/a.md' }, { compiled_into: ['compiled/gone.md'] }), ['warning anchor-missing']],
  [{ claim_id: 'c1' }, ['error record-invalid']],
])('every claim of the source map has its source: %j [K-36]', (one, expected) => {
  const files = { 'sources/a.md': '# Notes\n\n## The seals\n\nlast a year\n', 'sources/a.pdf': '' }
  assert.deepEqual(
    told({ ...files, 'indexes/source-map.json': { claims: [one] } }),
    expected.map((finding) => `${finding} indexes/source-map.json`),
  )
})

test.each<[string, unknown, readonly string[]]>([
  ['evals/discovery.train.json', suite, []],
  ['evals/discovery.validation.json', { ...suite, pack_name: 'valves' }, ['error suite-mismatch']],
  ['evals/discovery.train.json', { ...suite, cases: [] }, ['error record-invalid']],
  ['evals/discovery.json', { queries: [{ query: 'which seal?', should_select: true }] }, ['warning suite-old']],
  ['evals/answer-quality.json', { evals: [{ id: '1', prompt: 'which seal?' }] }, []],
  ['evals/answer-quality.json', { evals: [{ id: 1 }] }, ['error record-invalid']],
  ['evals/other.json', '{', ['error record-invalid']],
  ['evals/files/a.json', '{', []],
])('suites have their shape and are about this pack: %s %j [K-95]', (path, value, expected) => {
  assert.deepEqual(
    told({ [path]: value }),
    expected.map((finding) => `${finding} ${path}`),
  )
})

test('whatever a pack holds, validation answers, in the same order for any order of files [K-01 K-19]', () => {
  const path = fc.constantFrom(
    'runs/compile-a.json',
    'indexes/source-map.json',
    'evals/discovery.train.json',
    'ontology/o.json',
    'documents/a.md',
  )
  const file = fc.tuple(path, fc.oneof(fc.json(), fc.string({ unit: 'binary' })))
  fc.assert(
    fc.property(fc.uniqueArray(file, { selector: ([name]) => name }), (files) => {
      assert.deepEqual(told(Object.fromEntries(files)), told(Object.fromEntries(files.toReversed())))
    }),
  )
})

test('a path stays in the pack exactly when walking it never steps out [K-69 K-70]', () => {
  const segments = fc.array(fc.constantFrom('..', '.', '', 'a', 'b'), { minLength: 1, maxLength: 8 })
  fc.assert(
    fc.property(segments, (given) => {
      const path = given.join('/')
      const steps = given.map((segment) => (segment === '..' ? -1 : segment === '.' || segment === '' ? 0 : 1))
      const depths = steps.map((_, index) => steps.slice(0, index + 1).reduce<number>((sum, step) => sum + step, 0))
      const leaves = depths.some((depth) => depth < 0)
      assert.equal(packPath(path) === undefined, leaves || depths.at(-1) === 0 || path.startsWith('/'))
    }),
  )
  for (const path of ['C:/a', 'a\\..\\b', 'https://example.org/a', 'a\0', '/etc/passwd'])
    assert.equal(packPath(path), undefined)
})

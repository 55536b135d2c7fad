import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { checkRequirements } from './support/requirements.ts'
import { readProject, type SourceFile } from './support/source.ts'

describe('every active requirement has a test, and every test a requirement [F-19]', () => {
  const files = readProject()

  test('the gate is open', () => {
    assert.deepEqual(checkRequirements(files).findings, [])
  })
  test('all areas are there, whole', () => {
    const sizes = Object.fromEntries(checkRequirements(files).areas.map(({ area, rows }) => [area, rows]))
    assert.deepEqual(sizes, { foundation: 27, grants: 81, host: 100, knowledge: 96, runs: 122, workspace: 91 })
  })
})

describe('the gate closes on [F-19]', () => {
  const proof = file('src/a.test.ts', `test('a [F-01]', () => {})`)

  test('nothing, when all is well', () => {
    const report = checkRequirements([rows('F-01', 'F-02 planned'), proof])
    const { proofs, ...rest } = report
    assert.deepEqual(
      proofs['foundation']?.map(({ id, tests }) => [id, tests.length]),
      [
        ['F-01', 1],
        ['F-02', 0],
      ],
    )
    assert.deepEqual(rest, {
      areas: [{ area: 'foundation', rows: 2, active: 1, proven: 1, planned: 1 }],
      missing: [],
      findings: [],
    })
  })

  test('an active row without a test', () => {
    const report = checkRequirements([rows('F-01', 'F-02'), proof])
    assert.deepEqual(report.missing, ['F-02'])
    assert.deepEqual(report.findings, ['F-02 is active and no test cites it'])
  })

  test('a row that is cited only in words', () => {
    const words = file('src/b.test.ts', `// test('b [F-02]')\ntest('b [F-01]', () => { assert('[F-02]') })`)
    assert.deepEqual(checkRequirements([rows('F-01', 'F-02'), words]).missing, ['F-02'])
  })

  test('a cited row that does not exist', () => {
    const wrong = file('test/b.test.ts', `\ntest('b [F-01 F-99]', () => {})`)
    assert.deepEqual(findings(rows('F-01'), wrong), ['test/b.test.ts:2 cites F-99, which does not exist'])
  })

  test.each([
    [`test('b', () => {})`],
    [`describe('b', () => { test('c [F-01]', () => {}) })`],
    [`test.each([1, 2])('b %s', () => {})`],
    [`test.skipIf(true)('b [F01]', () => {})`],
    [`for (const driver of drivers) describe(driver, () => {})`],
    ['if (folder) test(`b [F-01, F-02]`, () => {})'],
    [`it(name, () => {})`],
  ])('a test of the file itself that cites none: %s', (text) => {
    assert.deepEqual(findings(rows('F-01'), proof, file('examples/b.test.ts', text)), [
      'examples/b.test.ts:1 cites no row',
    ])
  })

  test('a row twice, in one file or two', () => {
    assert.deepEqual(findings(rows('F-01', 'F-01'), proof), ['F-01 occurs twice'])
    assert.deepEqual(findings(rows('F-01'), { ...rows('F-01'), path: 'requirements/other.json' }, proof), [
      'F-01 occurs twice',
    ])
  })

  test('rows out of order, by number', () => {
    assert.deepEqual(findings(rows('F-99 planned', 'F-100 planned')), [])
    assert.deepEqual(findings(rows('F-02 planned', 'F-01'), proof), [
      'requirements/foundation.json: F-01 is out of order',
    ])
  })

  test('rows of two areas in one file', () => {
    assert.deepEqual(findings(rows('F-01', 'G-02 planned'), proof), ['requirements/foundation.json mixes areas'])
  })

  test.each([
    ['id', { id: 'F-1' }],
    ['level', { level: 'MUST' }],
    ['text', { text: ' ' }],
    ['origin', { origin: 'S, O' }],
    ['status', { status: 'done' }],
    ['status', { status: undefined }],
    ['note', { note: 'a field more' }],
  ])('a row without a good %s: %o', (field, change) => {
    const text = JSON.stringify([{ ...row('F-01 planned'), ...change }])
    assert.deepEqual(
      findings(file('requirements/foundation.json', text)).filter((finding) => finding.includes('row 1')),
      [`requirements/foundation.json: row 1 has no good \`${field}\``],
    )
  })

  test('no requirements at all', () => {
    assert.deepEqual(findings(), ['there are no requirements'])
  })
})

describe('a citation counts in [F-19]', () => {
  test.each([
    ['src/b.test.ts', `test('b [F-02]', () => {})`],
    ['src/b.test.ts', `test.each([1])('b %s [F-01 F-02]', () => {})`],
    ['src/b.test.ts', `test.skipIf(folder === undefined)('b [F-02]', () => {})`],
    ['src/b.test.ts', `test.each\`a | b\`(\`b \${x} [F-02]\`, () => {})`],
    ['src/b.test.ts', `describe('b ' + name + ' [F-02]', () => {})`],
    ['src/b.test.ts', `describe('b [F-01]', () => { test('c [F-02]', () => {}) })`],
    ['examples/b.test.ts', `it('b [F-02]', { timeout: 1 }, () => {})`],
    ['src/testing/store.ts', `export function contract(test: Register) { test('b [F-02]', () => {}) }`],
    ['src/testing/store.ts', `export const contract = (on: Runner) => { on.test('b [F-02]', () => {}) }`],
  ])('%s: %s', (path, text) => {
    const proof = file('src/a.test.ts', `test('a [F-01]', () => {})`)
    assert.deepEqual(findings(rows('F-01', 'F-02'), proof, file(path, text)), [])
  })

  test('no other file, and no call that is not a test', () => {
    const elsewhere = file('src/base/b.ts', `test('b [F-02]', () => {})`)
    const pattern = file('src/b.test.ts', `test('b [F-01]', () => { /a/.test('[F-02]') })`)
    assert.deepEqual(checkRequirements([rows('F-01', 'F-02'), elsewhere, pattern]).missing, ['F-02'])
  })
})

const findings = (...files: SourceFile[]): readonly string[] => checkRequirements(files).findings

const rows = (...ids: string[]): SourceFile => file('requirements/foundation.json', JSON.stringify(ids.map(row)))

function row(idAndStatus: string) {
  const [id, status = 'active'] = idAndStatus.split(' ')
  return { id, level: 'must', text: 'it holds', origin: 'ours', status }
}

function file(path: string, text: string): SourceFile {
  return { path, text }
}

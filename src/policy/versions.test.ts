import assert from 'node:assert/strict'
import { test } from 'vitest'
import { resolveVersion, satisfies } from './versions.ts'

const cases: [range: string, fits: string[], doesNot: string[]][] = [
  ['1.2.3', ['1.2.3', '1.2.3-rc.1', '1.2.3+build'], ['1.2.4', '1.2.2', '2.2.3']],
  ['=1.2.3', ['1.2.3'], ['1.2.4']],
  ['^1.2.0', ['1.2.0', '1.5.0', '1.99.99'], ['2.0.0', '1.1.9', '0.9.0']],
  ['^1.2', ['1.2.0', '1.9.0'], ['2.0.0', '1.1.9']],
  ['^1', ['1.0.0', '1.9.9'], ['2.0.0', '0.9.9']],
  ['^0.2.0', ['0.2.0', '0.2.5'], ['0.3.0', '0.1.9', '1.0.0']],
  ['^0.0.3', ['0.0.3'], ['0.0.4', '0.0.2', '0.1.0']],
  ['^0.0', ['0.0.0', '0.0.9'], ['0.1.0']],
  ['^0', ['0.0.0', '0.9.9'], ['1.0.0']],
  ['^1.x', ['1.0.0', '1.9.9'], ['2.0.0']],
  ['~1.2.3', ['1.2.3', '1.2.9'], ['1.3.0', '1.2.2']],
  ['~1.2', ['1.2.0', '1.2.9'], ['1.3.0', '1.1.9']],
  ['~1', ['1.0.0', '1.9.0'], ['2.0.0']],
  ['>=1.2.3', ['1.2.3', '1.2.4', '2.0.0'], ['1.2.2']],
  ['>=1.0 <2', ['1.0.0', '1.7.0', '1.99.0'], ['2.0.0', '0.9.9']],
  ['>1.2.3', ['1.2.4', '2.0.0'], ['1.2.3', '1.2.2']],
  ['>1', ['2.0.0'], ['1.0.0', '1.9.9']],
  ['<=1.2.3', ['1.2.3', '0.0.0'], ['1.2.4']],
  ['<=1', ['1.9.9', '0.1.0'], ['2.0.0']],
  ['<1.2.3', ['1.2.2', '0.9.0'], ['1.2.3', '1.3.0']],
  ['1.x', ['1.0.0', '1.9.9'], ['2.0.0', '0.9.9']],
  ['1.X.x', ['1.9.9'], ['2.0.0']],
  ['1.*', ['1.9.9'], ['2.0.0']],
  ['1.2.x', ['1.2.0', '1.2.9'], ['1.3.0', '1.1.0']],
  ['1', ['1.0.0', '1.5.5'], ['2.0.0']],
  ['1.2', ['1.2.7'], ['1.3.0']],
  ['*', ['0.0.0', '3.1.4', '99.0.0'], []],
  ['x', ['3.1.4'], []],
  ['>=*', ['3.1.4'], []],
  ['^*', ['3.1.4'], []],
  ['~*', ['3.1.4'], []],
  ['<*', [], ['0.0.0', '3.1.4']],
  ['>*', [], ['0.0.0', '3.1.4']],
  ['^1.2.3-rc.1', ['1.2.3', '1.2.3-rc.0'], ['1.2.2']],
  ['  >=1   <2  ', ['1.5.0'], ['2.0.0']],
  ['1.10.x', ['1.10.1'], ['1.1.0', '1.9.0']],
]

test('a version range holds for exactly the versions it says [H-26]', () => {
  for (const [range, fits, doesNot] of cases) {
    for (const version of fits) assert.equal(satisfies(version, range), true, `${version} in ${range}`)
    for (const version of doesNot) assert.equal(satisfies(version, range), false, `${version} not in ${range}`)
  }
})

test('a version range that cannot be read fits nothing, and neither does a version that is none [H-26]', () => {
  const unreadable = [
    '',
    ' ',
    'latest',
    '1.2.3.4',
    'v1',
    '01.0.0',
    '1..2',
    '1.x.3',
    '>= 1',
    '1 || 2',
    '-1',
    '1,2',
    '^^1',
    '1.2.',
    '9999999999',
    '1.0 x y',
  ]
  for (const range of unreadable) assert.equal(satisfies('1.2.3', range), false, range)
  for (const version of ['', '1', '1.2', 'x', '1.2.x', '01.2.3', ' 1.2.3', '1.2.3 ']) {
    assert.equal(satisfies(version, '*'), false, version)
  }
})

const available = ['1.0.0', '1.10.0', '1.9.0', '2.0.0-rc.1']
const resolved = (wanted: Parameters<typeof resolveVersion>[1], from: readonly string[] = available) => {
  const resolution = resolveVersion(from, wanted)
  return resolution.ok ? resolution.version : resolution.code
}

test('the version a call means is the exact one it names, if there is one [H-26]', () => {
  assert.equal(resolved({ exact: '1.0.0' }), '1.0.0')
  assert.equal(resolved({ exact: '1.0.1' }), 'capability_not_found')
  assert.equal(resolved({ exact: '1.0' }), 'capability_not_found')
})

test('the version a call means is the highest that fits its range, by number [H-26]', () => {
  assert.equal(resolved({ range: '^1.0.0' }), '1.10.0')
  assert.equal(resolved({ range: '*' }), '2.0.0-rc.1')
  assert.equal(resolved({ range: '^3.0.0' }), 'capability_version_unsupported')
  assert.equal(resolved({ range: 'newest' }), 'capability_version_unsupported')
  assert.equal(resolved({ range: '1' }, ['1.0.0-rc.2', '1.0.0', '1.0.0-rc.1']), '1.0.0')
  assert.equal(resolved({ range: '1' }, ['1.0.0-rc.1', '1.0.0-rc.2']), '1.0.0-rc.2')
})

test('the version a call means is the only one there is, when it names none [H-26]', () => {
  assert.equal(resolved({}, ['1.0.0']), '1.0.0')
  assert.equal(resolved({ exact: null }, ['1.0.0']), '1.0.0')
  assert.equal(resolved({}), 'capability_version_unsupported')
  assert.equal(resolved({}, []), 'capability_not_found')
  assert.equal(resolved({ range: '*' }, []), 'capability_not_found')
})

test('the version a call means agrees with both, when it names both [H-26]', () => {
  assert.equal(resolved({ exact: '1.9.0', range: '^1.0.0' }), '1.9.0')
  assert.equal(resolved({ exact: '1.9.0', range: '^2.0.0' }), 'capability_version_unsupported')
  assert.equal(resolved({ exact: '1.9.1', range: '^1.0.0' }), 'capability_not_found')
})

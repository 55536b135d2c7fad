import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { faultOf } from '../grants/parse.ts'
import { decodeName, encodeName, fileSpot, folderSpots, labelOf, pathBelow, scopeFolder } from './file-paths.ts'

const odd = [
  'A',
  'a',
  'é',
  'e\u0301',
  'K',
  '\u212a',
  'ß',
  'ss',
  'İ',
  'ı',
  '.',
  '-',
  '=',
  '~',
  'con',
  'NUL',
  '𝒳',
  '1',
  '_',
]
const name = fc
  .oneof(
    fc.array(fc.constantFrom(...odd), { minLength: 1, maxLength: 6 }).map((parts) => parts.join('')),
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 }),
  )
  .filter((text) => text.isWellFormed() && !/[\0/\\]/.test(text))

/** What a file system that folds case and normalises takes two names for. */
const folded = (text: string): string => text.normalize('NFKD').toLowerCase().toUpperCase().normalize('NFKC')

test('names are encoded so that no disk merges two of them, and each comes back [G-48]', () => {
  fc.assert(
    fc.property(fc.uniqueArray(name, { maxLength: 12 }), (names) => {
      const encoded = names.map(encodeName)
      assert.equal(new Set(encoded.map(folded)).size, names.length)
      assert.deepEqual(encoded.map(decodeName), names)
    }),
    { numRuns: 3_000 },
  )
})

test('an encoded name is short enough for a disk, portable, and none that a system keeps to itself [G-48]', () => {
  const reserved = [
    'con',
    'CON',
    'nul',
    'com1.txt',
    'lpt9',
    'aux',
    'prn.',
    '.ambit-lock',
    '.AMBIT-0-a',
    '.hidden',
    '..a',
    '-rf',
    'a.',
    '~1',
    'a:b',
  ]
  fc.assert(
    fc.property(fc.oneof(name, fc.constantFrom(...reserved)), (one) => {
      const encoded = encodeName(one)
      assert.match(encoded, /^(?:=[0-9a-v]+|[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_-])?)$/)
      assert.doesNotMatch(encoded, /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/)
    }),
    { numRuns: 2_000 },
  )
  for (const long of ['A'.repeat(128), '𝒳'.repeat(32), 'é'.repeat(64)]) {
    assert.equal(faultOf(long), undefined)
    assert(encodeName(long).length <= 220)
  }
})

test('what is no encoded name is not decoded [G-48]', () => {
  const plain = encodeName('Acme')
  const texts = ['Acme', plain.toUpperCase(), '=', '=0', '=v', 'con', '.ambit-lock', 'a.', `=0${plain.slice(1)}`]
  for (const text of texts) assert.equal(decodeName(text), undefined, text)
  const digits = fc.string({ unit: fc.constantFrom(...'0189afv='), maxLength: 9 }).map((text) => `=${text}`)
  fc.assert(
    fc.property(fc.oneof(name, digits), (text) => {
      const decoded = decodeName(text)
      if (decoded !== undefined) assert.equal(encodeName(decoded), text)
    }),
  )
})

const segment = fc.constantFrom('a', 'A', 'ab', 'é', '.x', 'con', 'a.b', 'a-b')
const grant = fc.array(segment, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/'))

test('of two grants one lies in the folder of the other exactly if it lies below it in the namespace [G-48]', () => {
  fc.assert(
    fc.property(grant, grant, (one, other) =>
      assert.equal(
        `${folded(scopeFolder(one))}/`.startsWith(`${folded(scopeFolder(other))}/`),
        `${one}/`.startsWith(`${other}/`),
      ),
    ),
    { numRuns: 3_000 },
  )
})

test('a label is plain, unique, and the same whatever other grants there are [G-48]', () => {
  fc.assert(
    fc.property(fc.uniqueArray(grant, { minLength: 2, maxLength: 12 }), (grants) => {
      const labels = grants.map(labelOf)
      assert.equal(new Set(labels.map(folded)).size, grants.length)
      for (const [at, label] of labels.entries()) {
        assert.match(label, /^[\w-][\w.-]*-[0-9a-f]{12}$/)
        assert.equal(fileSpot(grants, `${label}/x`).grant, grants[at])
        assert.deepEqual(folderSpots(grants, label)[0]?.host, scopeFolder(grants[at] ?? ''))
      }
    }),
  )
})

test('a path below a folder is told as it can be used again [G-48]', () => {
  const folders = fc.array(
    name.filter((one) => !/^(?:\.{1,2}|\.ambit-.*)$/.test(one)),
    { maxLength: 3 },
  )
  fc.assert(
    fc.property(fc.uniqueArray(grant, { minLength: 1, maxLength: 3 }), folders, (grants, names) => {
      for (const spot of folderSpots(grants, '')) {
        const host = [spot.host, ...names.map(encodeName), 'File.txt'].join('/')
        const path = pathBelow(spot, host, 'file')
        assert.deepEqual([fileSpot(grants, path ?? '').host, fileSpot(grants, path ?? '').grant], [host, spot.grant])
      }
    }),
  )
})

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'vitest'
import { sha256 } from '../base/hash.ts'
import { appendLeaf, logLeaf, logRoot, logSize } from './log.ts'
import {
  consistencyProof,
  emptyRoot,
  grew,
  includes,
  inclusionProof,
  leafHash,
  merkleRoot,
  nodeHash,
} from './merkle.ts'

/** The tree as RFC 6962 defines it, over bytes. */
function naiveRoot(texts: readonly string[]): Buffer {
  const hash = (...parts: readonly Uint8Array[]) => createHash('sha256').update(Buffer.concat(parts)).digest()
  const [only] = texts
  if (only === undefined) return hash()
  if (texts.length === 1) return hash(Buffer.of(0), Buffer.from(only))
  const split = 2 ** Math.ceil(Math.log2(texts.length) - 1)
  return hash(Buffer.of(1), naiveRoot(texts.slice(0, split)), naiveRoot(texts.slice(split)))
}

const texts = Array.from({ length: 200 }, (_, index) => `leaf ${index}`)
const leaves = texts.map(leafHash)
const rootOf = (size: number): string => naiveRoot(texts.slice(0, size)).toString('hex')

test('the empty tree has the hash of nothing, one leaf is its own root [H-82 H-88 F-09]', () => {
  assert.equal(emptyRoot, sha256(''))
  assert.equal(merkleRoot([]), emptyRoot)
  assert.equal(merkleRoot(['ab']), 'ab')
  assert.equal(
    nodeHash('00'.repeat(32), 'ff'.repeat(32)),
    sha256(Buffer.from(`01${'00'.repeat(32)}${'ff'.repeat(32)}`, 'hex')),
  )
})

test('the root and the frontier agree with the definition at every size up to 200 [H-82 H-88 F-09]', () => {
  let log = ''
  assert.deepEqual([logSize(log), logRoot(log)], [0, emptyRoot])
  for (const [index, leaf] of leaves.entries()) {
    log = appendLeaf(log, leaf)
    const expected = rootOf(index + 1)
    assert.equal(merkleRoot(leaves.slice(0, index + 1)), expected)
    assert.deepEqual([logSize(log), logRoot(log)], [index + 1, expected])
    assert.equal(log.length, `${index + 1}:`.length + 64 * ones(index + 1))
  }
})

test('a frontier is the size and the roots of the complete subtrees, largest first [H-82 H-88 F-09]', () => {
  const log = leaves.slice(0, 6).reduce(appendLeaf, '')
  assert.equal(log, `6:${rootOf(4)}${merkleRoot(leaves.slice(4, 6))}`)
})

test('a leaf of the log is the hash of its canonical text [H-82 H-88 F-09]', () => {
  const entry = { sequence: 7, correlation_id: 'run "é"', content_hash: 'ab' }
  assert.equal(logLeaf(entry), leafHash('{"content_hash":"ab","correlation_id":"run \\"é\\"","sequence":7}'))
  assert.equal(leafHash('x'), sha256('\0x'))
})

test('every leaf of every tree up to 40 leaves is proved, and nothing else is [H-82 H-88 F-09]', () => {
  for (let size = 1; size <= 40; size++) {
    const root = rootOf(size)
    for (let index = 0; index < size; index++) {
      const path = inclusionProof(leaves.slice(0, size), index)
      const proof = { leaf: leafHash(`leaf ${index}`), index, size, path }
      assert.equal(includes(root, proof), true, `${index} of ${size}`)
      assert.equal(path.length <= Math.ceil(Math.log2(size)), true)
      assert.equal(includes(root, { ...proof, leaf: leafHash('another') }), false)
      assert.equal(includes(rootOf(size + 1), proof), false)
      assert.equal(includes(root, { ...proof, path: [...path, root] }), false)
      if (size > 1) assert.equal(includes(root, { ...proof, path: path.slice(1) }), false)
      if (size > 1) assert.equal(includes(root, { ...proof, index: (index + 1) % size }), false)
    }
  }
})

test('places that are none prove nothing [H-82 H-88 F-09]', () => {
  const [leaf = ''] = leaves
  for (const [index, size] of [
    [1, 1],
    [-1, 1],
    [0, 0],
    [0.5, 1],
    [0, 1.5],
    [0, Number.NaN],
    [2 ** 53, 2 ** 54],
  ] as const) {
    assert.equal(includes(leaf, { leaf, index, size, path: [] }), false, `${index} of ${size}`)
  }
  assert.equal(includes(leaf, { leaf, index: 0, size: 1, path: [] }), true)
})

test('every growth between trees of up to 33 leaves is proved, and no other [H-82 H-88 F-09]', () => {
  for (let second = 0; second <= 33; second++) {
    for (let first = 0; first <= second; first++) {
      const proof = consistencyProof(leaves.slice(0, second), first)
      const growth = {
        firstSize: first,
        firstRoot: rootOf(first),
        secondSize: second,
        secondRoot: rootOf(second),
        proof,
      }
      const name = `${first} to ${second}`
      assert.equal(grew(growth), true, name)
      assert.equal(grew({ ...growth, firstRoot: leafHash('x') }), false, name)
      assert.equal(grew({ ...growth, proof: [...proof, emptyRoot] }), false, name)
      if (first > 0) assert.equal(grew({ ...growth, secondRoot: leafHash('x') }), false, name)
      for (const index of proof.keys()) {
        assert.equal(grew({ ...growth, proof: proof.with(index, emptyRoot) }), false, name)
        assert.equal(grew({ ...growth, proof: proof.toSpliced(index, 1) }), false, name)
      }
    }
  }
})

test('a tree does not shrink, and sizes that are none prove nothing [H-82 H-88 F-09]', () => {
  const growth = { firstSize: 3, firstRoot: rootOf(3), secondSize: 2, secondRoot: rootOf(2), proof: [] }
  assert.equal(grew(growth), false)
  assert.equal(grew({ ...growth, firstSize: -1 }), false)
  assert.equal(grew({ ...growth, firstSize: 0.5 }), false)
  assert.equal(grew({ ...growth, firstSize: 1, secondSize: Number.NaN }), false)
})

const ones = (value: number): number => value.toString(2).replaceAll('0', '').length

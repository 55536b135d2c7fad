import assert from 'node:assert/strict'
import { test } from 'vitest'
import { naiveRoot } from '../../test/support/evidence.ts'
import { sha256 } from '../base/hash.ts'
import { appendLeaf, emptyRoot, leafHash, leafOf, logRoot, logSize, nodeHash } from './log.ts'

const texts = Array.from({ length: 200 }, (_, index) => `leaf ${index}`)
const leaves = texts.map(leafHash)
const rootOf = (size: number): string => naiveRoot(texts.slice(0, size))

test('the empty tree has the hash of nothing, one leaf is its own root [H-82 H-88 F-09]', () => {
  assert.equal(emptyRoot, sha256(''))
  assert.equal(logRoot(''), emptyRoot)
  assert.equal(logRoot(appendLeaf('', 'ab'.repeat(32))), 'ab'.repeat(32))
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
    assert.deepEqual([logSize(log), logRoot(log)], [index + 1, expected])
    assert.equal(log.length, `${index + 1}:`.length + 64 * ones(index + 1))
  }
})

test('a frontier is the size and the roots of the complete subtrees, largest first [H-82 H-88 F-09]', () => {
  const log = leaves.slice(0, 6).reduce(appendLeaf, '')
  assert.equal(log, `6:${rootOf(4)}${naiveRoot(texts.slice(4, 6))}`)
})

test('a leaf of the log is the hash of its canonical text [H-82 H-88 F-09]', () => {
  const entry = { sequence: 7, correlationId: 'run "é"', contentHash: 'ab' }
  assert.equal(leafOf(entry), leafHash('{"content_hash":"ab","correlation_id":"run \\"é\\"","sequence":7}'))
  assert.equal(leafHash('x'), sha256('\0x'))
})

const ones = (value: number): number => value.toString(2).replaceAll('0', '').length

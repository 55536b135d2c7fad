import { canonical } from '../base/canonical.ts'
import { sha256 } from '../base/hash.ts'
import type { LogRow } from '../model/evidence.ts'

// All events of a host in sequence order are the leaves of one Merkle tree (RFC 6962). Its frontier is enough to grow it:
// the roots of its complete subtrees, largest first. As text: the size, a colon, the hex hashes.

export const emptyRoot: string = sha256('')

export const leafHash = (text: string): string => sha256(`\0${text}`)

const node = Buffer.alloc(65, 1)

export function nodeHash(left: string, right: string): string {
  node.write(left, 1, 32, 'hex')
  node.write(right, 33, 32, 'hex')
  return sha256(node)
}

const hexChars = 64

/** The frontier after one more leaf; a leaf costs one node hash on average. */
export function appendLeaf(log: string, leaf: string): string {
  const size = logSize(log)
  let peaks = log.slice(log.indexOf(':') + 1)
  let hash = leaf
  for (let rest = size; rest % 2 === 1; rest = (rest - 1) / 2) {
    hash = nodeHash(peaks.slice(-hexChars), hash)
    peaks = peaks.slice(0, -hexChars)
  }
  return `${size + 1}:${peaks}${hash}`
}

/** The leaf of an event, also of one that was purged: the hash of its canonical text. */
export const leafOf = (row: LogRow): string =>
  'leafHash' in row
    ? row.leafHash
    : leafHash(
        `{"content_hash":${canonical(row.contentHash)},"correlation_id":${canonical(row.correlationId)},"sequence":${row.sequence}}`,
      )

export const logSize = (log: string): number => (log === '' ? 0 : Number(log.slice(0, log.indexOf(':'))))

export function logRoot(log: string): string {
  if (log === '') return emptyRoot
  const peaks = log.slice(log.indexOf(':') + 1)
  let hash = peaks.slice(-hexChars)
  for (let end = peaks.length - hexChars; end > 0; end -= hexChars)
    hash = nodeHash(peaks.slice(end - hexChars, end), hash)
  return hash
}

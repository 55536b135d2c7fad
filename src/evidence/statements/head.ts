import { byCodePoint } from '../../base/canonical.ts'
import { sha256 } from '../../base/hash.ts'

/** The last content hash of every correlation of a store; null where it was cleared. */
export type Tails = Iterable<readonly [correlationId: string, contentHash: string | null]>

/** `chp-store-head-v1`: one digest over all of them. */
export function storeHead(tails: Tails): string {
  const sorted = [...tails].sort(([a], [b]) => byCodePoint(a, b))
  return sha256(sorted.map(([id, hash]) => `${id}\0${hash ?? ''}\n`).join(''))
}

export interface Revoked {
  readonly mandates: Iterable<{ readonly mandateId: string; readonly principalKey: string }>
  readonly keyIds: Iterable<string>
}

/** One digest over all that a host knows to be revoked. */
export function revocationHead({ mandates, keyIds }: Revoked): string {
  const mandateLines = [...mandates].map(({ mandateId, principalKey }) => `m\0${mandateId}\0${principalKey}\n`)
  const keyLines = [...keyIds].map((keyId) => `k\0${keyId}\n`)
  return sha256([...mandateLines, ...keyLines].sort(byCodePoint).join(''))
}

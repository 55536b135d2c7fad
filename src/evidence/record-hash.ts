import type { Json } from '../base/canonical.ts'
import { objectHash } from '../base/hash.ts'

/** The hash of a decision record, without its own hash and signature. */
export function recordHash(record: object): string {
  const { record_hash, signature, ...rest } = record as { readonly [member: string]: Json }
  return objectHash(rest)
}

import { createHash } from 'node:crypto'
import { canonical, type Json } from '../base/canonical.ts'
import { objectHash } from '../base/hash.ts'
import { hashedText } from './json.ts'

const protocol = 'chp/0.1'

type Members<Name extends string> = Readonly<Record<Name, Json>>

/** The digest of what is to be done. It is the same for every provider. */
export const actionDigest = (action: Members<'capability' | 'principal' | 'input' | 'semantic_context'>): string =>
  objectHash({ protocol, ...action })

type CallMembers = 'invocation_id' | 'action_digest' | 'actor' | 'principal' | 'binding' | 'provider' | 'host'

/** One exact call: an approval is bound to it, and any change voids the approval. */
export const invocationDigest = (call: Members<CallMembers | 'governance_context'>): string =>
  objectHash({ protocol, ...call })

/** The digest of the chunks of a stream, in the order they were sent; `add` answers how long the chunk is as text. */
export function digestChunks(): { readonly add: (delta: Json) => number; readonly end: () => string } {
  const hash = createHash('sha256')
  return {
    add: (delta) => {
      const line = `${hashedText(delta)}\n`
      hash.update(line)
      return line.length
    },
    end: () => hash.digest('hex'),
  }
}

// Digests under the tenant's key: no reader without it can test guesses.

/** The keyed digest of a tenant, over parts. */
export type TenantDigest = (parts: readonly string[]) => string

export const contextDigest = (digest: TenantDigest, name: string, value: Json): string =>
  digest(['ambit-context-v1', name, canonical(value)])

export const inputDigest = (digest: TenantDigest, payload: Json): string =>
  digest(['ambit-input-v1', hashedText(payload)])

export const correlationDigest = (digest: TenantDigest, id: string): string => digest(['ambit-correlation-v1', id])

export const outputDigest = (digest: TenantDigest, data: Json): string => digest(['ambit-output-v1', canonical(data)])

export const scopeDigest = (digest: TenantDigest, scope: string): string => digest(['ambit-scope-v1', scope])

export const entriesDigest = (digest: TenantDigest, ids: readonly string[]): string =>
  digest(['ambit-entries-v1', ...ids])

/** Of words that a person gave: why something was done. */
export const reasonDigest = (digest: TenantDigest, reason: string): string => digest(['ambit-reason-v1', reason])

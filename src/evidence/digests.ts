import { canonical, type Json, stable } from '../base/canonical.ts'
import { keyedDigest, objectHash, sha256 } from '../base/hash.ts'
import { fractionsAsText } from './json.ts'

const protocol = 'chp/0.1'

export interface Action {
  readonly capability: { readonly id: string; readonly version: string }
  readonly principal: Json
  readonly input: Json
  readonly semanticContext: Json
}

/** What is to be done, whoever does it: the same for every provider. */
export const actionDigest = ({ capability, principal, input, semanticContext }: Action): string =>
  objectHash({ protocol, capability, principal, input, semantic_context: semanticContext })

export interface Invocation {
  readonly invocationId: string
  readonly actionDigest: string
  readonly actor: Json
  readonly principal: Json
  readonly binding: Json
  readonly provider: Json
  readonly host: Json
  readonly governanceContext: Json
}

/** One exact call: an approval is bound to it, and any change voids the approval. */
export const invocationDigest = (call: Invocation): string =>
  objectHash({
    protocol,
    invocation_id: call.invocationId,
    action_digest: call.actionDigest,
    actor: call.actor,
    principal: call.principal,
    binding: call.binding,
    provider: call.provider,
    host: call.host,
    governance_context: call.governanceContext,
  })

/** The digest of the chunks of a stream, in the order they were sent. */
export const chunkDigest = (deltas: readonly Json[]): string =>
  sha256(deltas.map((delta) => `${stable(fractionsAsText(delta))}\n`).join(''))

// Digests under the tenant's key: no reader without it can test guesses.

export const contextDigest = (key: Uint8Array, name: string, value: Json): string =>
  keyedDigest(key, ['ambit-context-v1', name, canonical(value)])

export const inputDigest = (key: Uint8Array, payload: Json): string =>
  keyedDigest(key, ['ambit-input-v1', stable(fractionsAsText(payload))])

export const outputDigest = (key: Uint8Array, data: Json): string =>
  keyedDigest(key, ['ambit-output-v1', canonical(data)])

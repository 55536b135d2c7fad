import type { Json } from '../base/canonical.ts'
import { type Capability, defineCapability, makeOffer, type Offer, type OfferSpec } from '../runtime/hosting/offer.ts'

type Payload = Readonly<Record<string, Json>>

const echo = (payload: unknown): { echo: Json } => ({ echo: (payload as Payload)['value'] ?? null })

async function* threeChunks(): AsyncGenerator<Json, Json, undefined> {
  const chunks = ['s1', 's2', 's3']
  yield* chunks
  return { chunks: chunks.length, joined: chunks.join('') }
}

type Parts = Parameters<typeof defineCapability>

const fixtureOf = (
  name: string,
  description: string,
  more: Partial<Parts[0]> = {},
  handler: Parts[1] = echo,
): Capability =>
  defineCapability(
    { id: `conformance.${name}`, version: '1.0.0', policy: { auth_required: false }, description, ...more },
    handler,
  )

const requiresValue = {
  id: 'requires_value',
  kind: 'required_payload_fields',
  enforcement: 'host',
  failure_behavior: 'deny',
  parameters: { fields: ['value'] },
} as const

/** The capabilities that the public conformance suite of the protocol calls, one for each way a call can end. */
export const conformanceCapabilities: readonly Capability[] = [
  fixtureOf('echo', 'Answers the value it was given.'),
  fixtureOf('fail', 'Always fails.', {}, () => {
    throw new Error('this capability always fails')
  }),
  fixtureOf('guarded', 'Needs a value.', { invariants: [requiresValue] }),
  fixtureOf('approval', 'Needs the yes of a person.', { autonomy: { tier: 'approval_required' } }),
  fixtureOf('budgeted', 'May be called once in a correlation.', { autonomy: { tier: 'automated', action_limit: 1 } }),
  fixtureOf('risky', 'Is riskier than this host allows.', { risk: 'high' }),
  fixtureOf('unsafe', 'Is stopped by a guardrail.'),
  fixtureOf('stream', 'Speaks in three chunks.', { modes: ['sync', 'stream'] }, threeChunks),
]

/** What a host offers to the suite: a cap on risk, a guardrail, and, here alone, belief in any mandate and any witness. */
export const conformanceSpec: OfferSpec = {
  capabilities: conformanceCapabilities,
  maxRisk: 'medium',
  reserved: ['conformance.'],
  mandatePrincipals: 'any',
  witnesses: 'any',
  safety: ({ capabilityId }) =>
    capabilityId === 'conformance.unsafe'
      ? { approved: false, level: 'high', score: 1, guardrail: 'conformance_guardrail' }
      : { approved: true, level: 'none', score: 0 },
}

export const conformanceOffer = (hostId: string): Offer => makeOffer(hostId, conformanceSpec)

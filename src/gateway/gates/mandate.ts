import { verifyMandate } from '../../evidence/statements/mandate.ts'
import { inScope } from '../../model/text.ts'
import type { Mandate } from '../../model/wire/mandate.ts'
import { type Refusal, refuse } from '../../policy/gates/refusal.ts'
import { allPages } from '../../storage/page.ts'
import { countOf } from '../../storage/tables/counters.ts'
import { listStatements } from '../../storage/tables/statements.ts'
import type { Attempt } from '../attempt.ts'
import { callKey } from '../call.ts'
import type { GatewayDeps, Offer } from '../deps.ts'

/** Gate 5: a mandate must be good, cover the capability and have uses left. It makes the delegate the subject. */
export const mandateGate = (
  deps: GatewayDeps,
  offer: Offer,
  attempt: Attempt,
): Promise<Refusal | undefined> | undefined =>
  attempt.call.mandate === undefined ? undefined : presented(deps, offer, attempt)

async function presented(deps: GatewayDeps, { mandatePins }: Offer, attempt: Attempt): Promise<Refusal | undefined> {
  const { call } = attempt
  const statements = await deps.store.read(() =>
    allPages((options) => listStatements(deps.tenant, 'revocation', options)),
  )
  const verified = verifyMandate(call.mandate, {
    at: deps.clock.now(),
    pins: mandatePins,
    revocations: statements.map(({ body }): unknown => JSON.parse(body)),
    ...(call.caller.subject && { delegate: call.caller.subject.id }),
  })
  if (!verified.ok)
    return refuse('mandate', 'mandate_invalid', {
      message: `the mandate is not good: ${verified.message}`,
      details: { check: verified.check },
    })
  const { mandate, subject } = verified.value
  if (!mandate.scope.some((scope) => inScope(scope, call.capabilityId)))
    return refuse('mandate', 'policy_blocked', {
      message: 'the mandate does not cover the capability',
      details: { decision: 'deny', reason: 'grant_missing' },
    })
  attempt.subject = { ...subject, tenant: deps.tenant }
  return usesLeft(deps, attempt, mandate)
}

/** Every mandate up the chain counts its own uses: two that were made of one share what it allows. */
async function usesLeft(deps: GatewayDeps, attempt: Attempt, mandate: Mandate): Promise<Refusal | undefined> {
  for (let link: Mandate | undefined = mandate; link !== undefined; link = link.parent) {
    const { max_invocations: max } = link
    if (max === undefined) continue
    const key = callKey(link.principal.public_key, link.mandate_id)
    const used = await deps.store.read(() => countOf(deps.tenant, 'mandate', key))
    if (used >= max) return exhausted(used, max)
    attempt.uses.push({ scope: 'mandate', key, amount: 1, max })
  }
  return undefined
}

export const exhausted = (used: number, max: number): Refusal =>
  refuse('mandate', 'mandate_exhausted', { message: 'the mandate is used up', details: { used, max_invocations: max } })

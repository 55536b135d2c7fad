import { verifyMandate } from '../../evidence/statements/mandate.ts'
import { inScope } from '../../model/text.ts'
import type { Mandate } from '../../model/wire/mandate.ts'
import { type Refusal, refuse } from '../../policy/gates/refusal.ts'
import { allPages } from '../../storage/page.ts'
import { listStatements } from '../../storage/tables/statements.ts'
import type { GateAnswer, Resolved } from '../attempt.ts'
import { callKey } from '../call.ts'
import { checkLimits, type Limit, limitUses } from '../limits/limits.ts'

/** Gate 5: a mandate must be good, cover the capability and have uses left. It makes the delegate the subject. */
export const mandateGate = (attempt: Resolved): GateAnswer =>
  attempt.call.mandate === undefined ? undefined : checkMandate(attempt)

async function checkMandate(attempt: Resolved): Promise<Refusal | undefined> {
  const { deps, call } = attempt
  const statements = await deps.store.read(() =>
    allPages((options) => listStatements(deps.tenant, 'revocation', options)),
  )
  const verified = verifyMandate(call.mandate, {
    at: deps.clock.now(),
    pins: attempt.offer.mandatePins,
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
  const uses = usesOf(mandate)
  return uses.length === 0 ? undefined : checkLimits(attempt, uses)
}

/** Every mandate up the chain counts its own uses: two that were made of one share what it allows. */
function usesOf({ principal, mandate_id, max_invocations: max, parent }: Mandate): readonly Limit[] {
  const above = parent === undefined ? [] : usesOf(parent)
  return max === undefined ? above : [limitUses('mandate', callKey(principal.public_key, mandate_id), max), ...above]
}

import { capabilityFacts } from '../../gateway/gates/rules.ts'
import { openRegistry, type Registered, requiresApproval } from '../../gateway/registry.ts'
import { callRecord, type SealedEvent } from '../../model/evidence.ts'
import type { Facts } from '../../policy/conditions/values.ts'
import type { PolicySet } from '../../policy/policies.ts'
import { type ShadowAnswer, shadow } from '../../policy/shadow.ts'
import { type EventFilter, searchEvidence } from '../evidence/export.ts'
import { offeredBy } from '../hosting/upstreams.ts'
import type { Caller } from '../identity/caller.ts'
import { eachItem } from '../pages.ts'
import type { Runtime } from '../runtime.ts'

export interface ShadowedCall {
  readonly event_id: string
  readonly invocation_id: string
  readonly capability_id: string
  readonly correlation_id: string
  readonly timestamp: string
  readonly answer: ShadowAnswer
}

export type ShadowFilter = Pick<EventFilter, 'capability' | 'correlation' | 'subject' | 'since' | 'until'>

/** Each recorded call once, newest first, by the last record of its last attempt. Needs the right to audit. */
export async function shadowDecisions(
  ambit: Runtime,
  caller: Caller,
  candidates: PolicySet,
  filter: ShadowFilter = {},
): Promise<readonly ShadowedCall[]> {
  const offered = openRegistry(offeredBy(ambit.settings.hosting, () => undefined)).all()
  const seen = new Set<string>()
  const found: ShadowedCall[] = []
  for await (const event of eachItem((page) => searchEvidence(ambit, caller, filter, page))) {
    const call = JSON.stringify([event.correlationId, event.invocationId])
    const answer = seen.has(call) ? undefined : answerTo(event, candidates, offered)
    if (answer === undefined) continue
    seen.add(call)
    found.push({
      event_id: event.eventId,
      invocation_id: event.invocationId,
      capability_id: event.capabilityId,
      correlation_id: event.correlationId,
      timestamp: event.timestamp,
      answer,
    })
  }
  return found
}

function answerTo(
  { body, capabilityId, timestamp }: SealedEvent,
  candidates: PolicySet,
  offered: readonly Registered[],
): ShadowAnswer | undefined {
  const { payload } = JSON.parse(body) as { readonly payload: { readonly decision?: unknown } }
  const { data: record } = callRecord.safeParse(payload.decision)
  if (record === undefined) return undefined
  const asks = offered.some(({ descriptor }) => descriptor.id === capabilityId && requiresApproval(descriptor))
  const same = offered.find(({ digest }) => digest === record.descriptor)
  const capability = same && (capabilityFacts(same.descriptor) as Facts)
  return shadow(candidates, { capabilityId, timestamp, record, asks, ...(capability && { capability }) })
}

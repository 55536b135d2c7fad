import { Failure, quote } from '../../base/failure.ts'
import { defined } from '../../base/object.ts'
import type { ApprovalRequest } from '../../model/approval.ts'
import type { EvidenceEvent } from '../../model/evidence.ts'
import type { Operable } from '../../operations/ambit.ts'
import { wholeList } from '../../runtime/pages.ts'

/** All of one task in its order, by the id of the task or of one of its calls. */
export async function taskEvents(ambit: Operable, id: string): Promise<readonly EvidenceEvent[]> {
  const events = await eventsIn(ambit, id)
  if (events.length > 0) return events
  const call = await ambit.explain(id).catch((error: unknown) => {
    if (!(error instanceof Failure && error.code === 'event.not_found')) throw error
    throw new Failure('correlation.not_found', `no task and no call ${quote(id)} is on record`, { id })
  })
  return eventsIn(ambit, call.correlation_id)
}

async function eventsIn(ambit: Operable, correlation: string): Promise<readonly EvidenceEvent[]> {
  const newestFirst = await wholeList(async (page) => {
    const { events, next } = await ambit.evidence.list({ correlation, ...page })
    return defined({ items: events, next })
  })
  return newestFirst.toReversed()
}

/** The requests that people said no to, as far as they are still kept: evidence holds who, they hold why. */
export async function deniedIn(ambit: Operable, events: readonly EvidenceEvent[]): Promise<readonly ApprovalRequest[]> {
  const ids = events.flatMap(({ event_type, payload }) =>
    event_type === 'approval_denied' && 'approval_id' in payload ? [String(payload['approval_id'])] : [],
  )
  const found = await Promise.allSettled(ids.map((id) => ambit.approvals.show(id)))
  return found.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
}

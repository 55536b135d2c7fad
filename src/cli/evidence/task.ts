import { Failure, quote } from '../../base/failure.ts'
import { limits } from '../../base/limits.ts'
import { defined } from '../../base/object.ts'
import type { ApprovalRequest } from '../../model/approval.ts'
import type { EvidenceEvent } from '../../model/evidence.ts'
import { approvalFor } from '../../runtime/approvals/queue.ts'
import { searchEvidence } from '../../runtime/evidence/export.ts'
import type { Caller } from '../../runtime/identity/caller.ts'
import { wholeList } from '../../runtime/pages.ts'
import type { Runtime } from '../../runtime/runtime.ts'

/** All of one task in its order, by the id of the task or of one of its calls. */
export async function taskEvents(ambit: Runtime, caller: Caller, id: string): Promise<readonly EvidenceEvent[]> {
  const eventsIn = async (correlation: string) => {
    const found = await wholeList((page) => searchEvidence(ambit, caller, { correlation }, page))
    return found.toReversed().map(({ body }) => JSON.parse(body) as EvidenceEvent)
  }
  const events = await eventsIn(id)
  if (events.length > 0) return events
  const task = await taskOf(ambit, caller, id)
  if (task !== undefined) return eventsIn(task)
  throw new Failure('correlation.not_found', `no task and no call ${quote(id)} is on record`, { id })
}

/** The task of the newest call of this id. Calls have no index of their own: the record is read backwards. */
async function taskOf(ambit: Runtime, caller: Caller, invocation: string): Promise<string | undefined> {
  for (let cursor: string | undefined; ; ) {
    const { items, next } = await searchEvidence(ambit, caller, {}, defined({ limit: limits.pageRowsMax, cursor }))
    const found = items.find(({ invocationId }) => invocationId === invocation)
    if (found !== undefined || next === undefined) return found?.correlationId
    cursor = next
  }
}

/** The requests that people said no to, as far as they are still kept: evidence holds who, they hold why. */
export async function deniedIn(
  ambit: Runtime,
  { tenant }: Caller,
  events: readonly EvidenceEvent[],
): Promise<readonly ApprovalRequest[]> {
  const ids = events.flatMap(({ event_type, payload }) =>
    event_type === 'approval_denied' && 'approval_id' in payload ? [String(payload['approval_id'])] : [],
  )
  const found = await Promise.allSettled(ids.map((id) => approvalFor(ambit, { tenant, subject: null, all: true }, id)))
  return found.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
}

import { setTimeout as pause } from 'node:timers/promises'
import { Failure, quote } from '../../base/failure.ts'
import { defined } from '../../base/object.ts'
import { privateOf } from '../../gateway/approvals/request.ts'
import type { ApprovalRequest, Approver } from '../../model/approval.ts'
import type { ApprovalList } from '../../model/wire/wire.ts'
import { ineligible } from '../../policy/quorum.ts'
import type { PageOptions } from '../../storage/page.ts'
import { type ApprovalFilter, approvalRecords, type StoredApproval } from '../../storage/tables/approvals.ts'
import { approversInOffice } from '../../storage/tables/identities.ts'
import type { Work } from '../../storage/work.ts'
import { type Reader, readerOf } from '../identity/caller.ts'
import { wholeList } from '../pages.ts'
import type { Runtime } from '../runtime.ts'
import type { HandlersOf, OperationContext } from './context.ts'

export const approvalHandlers: HandlersOf<'approvals'> = {
  approvals: {
    list: ({ ambit, caller }, { state, limit, cursor }) =>
      approvalsFor(ambit, readerOf(caller), defined({ state }), defined({ limit, cursor })),
    show: ({ ambit, caller }, { id }) => approvalFor(ambit, readerOf(caller), id),
    decide: async ({ host, caller: { subject } }, { id, ...decision }) =>
      (await host()).gateway.decide(id, { principal: subject.id, subject }, decision),
    watch,
  },
}

const pollMs = 500

/** New requests, oldest first, for as long as they are asked for. */
async function* watch(context: OperationContext, { pending = false }: { pending?: boolean | undefined }) {
  const seen = new Set<string>(pending ? [] : (await waiting(context)).map(({ approval_id }) => approval_id))
  while (!context.signal?.aborted) {
    for (const request of (await waiting(context)).toReversed()) {
      if (seen.has(request.approval_id)) continue
      seen.add(request.approval_id)
      yield request
    }
    await pause(pollMs, undefined, defined({ signal: context.signal })).catch(() => undefined)
  }
}

const waiting = ({ ambit, caller }: OperationContext): Promise<readonly ApprovalRequest[]> =>
  wholeList(async (page) => {
    const { approvals: items, next } = await approvalsFor(ambit, readerOf(caller), {}, page)
    return defined({ items, next })
  })

/** The requests that this reader may decide about, or all, newest first; a page may have fewer entries than its limit. */
async function approvalsFor(
  ambit: Runtime,
  reader: Reader,
  filter: ApprovalFilter = {},
  options: PageOptions = {},
): Promise<ApprovalList> {
  const { page, own } = await ambit.store.read(function* () {
    const own = yield* entriesOf(reader)
    return { page: yield* approvalRecords.list(reader.tenant, { state: 'pending', ...filter }, options), own }
  })
  const shown = page.items.filter((stored) => waitsFor(ambit, reader, own, stored))
  return defined({ approvals: shown.map(({ request }) => request), next: page.next })
}

/** One request, for its approvers, its caller, and readers of all; for others it does not exist. */
async function approvalFor(ambit: Runtime, reader: Reader, id: string): Promise<ApprovalRequest> {
  const { stored, own } = await ambit.store.read(function* () {
    return { own: yield* entriesOf(reader), stored: yield* approvalRecords.get(reader.tenant, id) }
  })
  const { requested_by: asker } = stored.request
  const asked = asker.verified === true && asker.id === reader.subject
  if (asked || waitsFor(ambit, reader, own, stored)) return stored.request
  throw new Failure('approval.not_found', `approval ${quote(id)} not found`, { id })
}

function* entriesOf({ tenant, subject }: Reader): Work<readonly Approver[]> {
  return subject === null ? [] : yield* approversInOffice(tenant, subject)
}

function waitsFor({ clock }: Runtime, { all }: Reader, own: readonly Approver[], stored: StoredApproval): boolean {
  // Withdrawn from the start: the call could not run in any case.
  if (stored.request.state === 'withdrawn') return false
  if (all) return true
  const { excluded } = privateOf(stored)
  const ballot = { required: stored.request.required, excluded, now: clock.now() }
  return own.some((approver) => ineligible(approver, ballot) === undefined)
}

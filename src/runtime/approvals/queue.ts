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
import type { Reader } from '../identity/caller.ts'
import type { Runtime } from '../runtime.ts'

/** The requests that this reader may decide about, or all, newest first; a page may have fewer entries than its limit. */
export async function approvalsFor(
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
export async function approvalFor(ambit: Runtime, reader: Reader, id: string): Promise<ApprovalRequest> {
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

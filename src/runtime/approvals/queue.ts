import { Failure, quote } from '../../base/failure.ts'
import { defined } from '../../base/object.ts'
import { privateOf } from '../../gateway/approvals/request.ts'
import type { ApprovalRequest, Approver } from '../../model/approval.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import type { ApprovalList } from '../../model/wire/wire.ts'
import { ineligible } from '../../policy/approval.ts'
import type { PageOptions } from '../../storage/page.ts'
import { type ApprovalFilter, approvalRecords, type StoredApproval } from '../../storage/tables/approvals.ts'
import { approversInOffice } from '../../storage/tables/identities.ts'
import type { Work } from '../../storage/work.ts'
import type { Runtime } from '../runtime.ts'

/** Who looks at the queue. */
export interface QueueReader {
  readonly tenant: TenantId
  /** Null for somebody without a verified name: nobody waits for them. */
  readonly principal: string | null
  /** Sees every request, whoever is to decide. */
  readonly all: boolean
}

/** The requests that wait for this person, newest first; a page may have fewer entries than were asked for. */
export async function approvalsFor(
  ambit: Runtime,
  reader: QueueReader,
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

/** One request, for those who may decide about it, who asked for it, or who see all; for others it does not exist. */
export async function approvalFor(ambit: Runtime, reader: QueueReader, id: string): Promise<ApprovalRequest> {
  const { stored, own } = await ambit.store.read(function* () {
    return { own: yield* entriesOf(reader), stored: yield* approvalRecords.get(reader.tenant, id) }
  })
  const { requested_by: asker } = stored.request
  const asked = asker.verified === true && asker.id === reader.principal
  if (asked || waitsFor(ambit, reader, own, stored)) return stored.request
  throw new Failure('approval.not_found', `approval ${quote(id)} not found`, { id })
}

function* entriesOf({ tenant, principal }: QueueReader): Work<readonly Approver[]> {
  return principal === null ? [] : yield* approversInOffice(tenant, principal)
}

function waitsFor({ clock }: Runtime, { all }: QueueReader, own: readonly Approver[], stored: StoredApproval): boolean {
  // Withdrawn from the start: nobody is asked about a call that could not run.
  if (stored.request.state === 'withdrawn') return false
  if (all) return true
  const { excluded } = privateOf(stored)
  const ballot = { required: stored.request.required, excluded, now: clock.now() }
  return own.some((approver) => ineligible(approver, ballot) === undefined)
}

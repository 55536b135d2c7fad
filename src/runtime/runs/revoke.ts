import { revocationOf } from '../../grants/live.ts'
import { faultOf, grantFailure } from '../../grants/parse.ts'
import type { Grant, Revocation } from '../../model/grant.ts'
import type { RevocationReport } from '../../model/requests.ts'
import type { RunRecord } from '../../model/run.ts'
import type { InputOf } from '../../operations/operation.ts'
import type { operations } from '../../operations/table.ts'
import { allPages } from '../../storage/page.ts'
import { addRevocation } from '../../storage/tables/runs/revocations.ts'
import { listRuns } from '../../storage/tables/runs/runs.ts'
import { recordAs } from '../evidence/record.ts'
import { adminEvent } from '../identity/admin.ts'
import type { Caller } from '../identity/caller.ts'
import { tenantOf } from '../identity/tenants.ts'
import type { OperationContext } from '../operations/context.ts'
import type { Runtime } from '../runtime.ts'

interface Held {
  readonly grant: Grant
  readonly run: RunRecord
}

/** Ends grants: once it is committed no call starts under them, in any process. Says what it ended of runs that are open. */
export async function revokeGrants(
  { ambit, caller, host }: OperationContext,
  wish: InputOf<typeof operations.grants.revoke>,
): Promise<RevocationReport> {
  const { by, target, reason, cancel = false } = wish
  const fault = by === 'path' ? faultOf(target) : undefined
  if (fault !== undefined) throw grantFailure(fault, target, {})
  const { host_id: hostId } = await tenantOf(ambit, caller)
  const event = adminEvent(hostId, 'ambit.grants.revoked', { by, target, reason: reason ?? null })
  await recordAs(ambit, caller, hostId, [event], addRevocation({ by, target }))
  const { runs } = await host()
  await runs.revoked()
  const held = await openGrants(ambit, caller)
  const ended = held.filter((each) => isEndedBy(wish, each))
  const grants = held.map(({ grant }) => grant)
  const above = by === 'path' ? revocationOf(target, grants).ancestorsLeft : []
  const cancelled = new Set(cancel ? ended.map(({ run }) => run) : [])
  for (const run of cancelled) await runs.cancel(run)
  return {
    ...{ by, target },
    ended: ended.map(shown),
    ancestors_left: held.filter(({ grant }) => above.includes(grant)).map(shown),
    cancelled: [...cancelled].map(({ run_id }) => run_id),
  }
}

const shown = ({ grant, run }: Held) => ({ grant_id: grant.id, path: grant.path, run_id: run.run_id })

function isEndedBy({ by, target }: Revocation, { grant, run }: Held): boolean {
  if (by === 'grant') return grant.id === target || grant.derived_from.includes(target)
  if (by === 'run') return run.run_id === target || run.root_run_id === target
  if (by === 'subject') return run.subject.id === target
  return revocationOf(target, [grant]).ends.length > 0
}

/** The grants of all runs that have not ended. */
async function openGrants({ store }: Runtime, { tenant }: Caller): Promise<readonly Held[]> {
  const open = await store.read(function* () {
    const running = yield* allPages((page) => listRuns(tenant, { status: 'running' }, page))
    const paused = yield* allPages((page) => listRuns(tenant, { status: 'paused' }, page))
    return [...running, ...paused]
  })
  return open.flatMap((run) => run.grants.map((grant) => ({ grant, run })))
}

import { Failure, quote } from '../../../base/failure.ts'
import type { TenantId } from '../../../model/identity/tenant-id.ts'
import type { Statement, Work } from '../../work.ts'
import { type Change, counted, number, oneStatement, record, row, rows, sql } from '../../work.ts'

/** A run that this process drives, from a pause to the next. Who shows an older fence is late. */
export interface Leg {
  readonly runId: string
  readonly owner: string
  readonly fence: number
  /** How often the run had been woken when the leg was taken. */
  readonly wakes: number
}

/** The first leg of a run that its own process drives at once. Others look after it when `checkAtMs` has come. */
export const addLeg = (tenant: TenantId, { runId, owner, fence, wakes }: Leg, checkAtMs: number): Statement =>
  counted(
    'INSERT INTO legs (tenant_id, run_id, due_at_ms, wakes, fence, owner) VALUES (?, ?, ?, ?, ?, ?)',
    ...[tenant, runId, checkAtMs, wakes, fence, owner],
  )

/** Makes a run due now, if it has not ended. One that is being driven goes on after its pause. */
export const wakeLeg = (runId: string, nowMs: number): Change<void> =>
  oneStatement((tenant) => counted(wake, nowMs, tenant, runId))

// One that is driven has to be noticed by its own process first: it is looked after no sooner than before.
const wake = `UPDATE legs SET due_at_ms = CASE WHEN owner IS NULL THEN ? ELSE due_at_ms END, wakes = wakes + 1
  WHERE tenant_id = ? AND run_id = ?`

export interface DueLeg {
  readonly runId: string
  readonly owner: string | null
}

/**
 * Legs that are due, the oldest first; those that a process has taken as well. With `agents` those that they can drive, and
 * those that context packs drive; with `runs` only those of these.
 */
export function* dueLegs(
  tenant: TenantId,
  nowMs: number,
  limit: number,
  agents?: readonly string[],
  runs?: readonly string[],
): Work<readonly DueLeg[]> {
  if (runs?.length === 0) return []
  const of = agents === undefined ? '' : `AND NOT EXISTS (${withOthers} (${places([...agents, ''])}))`
  const among = runs === undefined ? '' : `AND run_id IN (${places(runs)})`
  const select = `SELECT run_id, owner FROM legs WHERE tenant_id = ? AND due_at_ms <= ? ${of} ${among} ORDER BY due_at_ms LIMIT ?`
  return (yield* rows(select, tenant, nowMs, ...(agents ? [...agents, ''] : []), ...(runs ?? []), limit)).map(
    record<DueLeg>,
  )
}

const places = (values: readonly string[]): string => values.map(() => '?').join(', ')

const withOthers = `SELECT 1 FROM runs r WHERE r.tenant_id = legs.tenant_id AND r.root_run_id = legs.run_id
  AND r.status IN ('pending', 'running', 'paused') AND r.by_packs = 0 AND r.agent_id NOT IN`

/** Whether a root run has not ended. */
export function* isOpenRun(tenant: TenantId, runId: string): Work<boolean> {
  return (yield* row('SELECT 1 AS open FROM legs WHERE tenant_id = ? AND run_id = ?', tenant, runId)) !== undefined
}

/** Takes a leg that nobody has, or from a process that is gone; undefined if another was quicker. */
export const takeLeg = (due: DueLeg, owner: string, nowMs: number, checkAtMs: number): Change<Leg | undefined> =>
  function* (tenant) {
    const taken = yield* row(take, owner, checkAtMs, tenant, due.runId, nowMs, due.owner ?? '')
    return taken && { runId: due.runId, owner, fence: number(taken, 'fence'), wakes: number(taken, 'wakes') }
  }

const take = `UPDATE legs SET owner = ?, due_at_ms = ?, fence = fence + 1
  WHERE tenant_id = ? AND run_id = ? AND due_at_ms <= ? AND COALESCE(owner, '') = ? RETURNING fence, wakes`

/** Lets a leg be whose process lives: it is looked after again later. */
export const deferLeg = ({ runId, owner }: DueLeg, checkAtMs: number): Change<void> =>
  oneStatement((tenant) => counted(defer, checkAtMs, tenant, runId, owner))

const defer = 'UPDATE legs SET due_at_ms = ? WHERE tenant_id = ? AND run_id = ? AND owner = ?'

/** How often a leg was taken without a pause that was woken from: one that keeps failing is not tried for ever. */
export const triesOf = ({ fence, wakes }: Leg): number => Math.max(0, fence - wakes)

/** Gives a leg back as it is, for any process to take from a time on. */
export const releaseLeg = (leg: Leg, dueAtMs: number): Change<void> =>
  oneStatement((tenant) => counted(release, dueAtMs, ...placeOf(tenant, leg)))

const atPlace = 'WHERE tenant_id = ? AND run_id = ? AND owner = ? AND fence = ?'
const placeOf = (tenant: TenantId, { runId, owner, fence }: Leg) => [tenant, runId, owner, fence] as const

const release = `UPDATE legs SET owner = NULL, due_at_ms = ? ${atPlace}`

/** Holds that the leg is still this process's, in the transaction of whatever its run writes. */
export const holdLeg = (tenant: TenantId, leg: Leg): Statement =>
  sql(`SELECT 1 AS held FROM legs ${atPlace} FOR UPDATE`, ...placeOf(tenant, leg))

export const endLeg = (tenant: TenantId, leg: Leg): Statement =>
  counted(`DELETE FROM legs ${atPlace}`, ...placeOf(tenant, leg))

/** Lets the run wait until a time, or not at all if it was woken meanwhile. */
export const pauseLeg = (tenant: TenantId, leg: Leg, untilMs: number): Statement =>
  counted(pause, leg.wakes, untilMs, ...placeOf(tenant, leg))

// PostgreSQL would take the time for as small a number as the zero beside it.
const pause = `UPDATE legs SET owner = NULL, due_at_ms = CASE WHEN wakes > ? THEN 0 ELSE CAST(? AS BIGINT) END ${atPlace}`

export const legTaken = (runId: string): Failure =>
  new Failure('run.taken', `run ${quote(runId)} is driven by another process`, { id: runId })

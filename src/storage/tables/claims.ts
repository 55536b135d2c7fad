import { Failure } from '../../base/failure.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import { type Page, type PageOptions, pageBy } from '../page.ts'
import { claims } from '../schema.ts'
import { type Change, counted, record, row, rows, touchOne, type Value, type Work } from '../work.ts'
import { dropOldest } from './records.ts'

/**
 * Makes sure that one thing is done once. A claim is `running` while its owner does it, `waiting` while it needs an
 * approval first, `unknown` once it is over and its effect is still to be found out, and `settled` once there is a
 * result that stands.
 */
export interface Claim extends NewClaim {
  readonly state: 'running' | 'waiting' | 'unknown' | 'settled'
  /** The recorded result as JSON text; null while running. */
  readonly result: string | null
  /** When a settled claim may be forgotten, or is to be asked about an unknown one; null for others, and for never. */
  readonly expiresAtMs: number | null
}

interface NewClaim extends ClaimName {
  /** What exactly is claimed: a repeat with another fingerprint is another thing under the same name. */
  readonly fingerprint: string
  readonly owner: string
  /** As JSON text: what is to be done, enough for another process to say what was left undone; later what it belongs to. */
  readonly body: string
}

interface ClaimName {
  readonly scope: string
  readonly key: string
}

type OwnClaim = ClaimName & Pick<Claim, 'owner' | 'body'>

/**
 * Takes a claim, or fails with `claim.taken`. A settled claim may be taken anew after its result has expired; a
 * running one never, however long its owner is silent, because it is unknown whether the thing was done.
 */
export const takeClaim = (claim: NewClaim, nowMs: number): Change<void> =>
  addClaim({ ...claim, state: 'running', result: null, expiresAtMs: null }, nowMs)

/** Adds a claim as it is, such as one that has its result already. Fails with `claim.taken` where `takeClaim` does. */
export const addClaim = (claim: Claim, nowMs: number): Change<void> =>
  touchOne((tenant) => {
    const { scope, key, fingerprint, owner, state, body, result, expiresAtMs } = claim
    return counted(insert, tenant, scope, key, fingerprint, owner, state, body, result, expiresAtMs, nowMs)
  }, taken)

const insert = `INSERT INTO claims (tenant_id, scope, claim_key, fingerprint, owner, state, body, result, expires_at_ms)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (tenant_id, scope, claim_key) DO UPDATE
  SET fingerprint = excluded.fingerprint, owner = excluded.owner, state = excluded.state, body = excluded.body,
      result = excluded.result, expires_at_ms = excluded.expires_at_ms
  WHERE claims.state = 'settled' AND claims.expires_at_ms <= ?`

/** Lets one go on with a waiting claim of the same fingerprint; everybody else fails with `claim.taken`. */
export const resumeClaim = ({ scope, key, owner, fingerprint, body }: NewClaim): Change<void> =>
  update(resume, ['running', owner, body, null, null], [scope, key, fingerprint, 'waiting'], taken)

const resume = updateText('state owner body result expires_at_ms', 'scope claim_key fingerprint state')

/** Ends the owner's running claim with a result that is kept until `expiresAtMs`, and with the body that it has from now on. */
export const settleClaim = (
  { scope, key, owner, body }: OwnClaim,
  result: string,
  expiresAtMs: number | null,
  state: Exclude<Claim['state'], 'running'> = 'settled',
): Change<void> => update(settle, [state, body, result, expiresAtMs], [scope, key, owner, 'running'])

const settle = updateText('state body result expires_at_ms', 'scope claim_key owner state')

/** Changes a claim that is over. Fails with `claim.not_found` if it has changed since it was read. */
export const amendClaim = (claim: Claim, by: Partial<Claim>): Change<void> => {
  const { scope, key, state, result } = claim
  const next = { ...claim, ...by }
  const set = [next.state, next.body, next.result, next.expiresAtMs]
  return update(amend, set, [scope, key, state, result, claim.expiresAtMs])
}

const amend = updateText('state body result expires_at_ms', 'scope claim_key state result expires_at_ms')

/** Leaves the owner's running claim waiting, with its body and with what to answer until it is resumed or settled. */
export const holdClaim = (claim: OwnClaim, result: string): Change<void> => settleClaim(claim, result, null, 'waiting')

/** Ends a waiting claim of any owner: it will not be resumed any more. */
export const settleWaiting = ({ scope, key }: ClaimName, result: string, expiresAtMs: number): Change<void> =>
  update(settleHeld, ['settled', result, expiresAtMs], [scope, key, 'waiting'])

const settleHeld = updateText('state result expires_at_ms', 'scope claim_key state')

export function* findClaim(tenant: TenantId, scope: string, key: string): Work<Claim | undefined> {
  const select = `SELECT ${columns} FROM claims WHERE tenant_id = ? AND scope = ? AND claim_key = ?`
  const found = yield* row(select, tenant, scope, key)
  return found && record<Claim>(found)
}

/** The running claims of a scope, with those whose process has ended; in order of key. */
export function runningClaims(tenant: TenantId, scope: string, options: PageOptions = {}): Work<Page<Claim>> {
  const select = `SELECT ${columns} FROM claims
    WHERE tenant_id = ? AND scope = ? AND claim_key > ? AND state = 'running' ORDER BY claim_key LIMIT ?`
  return pageBy('key', options, [select, tenant, scope], record<Claim>)
}

/** At most `limit` claims of a scope that are to be asked about by now, those first that have waited longest. */
export function* unknownClaims(tenant: TenantId, scope: string, nowMs: number, limit: number): Work<readonly Claim[]> {
  const select = `SELECT ${columns} FROM claims
    WHERE tenant_id = ? AND scope = ? AND state = 'unknown' AND expires_at_ms <= ? ORDER BY expires_at_ms LIMIT ?`
  return (yield* rows(select, tenant, scope, nowMs, limit)).map(record<Claim>)
}

/** Drops at most `limit` settled claims whose results have expired, the oldest first, and returns how many. */
export const dropExpiredClaims = (nowMs: number, limit: number): Change<number> =>
  dropOldest(claims, 'expires_at_ms', nowMs, limit, "state = 'settled'")

/** Sets these columns of the one claim whose others have the values asked for. */
function updateText(set: string, where: string): string {
  const places = (columns: string, between: string) => `${columns.replaceAll(' ', ` = ?${between}`)} = ?`
  return `UPDATE claims SET ${places(set, ', ')} WHERE tenant_id = ? AND ${places(where, ' AND ')}`
}

type Values = readonly Value[]

/** Changes the one claim that has these values; `otherwise` is why there is none. */
const update = (text: string, set: Values, where: Values, otherwise: () => Failure = missing): Change<void> =>
  touchOne((tenant) => counted(text, ...set, tenant, ...where), otherwise)

const taken = (): Failure => new Failure('claim.taken', 'this has been claimed already')
const missing = (): Failure => new Failure('claim.not_found', 'no such claim in the state that this needs')

const columns = 'scope, claim_key AS "key", fingerprint, owner, state, body, result, expires_at_ms'

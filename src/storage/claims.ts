import { Failure } from '../base/failure.ts'
import type { TenantId } from '../model/tenant-id.ts'
import { type Change, optionalText, type Row, row, text, type Work } from './work.ts'

/** Who does one thing, once. A claim is `running` until its owner settles it with a result. */
export interface Claim {
  readonly scope: string
  readonly key: string
  /** What exactly is claimed: a repeat with another fingerprint is another thing under the same name. */
  readonly fingerprint: string
  readonly owner: string
  readonly state: 'running' | 'settled'
  /** The recorded result as JSON text, once settled. */
  readonly result: string | null
}

/**
 * Takes a claim, or fails with `claim.taken`. A settled claim may be taken anew after its result has expired; a
 * running one never, however long its owner is silent, because nobody knows whether the thing was done.
 */
export const takeClaim = (claim: Pick<Claim, 'scope' | 'key' | 'fingerprint' | 'owner'>, nowMs: number): Change<void> =>
  function* (tenant) {
    const taken = yield* row(
      `INSERT INTO claims (tenant_id, scope, claim_key, fingerprint, owner, state) VALUES (?, ?, ?, ?, ?, 'running')
       ON CONFLICT (tenant_id, scope, claim_key) DO UPDATE
       SET fingerprint = excluded.fingerprint, owner = excluded.owner, state = 'running', result = NULL, expires_at_ms = NULL
       WHERE claims.state = 'settled' AND claims.expires_at_ms <= ? RETURNING 1 AS taken`,
      tenant,
      claim.scope,
      claim.key,
      claim.fingerprint,
      claim.owner,
      nowMs,
    )
    if (taken === undefined) throw new Failure('claim.taken', 'this has been claimed already')
  }

/** Ends the owner's running claim with a result that is kept until `expiresAtMs`. */
export const settleClaim = (
  claim: Pick<Claim, 'scope' | 'key' | 'owner'>,
  result: string,
  expiresAtMs: number,
): Change<void> =>
  function* (tenant) {
    const settled = yield* row(
      `UPDATE claims SET state = 'settled', result = ?, expires_at_ms = ?
       WHERE tenant_id = ? AND scope = ? AND claim_key = ? AND owner = ? AND state = 'running' RETURNING 1 AS settled`,
      result,
      expiresAtMs,
      tenant,
      claim.scope,
      claim.key,
      claim.owner,
    )
    if (settled === undefined) throw noClaim()
  }

/** Gives the owner's running claim back, as if it had never been taken. */
export const releaseClaim = (claim: Pick<Claim, 'scope' | 'key' | 'owner'>): Change<void> =>
  function* (tenant) {
    const released = yield* row(
      "DELETE FROM claims WHERE tenant_id = ? AND scope = ? AND claim_key = ? AND owner = ? AND state = 'running' RETURNING 1 AS released",
      tenant,
      claim.scope,
      claim.key,
      claim.owner,
    )
    if (released === undefined) throw noClaim()
  }

export function* findClaim(tenant: TenantId, scope: string, key: string): Work<Claim | undefined> {
  const found = yield* row(
    'SELECT * FROM claims WHERE tenant_id = ? AND scope = ? AND claim_key = ?',
    tenant,
    scope,
    key,
  )
  return found && claimOf(found)
}

const noClaim = (): Failure => new Failure('claim.not_found', 'no running claim of this owner')

const claimOf = (found: Row): Claim => ({
  scope: text(found, 'scope'),
  key: text(found, 'claim_key'),
  fingerprint: text(found, 'fingerprint'),
  owner: text(found, 'owner'),
  state: text(found, 'state') === 'settled' ? 'settled' : 'running',
  result: optionalText(found, 'result'),
})

import type { Grant, Revocation } from '../model/grant.ts'
import { covers, makeCoverage } from './cover.ts'
import { hasExpired } from './grant.ts'

export interface Holding {
  readonly runId: string
  readonly subject: string
  readonly grants: readonly Grant[]
}

export interface LiveFacts {
  /** The host's time in milliseconds. */
  readonly now: number
  /** A revocation counts as long as it is among these. */
  readonly revocations: readonly Revocation[]
}

/** The live grants of the last run of a line from the root: each derives from a live one that covers it, run by run. */
export function liveGrants(line: readonly Holding[], { now, revocations }: LiveFacts): readonly Grant[] {
  const isRevoked = revokedBy(revocations)
  let live: readonly Grant[] | undefined
  for (const holding of line) {
    const above = live
    live = holding.grants.filter(
      (grant) =>
        !hasExpired(grant.expires_at, now) &&
        !isRevoked(grant, holding) &&
        (above === undefined || isCarried(grant, above)),
    )
  }
  return Object.freeze(live ?? [])
}

const isCarried = (grant: Grant, above: readonly Grant[]): boolean =>
  above.some(({ id, path }) => grant.derived_from.includes(id) && covers(path, grant.path))

function revokedBy(revocations: readonly Revocation[]): (grant: Grant, holding: Holding) => boolean {
  const targets = (wanted: Revocation['by']): string[] =>
    revocations.filter(({ by }) => by === wanted).map(({ target }) => target)
  const ids = new Set(targets('grant'))
  const runs = new Set(targets('run'))
  const subjects = new Set(targets('subject'))
  const isBelow = makeCoverage(targets('path'))
  return (grant, { runId, subject }) =>
    ids.has(grant.id) || runs.has(runId) || subjects.has(subject) || isBelow(grant.path)
}

export interface PathRevocation {
  /** The grants it ends: those at or below the path. */
  readonly ends: readonly Grant[]
  /** The grants above the path. They live on and still cover it, so the caller must be told. */
  readonly ancestorsLeft: readonly Grant[]
}

/** What revoking a path does to grants that live. */
export const revocationOf = (path: string, live: readonly Grant[]): PathRevocation => ({
  ends: live.filter((grant) => covers(path, grant.path)),
  ancestorsLeft: live.filter((grant) => grant.path !== path && covers(grant.path, path)),
})

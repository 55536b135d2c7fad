import type { Actor, Subject } from '../model/identity/subject.ts'

export interface Caller {
  readonly subject: Subject
  readonly actor: Actor | null
  /** In a run: the agent, which the runtime has bound itself, so it is compared instead of who started the run. */
  readonly agent?: string
}

/** Whom a list of allowed actors is compared with: accountability first, so an assertion never outranks a verified id. */
export function effectiveActor({ subject, actor, agent }: Caller): string {
  if (agent !== undefined) return agent
  return subject.verified === true ? subject.id : (actor?.id ?? subject.id)
}

/** True if an actor may call. An empty list is open; one with names demands a verified subject unless told otherwise. */
export function isAllowedActor(
  allowed: readonly string[],
  caller: Caller,
  { unverified = 'refuse' }: { readonly unverified?: 'refuse' | 'accept' } = {},
): boolean {
  if (allowed.length === 0) return true
  if (caller.subject.verified !== true && unverified === 'refuse') return false
  return allowed.includes(effectiveActor(caller))
}

/** True if discovery shows the capability to this caller; a shared key without a name (null) sees all. */
export const isVisible = (allowed: readonly string[], caller: string | null): boolean =>
  allowed.length === 0 || caller === null || allowed.includes(caller)

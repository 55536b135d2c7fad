import { limits } from '../../base/limits.ts'
import type { GatewayDeps } from '../../gateway/deps.ts'
import { isPresent } from '../../gateway/recovery/presence.ts'
import { type DueLeg, deferLeg, dueLegs, type Leg, takeLeg } from '../../storage/tables/legs.ts'

export interface Engine {
  /** Looks for due runs now, not at the next poll. */
  kick(): void
  /** Takes no new run from now on. */
  stop(): void
}

interface EngineOptions {
  readonly deps: GatewayDeps
  /** Drives a leg to its next pause. */
  readonly drive: (leg: Leg, wasLeft: boolean) => Promise<void>
  /** The agents that this process has: a run of another one is left to others. */
  readonly agents: () => readonly string[]
  /** Whether this process drives the run already. */
  readonly isDriven: (runId: string) => boolean
  readonly slots: number
  /** Done with every look. */
  readonly alsoEach: () => Promise<void>
  readonly pollMs?: number
}

/** Takes runs that are due and drives them, never more than `slots` at a time. One table in the store says what is due. */
export function openEngine({
  deps,
  drive,
  agents,
  isDriven,
  slots,
  alsoEach,
  pollMs = limits.legPollMs,
}: EngineOptions): Engine {
  let stopped = false
  let looking: Promise<void> | undefined
  let again = false
  let driving = 0
  const look = async (): Promise<void> => {
    await alsoEach()
    const free = slots - driving
    if (stopped || free <= 0) return
    const due = await deps.store.read(() => dueLegs(deps.tenant, deps.clock.now(), free, agents()))
    for (const leg of due) if (!isDriven(leg.runId)) await take(leg)
  }
  const take = async (due: DueLeg): Promise<void> => {
    const { store, tenant, clock, owner } = deps
    if (due.owner !== null && due.owner !== owner && (await isPresent(deps, due.owner)))
      return store.write(tenant, deferLeg(due, clock.now() + limits.legCheckMs))
    const leg = await store.write(tenant, takeLeg(due, owner, clock.now(), clock.now() + limits.legCheckMs))
    if (leg === undefined) return
    driving++
    void drive(leg, due.owner !== null)
      .catch(() => undefined)
      .finally(() => {
        driving--
        kick()
      })
  }
  const kick = (): void => {
    again = true
    if (looking !== undefined || stopped) return
    looking = (async () => {
      while (again && !stopped) {
        again = false
        await look().catch(() => undefined)
      }
    })().finally(() => {
      looking = undefined
    })
  }
  const timer = setInterval(kick, pollMs).unref()
  kick()
  return {
    kick,
    stop: () => {
      stopped = true
      clearInterval(timer)
    },
  }
}

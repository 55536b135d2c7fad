import { randomBytes } from 'node:crypto'
import { limits } from '../../base/limits.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { type Presence, showPresence } from '../../gateway/recovery/presence.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import type { Runtime } from '../runtime.ts'

type Tidied = Pick<Gateway, 'tidyInTurn'>

/** What the gateways of one process share: the lease that shows the process, and the timer that tidies them up. */
export interface HostProcess extends Presence {
  /** Tidies up this gateway every few seconds, after those before it, until the returned function is called. */
  keepTidy(gateway: Tidied): () => void
}

export interface ProcessOptions {
  /** How long the calls of a process that is gone are believed to run. */
  readonly presenceMs?: number
  readonly tidyMs?: number
}

/** `tenant` is the configured one, where the lease lies. */
export async function startProcess(
  { store, clock }: Runtime,
  tenant: TenantId,
  { presenceMs: ttlMs = limits.presenceMs, tidyMs = limits.tidyMs }: ProcessOptions = {},
): Promise<HostProcess> {
  const gateways = new Set<Tidied>()
  const presence = await showPresence({ store, clock, random: (bytes) => randomBytes(bytes), tenant, ttlMs })
  let isTidying = false
  const tidy = async (): Promise<void> => {
    // A turn that takes long is not overtaken by the next.
    if (isTidying) return
    isTidying = true
    for (const gateway of gateways) await gateway.tidyInTurn()
    isTidying = false
  }
  const timer = setInterval(() => void tidy(), tidyMs).unref()
  return {
    owner: presence.owner,
    keepTidy: (gateway) => {
      gateways.add(gateway)
      return () => void gateways.delete(gateway)
    },
    stop: () => {
      clearInterval(timer)
      return presence.stop()
    },
  }
}

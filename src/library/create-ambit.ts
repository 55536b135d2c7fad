import { dirname, resolve } from 'node:path'
import { withRun } from '../client/run-handle.ts'
import { tenantId } from '../model/identity/tenant-id.ts'
import type { Ambit } from '../operations/ambit.ts'
import { operable } from '../operations/table.ts'
import { openConfiguredHosts } from '../runtime/hosting/configured-host.ts'
import type { Hosts } from '../runtime/hosting/hosts.ts'
import { authenticate } from '../runtime/identity/api-keys.ts'
import { type Caller, callerOf, operator } from '../runtime/identity/caller.ts'
import { createTenant, everyTenant } from '../runtime/identity/tenants.ts'
import { performOperation } from '../runtime/operations/perform.ts'
import { openInMemory, openWith, type Runtime } from '../runtime/runtime.ts'
import { settingsFrom } from '../runtime/settings/config.ts'
import type { AmbitConfig } from '../runtime/settings/user-config.ts'

/** What an embedding program says: as `ambit.config.ts`, and where to keep it. */
export interface AmbitOptions extends Omit<AmbitConfig, 'dataDir'> {
  /** Keeps everything below this folder, such as `.ambit`; without it nothing outlives the process. */
  readonly folder?: string
  /** Receives warnings about upstreams. */
  readonly notice?: (text: string) => void
}

/**
 * Ambit in this process. The program that embeds it is trusted and acts as itself, the `operator`; `withKey` acts as the
 * holder of an API key. The tenant, `local` unless another is named, and its keys are made at the first start.
 */
export async function createAmbit(options: AmbitOptions = {}): Promise<Ambit> {
  const runtime = await openRuntime(options)
  try {
    const { tenant } = runtime.settings
    const known = await everyTenant(runtime)
    if (!known.some(({ tenant_id }) => tenant_id === tenant)) await createTenant(runtime, { id: tenant })
    const hosts = await openConfiguredHosts(runtime, tenant, options.notice ?? (() => undefined))
    return ambitFor(runtime, hosts, operator(tenant))
  } catch (error) {
    await runtime.close()
    throw error
  }
}

function openRuntime({ folder, notice: _, ...config }: AmbitOptions): Promise<Runtime> {
  const { env } = process
  if (folder === undefined) return openInMemory(config, env)
  const dataDir = resolve(folder)
  return openWith(settingsFrom({ ...config, dataDir }, { folder: dirname(dataDir), env }))
}

function ambitFor(runtime: Runtime, hosts: Hosts, caller: Caller): Ambit {
  const host = async () => {
    const held = await hosts.hold(tenantId(caller.tenant))
    held.release()
    return held.host
  }
  const context = { ambit: runtime, caller, by: callerOf(caller), host }
  return {
    ...withRun(
      operable((path, operation, input) => performOperation(context, path, operation, input)),
      async (id) => (await host()).runs.follow(id),
    ),
    withKey: async (key) => ambitFor(runtime, hosts, await authenticate(runtime, key)),
    close: async () => {
      await hosts.close()
      await runtime.close()
    },
  }
}

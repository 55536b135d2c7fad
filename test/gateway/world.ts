// What the processes of a test of the gateway share: a store with a tenant in it, keys, and the world they act on.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { tenantId } from '../../src/model/identity/tenant-id.ts'
import { issueKey } from '../../src/runtime/identity/api-keys.ts'
import { operator } from '../../src/runtime/identity/caller.ts'
import { createPrincipal } from '../../src/runtime/identity/principals.ts'
import { createTenant } from '../../src/runtime/identity/tenants.ts'
import { openAmbit } from '../../src/runtime/runtime.ts'
import type { Target } from '../storage/target.ts'

export interface World {
  readonly folder: string
  readonly effects: string
  /** Keys of two principals. */
  readonly secrets: readonly [string, string]
}

export const tenant = tenantId('northlight')

/** A folder with keys and a configuration, and a tenant in the store. */
export async function makeWorld(folder: string, target: Target, effects: string): Promise<World> {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'ambit.config.json'), JSON.stringify({ store: target }))
  const ambit = await openAmbit({ folder, env: {} })
  const me = operator(tenant)
  await createTenant(ambit, { id: tenant })
  const secretOf = async (principal: string): Promise<string> => {
    await createPrincipal(ambit, me, { id: principal, kind: 'agent' })
    return (await issueKey(ambit, me, { principal, scopes: [] })).secret
  }
  const secrets = [await secretOf('planner'), await secretOf('rival')] as const
  await ambit.close()
  return { folder, effects, secrets }
}

export interface Effects {
  readonly url: string
  all(): Promise<Record<string, number>>
  stop(): void
}

/** Starts the world outside. */
export async function startEffects(): Promise<Effects> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'effects.ts')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [port] = await once(createInterface({ input: child.stdout }), 'line')
  const url = `http://127.0.0.1:${port}`
  return {
    url,
    all: async () => (await (await fetch(url)).json()) as Record<string, number>,
    stop: () => child.kill('SIGKILL'),
  }
}

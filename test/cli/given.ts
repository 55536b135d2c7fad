// What tests of the runtime and the command line start from: a folder of their own, and an Ambit in it.

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Clock } from '../../src/base/time.ts'
import type { Config } from '../../src/model/config/config.ts'
import { tenantId } from '../../src/model/identity/tenant-id.ts'
import { type Caller, operator } from '../../src/runtime/identity/caller.ts'
import { createTenant, type NewTenant } from '../../src/runtime/identity/tenants.ts'
import { openAmbit, type Runtime } from '../../src/runtime/runtime.ts'

/** A new folder, gone when the test is done. */
export function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

export interface Given {
  readonly folder?: string
  readonly config?: Config
  readonly env?: Readonly<Record<string, string>>
  readonly clock?: Clock
}

/** An Ambit in the folder, closed when the test is done. Closing it earlier does no harm. */
export async function givenAmbit({ folder = tempFolder(), config, env = {}, clock }: Given = {}): Promise<Runtime> {
  if (config !== undefined) writeFileSync(join(folder, 'ambit.config.json'), JSON.stringify(config))
  const ambit = await openAmbit({ folder, env }, clock)
  onTestFinished(() => ambit.close().catch(() => undefined))
  return ambit
}

/** A tenant, and the operator in it. */
export async function givenTenant(ambit: Runtime, wish: NewTenant = { id: 'acme' }): Promise<Caller> {
  await createTenant(ambit, wish)
  return operator(tenantId(wish.id))
}

/** The bytes of every file below a folder, by its relative path. */
export function filesIn(folder: string): ReadonlyMap<string, Buffer> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const paths = entries.map(({ parentPath, name }) => join(parentPath, name))
  return new Map(paths.map((path) => [relative(folder, path), readFileSync(path)]))
}

import { existsSync } from 'node:fs'
import { relative } from 'node:path'
import type { Command } from 'commander'
import { Failure, quote } from '../base/failure.ts'
import { defined } from '../base/object.ts'
import type { Ambit } from '../runtime/ambit.ts'
import type { Caller } from '../runtime/caller.ts'
import type { ConfigSource, Settings } from '../runtime/config.ts'
import type { Io } from './io.ts'

export interface CommonOptions {
  readonly config?: string
  readonly json?: boolean
  readonly tenant?: string
}

/** The options every command that opens a store has. */
export const withStore = (command: Command): Command =>
  command
    .option('--config <file>', 'configuration file (default: ambit.config.ts or .json here)')
    .option('--json', 'print JSON for programs')

/** As `withStore`, for commands about one tenant. */
export const withTenant = (command: Command): Command =>
  withStore(command).option('--tenant <id>', "tenant (default: the configuration's, or `local`)")

/** Where the configuration of a command comes from. */
export const sourceOf = (io: Io, { config }: CommonOptions): ConfigSource =>
  defined({ folder: io.cwd, env: io.env, file: config })

type StoreOptions = CommonOptions & { readonly create?: boolean }

/** Opens Ambit for the length of `work`, which is about the whole store: for the operator, never for a key. */
export async function inStore<T>(io: Io, options: StoreOptions, work: (ambit: Ambit) => Promise<T>): Promise<T> {
  operatorOnly(io)
  return opened(io, options, work)
}

/** Opens Ambit for the length of `work` in one tenant, as whoever `AMBIT_KEY` says, or as the operator of this machine. */
export const inTenant = <T>(
  io: Io,
  options: CommonOptions,
  work: (ambit: Ambit, caller: Caller) => Promise<T>,
): Promise<T> =>
  opened(io, options, async (ambit) => {
    const { whoAsks } = await import('./who-asks.ts')
    return work(ambit, await whoAsks(ambit, io, options))
  })

/** Refuses a key: it opens one tenant and no other. */
export function operatorOnly(io: Io): void {
  if (!io.env['AMBIT_KEY']) return
  const help = 'unset AMBIT_KEY to act as the operator of this machine'
  throw new Failure('tenant.mismatch', 'a key opens one tenant, and this is about the whole store', {}, help)
}

async function opened<T>(io: Io, options: StoreOptions, work: (ambit: Ambit) => Promise<T>): Promise<T> {
  const { openWith } = await import('../runtime/ambit.ts')
  const { loadSettings } = await import('../runtime/config.ts')
  const settings = await loadSettings(sourceOf(io, options))
  if (!options.create) checkThere(io, settings)
  const ambit = await openWith(settings)
  try {
    return await work(ambit)
  } finally {
    await ambit.close()
  }
}

/** Only a command that is meant to makes a store: all others would leave an empty one wherever they are run. */
function checkThere({ cwd }: Io, { store, tenant }: Settings): void {
  if (store.driver !== 'sqlite' || store.path === ':memory:' || existsSync(store.path)) return
  const help = `run \`ambit tenant create ${tenant}\` to make it, or name your configuration with --config: looked for ${quote(relative(cwd, store.path))}`
  throw new Failure('store.unavailable', 'there is no store here yet', {}, help)
}

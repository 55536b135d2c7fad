import { existsSync } from 'node:fs'
import { relative } from 'node:path'
import type { Command } from 'commander'
import { Failure, quote } from '../base/failure.ts'
import { defined } from '../base/object.ts'
import type { Caller } from '../runtime/identity/caller.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { ConfigSource, Settings } from '../runtime/settings/config.ts'
import type { Io } from './terminal/io.ts'

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

/** Opens Ambit for the length of `work`, which looks at the whole store. A key must be that of a `storeAdministrator`. */
export const inStore = <T>(io: Io, options: StoreOptions, work: (ambit: Runtime) => Promise<T>): Promise<T> =>
  opened(io, options, async (ambit) => {
    const { storeAdministrator } = await import('./identity/who-asks.ts')
    if (io.env['AMBIT_KEY']) await storeAdministrator(ambit, io)
    return work(ambit)
  })

/** As `inTenant`, for a change: as the administrator whose key is in `AMBIT_KEY` or typed at the terminal. */
export const asAdministrator = <T>(io: Io, options: CommonOptions, work: TenantWork<T>): Promise<T> =>
  opened(io, options, async (ambit) => {
    const { administratorOf } = await import('./identity/who-asks.ts')
    return work(ambit, await administratorOf(ambit, io, options))
  })

type TenantWork<T> = (ambit: Runtime, caller: Caller) => Promise<T>

/** Opens Ambit for the length of `work` in one tenant, as the holder of `AMBIT_KEY`, or a caller who may only look. */
export const inTenant = <T>(io: Io, options: CommonOptions, work: TenantWork<T>): Promise<T> =>
  opened(io, options, async (ambit) => {
    const { whoAsks } = await import('./identity/who-asks.ts')
    return work(ambit, await whoAsks(ambit, io, options))
  })

/** Opens Ambit for the length of `work`, without asking who the caller is. */
export async function opened<T>(io: Io, options: StoreOptions, work: (ambit: Runtime) => Promise<T>): Promise<T> {
  const { openWith } = await import('../runtime/runtime.ts')
  const { loadSettings } = await import('../runtime/settings/config.ts')
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
  const help = `run \`ambit init\` or \`ambit tenant create ${tenant}\` to make it, or name your configuration with --config: looked for ${quote(relative(cwd, store.path))}`
  throw new Failure('store.unavailable', 'there is no store here yet', {}, help)
}

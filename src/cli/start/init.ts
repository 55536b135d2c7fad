import { existsSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Option } from 'commander'
import { Failure } from '../../base/failure.ts'
import { everyTenant } from '../../runtime/identity/tenants.ts'
import { configNames } from '../../runtime/settings/config.ts'
import { makeTenant, printTenant } from '../identity/new-tenant.ts'
import { storeAdministrator } from '../identity/who-asks.ts'
import { opened } from '../session.ts'
import { writeOutput } from '../terminal/files.ts'
import { type Io, line, printJson, type Register } from '../terminal/io.ts'
import { several } from '../terminal/options.ts'
import { commented, plain } from './init-template.ts'

export default ((command, io) => {
  command
    .addOption(new Option('--format <format>', 'ts, with comments, or json').choices(['ts', 'json']).default('ts'))
    .option(
      '--root <path>',
      'a namespace path that grants of the tenant may lie under; may be given several times',
      several,
    )
    .option('--force', 'replace a configuration that is there')
    .option('--json', 'print JSON for programs')
    .action(async (options: { format: 'ts' | 'json'; root?: string[]; force?: boolean; json?: boolean }) => {
      const name = options.format === 'json' ? 'ambit.config.json' : nameIn(io.cwd)
      const there = configNames.find((known) => existsSync(join(io.cwd, known)))
      if (there !== undefined && !options.force)
        throw new Failure('config.exists', `\`${there}\` is here already`, {}, 'use --force to replace it')
      await checkReplaceable(io)
      writeOutput(io, name, options.format === 'ts' ? commented : `${JSON.stringify(plain, null, 2)}\n`)
      // Of two configurations side by side only one would count.
      if (there !== undefined && there !== name) rmSync(join(io.cwd, there))
      const made = await firstTenant(io, options.root)
      if (options.json) return printJson(io, { file: name, ...(made && { tenant: made }) })
      line(io, `wrote ${name}`)
      if (made === undefined) line(io, 'the store here has its tenant and its administrator: they stay as they are')
      else printTenant(io, made)
      line(io, 'next: `ambit doctor`')
    })
}) satisfies Register

/** The rules of a store in use are set by its administrator alone; a configuration that is broken may be replaced by anybody. */
async function checkReplaceable(io: Io): Promise<void> {
  await opened(io, {}, (ambit) => storeAdministrator(ambit, io)).catch((error: unknown) => {
    if (error instanceof Failure && !/^(?:unauthenticated|caller|tenant)/.test(error.code)) return
    throw error
  })
}

/** The tenant of the new configuration, with its administrator. One that exists is left alone: a lost key is not replaced. */
const firstTenant = (io: Io, roots: readonly string[] = []) =>
  opened(io, { create: true }, async (ambit) => {
    const { tenant: id } = ambit.settings
    const tenants = await everyTenant(ambit)
    if (tenants.some(({ tenant_id }) => tenant_id === id)) return undefined
    return makeTenant(ambit, { id, roots }, (await storeAdministrator(ambit, io)).subject)
  })

/** `.ts` is read as a module only where the package says so, or where there is no package. */
function nameIn(folder: string): (typeof configNames)[number] {
  const path = join(folder, 'package.json')
  if (existsSync(path)) return isModule(path) ? 'ambit.config.ts' : 'ambit.config.mts'
  return dirname(folder) === folder ? 'ambit.config.ts' : nameIn(dirname(folder))
}

function isModule(path: string): boolean {
  try {
    return (JSON.parse(readFileSync(path, 'utf8')) as { type?: unknown } | null)?.type === 'module'
  } catch {
    return false
  }
}

import { existsSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Option } from 'commander'
import { Failure } from '../base/failure.ts'
import { configNames } from '../runtime/config.ts'
import { writeOutput } from './files.ts'
import { commented, plain } from './init-template.ts'
import { line, printJson, type Register } from './io.ts'

const register: Register = (command, io) => {
  command
    .addOption(new Option('--format <format>', 'ts, with comments, or json').choices(['ts', 'json']).default('ts'))
    .option('--force', 'replace a configuration that is there')
    .option('--json', 'print JSON for programs')
    .action((options: { format: 'ts' | 'json'; force?: boolean; json?: boolean }) => {
      const name = options.format === 'json' ? 'ambit.config.json' : nameIn(io.cwd)
      const there = configNames.find((known) => existsSync(join(io.cwd, known)))
      if (there !== undefined && !options.force) {
        throw new Failure('config.exists', `\`${there}\` is here already`, {}, 'use --force to replace it')
      }
      writeOutput(io, name, options.format === 'ts' ? commented : `${JSON.stringify(plain, null, 2)}\n`)
      // Of two configurations side by side only one would count.
      if (there !== undefined && there !== name) rmSync(join(io.cwd, there))
      if (options.json) return printJson(io, { file: name })
      line(io, `wrote ${name}`)
      line(io, 'next: `ambit tenant create local`, then `ambit doctor`')
    })
}
export default register

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

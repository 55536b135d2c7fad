import { spawnSync } from 'node:child_process'
import { delimiter, join, resolve } from 'node:path'
import { styleText } from 'node:util'

export const root = resolve(import.meta.dirname, '../..')
const bin = join(root, 'node_modules', '.bin')

export interface Step {
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  /** Shows its output as it comes, not only when it fails. */
  readonly live?: boolean
  readonly env?: Readonly<Record<string, string>>
}

/** Runs a tool of the project and says in one line how it went; a failure shows all it wrote and ends this process. */
export function run({ name, command, args, live = false, env = {} }: Step): void {
  const start = Date.now()
  if (live) print(`  ${name}: ${command} ${args.join(' ')}`)
  const { status, error, stdout, stderr } = spawnSync(join(bin, command), args, {
    cwd: root,
    env: { ...process.env, ...env, PATH: `${bin}${delimiter}${process.env['PATH']}` },
    stdio: live ? ['ignore', 'inherit', 'inherit'] : ['ignore', 'pipe', 'pipe'],
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
  if (status !== 0)
    failed(`${name}: \`${command} ${args.join(' ')}\``, error?.message ?? `${stdout ?? ''}${stderr ?? ''}`)
  passed(name, start)
}

export function passed(name: string, start: number): void {
  print(`${styleText('green', '✓')} ${name}, ${((Date.now() - start) / 1000).toFixed(1)} s`)
}

export function failed(name: string, details: string): never {
  if (details !== '') print(details.trimEnd())
  print(`${styleText('red', '✗')} ${name} failed`)
  process.exit(1)
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

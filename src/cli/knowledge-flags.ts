import { statSync } from 'node:fs'
import { homedir } from 'node:os'
import { resolve } from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import { Failure, quote } from '../base/failure.ts'
import type { Diagnostic } from '../knowledge/diagnostic.ts'
import { loadSettings } from '../runtime/config.ts'
import { parseRoot } from '../runtime/knowledge/given-roots.ts'
import { type Knowledge, openKnowledge } from '../runtime/knowledge/knowledge.ts'
import { conventionalRoots } from '../runtime/knowledge/scan.ts'
import { found } from './command.ts'
import { writePrivate } from './files.ts'
import { type Io, printJson } from './io.ts'
import { printFindings } from './knowledge-report.ts'
import { sourceOf } from './session.ts'
import { several } from './several.ts'

/** What every command that reads packs has. */
export interface KnowledgeFlags {
  readonly root?: readonly string[]
  readonly config?: string
  readonly json?: boolean
  readonly text?: boolean
  readonly watch?: boolean
  readonly output?: string
  readonly force?: boolean
  readonly limit?: number
  readonly offset?: number
  readonly record?: string | true
  readonly withhold?: boolean
}

export const reading = (command: Command): Command =>
  command
    .option('--root <root>', '<scope>[:<ceiling>]=<path>; may be given several times', several)
    .option('--config <file>', 'configuration file (default: ambit.config.ts or .json here)')
    .option('--json', 'print JSON for programs, as without a terminal')
    .option('--text', 'print for people, even into a pipe; so does AMBIT_OUTPUT=text')
    .option('--output <file>', 'write the answer to a new file')
    .option('--watch', 'again whenever a file changes, until Ctrl-C')
    .option('--limit <n>', 'how many at most', whole)
    .option('--offset <n>', 'how many to pass over', whole, 0)

export function whole(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('write a whole number.')
}

export const paged = <T>(items: readonly T[], { offset = 0, limit }: KnowledgeFlags): readonly T[] =>
  items.slice(offset, limit === undefined ? undefined : offset + limit)

/** Opens the packs and does the work once, or again after every change. An error among the findings is exit 1. */
export async function each(
  io: Io,
  dir: string | undefined,
  flags: KnowledgeFlags,
  work: (packs: Knowledge) => Promise<readonly Diagnostic[]>,
): Promise<void> {
  const packs = await knowledgeOf(io, dir, flags)
  const once = async (): Promise<void> => {
    const findings = await work(packs)
    if (findings.some(({ severity }) => severity === 'error')) found(io)
  }
  await once()
  if (!flags.watch) return
  await new Promise<void>((resolve) => {
    let turn = Promise.resolve()
    const stop = packs.watch(() => {
      turn = turn.then(once)
    })
    const off = io.onSignal(() => {
      stop()
      off()
      resolve()
    })
  })
}

/** The packs of the folder or roots that were named, else of the configuration, else of the usual folders. */
async function knowledgeOf(io: Io, dir: string | undefined, flags: KnowledgeFlags): Promise<Knowledge> {
  const settings = await loadSettings(sourceOf(io, flags))
  const { knowledge } = settings
  const named = [...(dir === undefined ? [] : [{ path: dir }]), ...(flags.root ?? []).map(parseRoot)]
  for (const { path } of named) checkThere(io, path)
  const given = named.map((root) => ({ ...root, path: resolve(io.cwd, root.path) }))
  const home = io.env['HOME'] ?? homedir()
  const roots = given.length > 0 ? given : (knowledge.roots ?? conventionalRoots(io.cwd, home))
  const folder =
    flags.record === true
      ? resolve(settings.dataDir, 'runs')
      : flags.record === undefined
        ? undefined
        : resolve(io.cwd, flags.record)
  return openKnowledge({
    ...knowledge,
    roots,
    ...(folder !== undefined && { records: { folder, query: flags.withhold ? 'digest' : 'text' } }),
  })
}

function checkThere(io: Io, path: string): void {
  if (statSync(resolve(io.cwd, path), { throwIfNoEntry: false })?.isDirectory()) return
  throw new Failure(
    'file.not_found',
    `there is no folder ${quote(path)}`,
    { path },
    'name a folder with knowledge packs',
  )
}

interface Answer {
  readonly findings: readonly Diagnostic[]
  readonly more: object
  readonly status?: string
  readonly ok?: boolean
}

/** One object for programs, with `--json` or where nobody looks; otherwise what `print` prints, with the findings beside it. */
export function answer(io: Io, command: string, flags: KnowledgeFlags, given: Answer, print: () => void): void {
  const { findings, more } = given
  const bad = findings.some(({ severity }) => severity === 'error')
  const { ok = !bad, status = bad ? 'failed' : 'passed' } = given
  if (flags.json || flags.output !== undefined || (io.terminal === false && !flags.text)) {
    const value = { ok, command, status, findings, ...more }
    if (flags.output === undefined) printJson(io, value)
    else put(io, flags, `${JSON.stringify(value, null, 2)}\n`)
    return
  }
  print()
  printFindings(io, findings)
}

export function put(io: Io, { output, force }: KnowledgeFlags, text: string): void {
  if (output === undefined) io.out(text === '' || text.endsWith('\n') ? text : `${text}\n`)
  else writePrivate(io, output, text, { replace: force ?? false })
}

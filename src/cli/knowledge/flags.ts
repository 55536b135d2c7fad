import { statSync } from 'node:fs'
import { homedir } from 'node:os'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { Failure, problem, quote } from '../../base/failure.ts'
import type { Diagnostic } from '../../knowledge/diagnostic.ts'
import { keptApprovals } from '../../runtime/knowledge/approve.ts'
import { type Knowledge, openKnowledge } from '../../runtime/knowledge/knowledge.ts'
import { conventionalRoots, parseRoot, type RootOptions, settleRoots } from '../../runtime/knowledge/roots.ts'
import { watchRoots } from '../../runtime/knowledge/watch.ts'
import { loadSettings, type Settings } from '../../runtime/settings/config.ts'
import { sourceOf } from '../session.ts'
import { writePrivate } from '../terminal/files.ts'
import { found, type Io, jsonText, paint, plain } from '../terminal/io.ts'
import { several, wholeNumber } from '../terminal/options.ts'

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
  answering(command)
    .option('--root <root>', '<scope>[:<ceiling>]=<path>; may be given several times', several)
    .option('--config <file>', 'configuration file (default: ambit.config.ts or .json here)')
    .option('--watch', 'again whenever a file changes, until Ctrl-C')

/** What every command has that answers with a list. */
export const answering = (command: Command): Command =>
  command
    .option('--json', 'print JSON for programs, as without a terminal')
    .option('--text', 'print for people, even into a pipe; so does AMBIT_OUTPUT=text')
    .option('--output <file>', 'write the answer to a new file')
    .option('--force', 'write it over one that is there')
    .option('--limit <n>', 'how many at most', wholeNumber())
    .option('--offset <n>', 'how many to pass over', wholeNumber(), 0)

export const paged = <T>(items: readonly T[], { offset = 0, limit }: KnowledgeFlags): readonly T[] =>
  items.slice(offset, limit === undefined ? undefined : offset + limit)

type Roots = readonly { readonly path: string }[]
type PackWork<F> = (packs: Knowledge, flags: F, roots: readonly RootOptions[]) => Promise<boolean>

/** Opens the packs and does the work once, or again after every change. Where it says that something is wrong, exit 1. */
export async function each<F extends KnowledgeFlags>(io: Io, dir: string | undefined, flags: F, work: PackWork<F>) {
  const settings = await loadSettings(sourceOf(io, flags))
  const roots = rootsOf(io, dir, flags, settings)
  const packs = await knowledgeOf(io, roots, flags, settings)
  await inTurns(io, roots, flags, (now) => work(packs, now, roots))
}

/**
 * Does the work, with `--watch` again whenever something below the roots changes, until a signal. Then a file that it
 * wrote is its own and is replaced, what goes wrong is told, and the end is good.
 */
export async function inTurns<F extends KnowledgeFlags>(
  io: Io,
  roots: Roots,
  flags: F,
  work: (flags: F) => Promise<boolean>,
) {
  const good = await work(flags)
  if (!flags.watch) {
    if (!good) found(io)
    return
  }
  const own = [
    ...(flags.output === undefined ? [] : [resolve(io.cwd, flags.output)]),
    ...(flags.record === undefined ? [] : [await runsFolder(io, flags, flags.record)]),
  ]
  await new Promise<void>((end) => {
    let turn = Promise.resolve()
    const again = async (): Promise<void> => {
      try {
        await work({ ...flags, force: true })
      } catch (error) {
        io.err(`${paint(io, 'red', 'error')}: ${plain(problem(error).detail)}\n`)
      }
    }
    const changed = (): void => {
      turn = turn.then(again)
    }
    const stop = watchRoots(roots, changed, own)
    const off = io.onSignal(() => {
      stop()
      off()
      void turn.then(end)
    })
  })
}

/** The folder or roots that were named, else those of the configuration, else the usual folders. All of them are there. */
function rootsOf(io: Io, dir: string | undefined, flags: KnowledgeFlags, { knowledge }: Settings) {
  const named = [...(dir === undefined ? [] : [{ path: dir }]), ...(flags.root ?? []).map(parseRoot)]
  const home = io.env['HOME'] ?? homedir()
  const roots = named.length > 0 ? named : (knowledge.roots ?? conventionalRoots(io.cwd, home))
  for (const { path } of roots) checkThere(io, path)
  return settleRoots(roots, io.cwd)
}

async function knowledgeOf(
  io: Io,
  roots: readonly RootOptions[],
  flags: KnowledgeFlags,
  { knowledge, dataDir }: Settings,
): Promise<Knowledge> {
  const approve = [...knowledge.approve, ...(await keptApprovals(dataDir))]
  if (flags.record === undefined) return openKnowledge({ ...knowledge, approve, roots })
  const folder = await runsFolder(io, flags, flags.record)
  return openKnowledge({ ...knowledge, approve, roots, records: { folder, query: flags.withhold ? 'digest' : 'text' } })
}

/** Where runs are recorded: the folder that was named, otherwise `runs` where the configuration keeps data. */
export async function runsFolder(io: Io, flags: KnowledgeFlags, named: string | true | undefined): Promise<string> {
  if (typeof named === 'string') return resolve(io.cwd, named)
  return resolve((await loadSettings(sourceOf(io, flags))).dataDir, 'runs')
}

function checkThere(io: Io, path: string): void {
  if (statSync(resolve(io.cwd, path), { throwIfNoEntry: false })?.isDirectory()) return
  const help = 'name a folder with knowledge packs'
  throw new Failure('file.not_found', `there is no folder ${quote(path)}`, { path }, help)
}

type Answer = { findings: readonly Diagnostic[]; more: object; status?: string; ok?: boolean }

/** Whether programs read the answer: they ask for it, or nobody looks. */
export const isForPrograms = (io: Io, { json, text }: Pick<KnowledgeFlags, 'json' | 'text'>): boolean =>
  json === true || (io.terminal === false && text !== true)

/** One object for programs, with `--json` or where nobody looks; otherwise what `print` prints. Answers whether all is well. */
export function answer(io: Io, command: string, flags: KnowledgeFlags, given: Answer, print: () => void): boolean {
  const { findings, more } = given
  const bad = findings.some(({ severity }) => severity === 'error')
  const { ok = !bad, status = bad ? 'failed' : 'passed' } = given
  if (flags.output !== undefined || isForPrograms(io, flags))
    put(io, flags, `${jsonText({ ok, command, status, findings, ...more }, 2)}\n`)
  else print()
  return ok
}

export function put(io: Io, { output, force }: KnowledgeFlags, text: string): void {
  if (output === undefined) io.out(text === '' || text.endsWith('\n') ? text : `${text}\n`)
  else writePrivate(io, output, text, { replace: force ?? false })
}

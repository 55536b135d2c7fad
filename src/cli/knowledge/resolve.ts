import { resolve } from 'node:path'
import type { Command } from 'commander'
import { limits } from '../../base/limits.ts'
import { type Diagnostic, distinct } from '../../knowledge/diagnostic.ts'
import type { ResolutionTrace } from '../../model/knowledge/trace.ts'
import { packFolder, realPath } from '../../runtime/knowledge/approvals.ts'
import type { RootOptions } from '../../runtime/knowledge/roots.ts'
import type { Scan } from '../../runtime/knowledge/scan.ts'
import { type Io, line, plain } from '../terminal/io.ts'
import { several, wholeNumber } from '../terminal/options.ts'
import { answer, each, type KnowledgeFlags, reading } from './flags.ts'
import { printFindings, printResolution, printWaiting } from './report.ts'

interface ResolveFlags extends KnowledgeFlags {
  readonly query: string
  readonly pack?: readonly string[]
  readonly confirm?: readonly string[]
  readonly enable?: readonly string[]
  readonly disable?: readonly string[]
  readonly require?: readonly string[]
  readonly budget: number
  readonly evidence?: boolean
  readonly explain?: boolean
}

export function addResolve(knowledge: Command, io: Io): void {
  reading(knowledge.command('resolve [dir]'))
    .description('what a model would be given for a question, and why')
    .requiredOption('--query <text>', 'the question')
    .option('--pack <name>', 'use this pack: a name, an id or a path; may be given several times', several)
    .option('--confirm <name>', 'approve and confirm a pack for this call; may be given several times', several)
    .option('--enable <name>', 'use no pack but these: names, ids or scopes', several)
    .option('--disable <name>', 'do not use this pack: a name, an id or a scope', several)
    .option('--require <fact>', 'a fact that the answer cannot do without', several)
    .option('--budget <tokens>', 'tokens of everything that is sent', wholeNumber(), limits.knowledgeBudgetTokens)
    .option('--evidence', 'excerpts of sources, too')
    .option('--explain', 'what was dropped, and why')
    .option('--record [dir]', 'keep the record and the trace (default: .ambit/runs)')
    .option('--withhold', 'record a digest in place of the question')
    .addHelpText(
      'after',
      '\nExit 0: answered, or nothing fits. 1: a pack that was named was refused, or the selection failed. 2: wrong usage, or a root is missing.',
    )
    .action((dir: string | undefined, given: ResolveFlags) =>
      each(io, dir, given, async (packs, flags, roots) => {
        const { query, budget, enable, disable, require: required, evidence } = flags
        const scan = await packs.discover()
        const idsOf = (names: readonly string[] | undefined) => names?.map((name) => idAt(io, name, scan, roots))
        const [select, confirm] = [idsOf(flags.pack), idsOf(flags.confirm)]
        const resolution = await packs.resolve({ query, budget, select, confirm, enable, disable, required, evidence })
        const { trace, record, text, tokens } = resolution
        const status = record?.status ?? (trace.outcome === 'nothing' ? 'nothing' : 'failed')
        const findings = findingsOf(trace)
        const { activated_packs = [] } = record ?? {}
        const { missing, run_id } = trace
        const more = { context: text, activated_packs, missing, token_estimate: tokens, run_id, trace }
        return answer(io, 'resolve', flags, { findings, more, status, ok: status !== 'failed' }, () => {
          printResolution(io, trace, text, budget)
          if (flags.explain) printDropped(io, trace.dropped)
          printWaiting(io, findings, scan)
          printFindings(io, findings)
        })
      }),
    )
}

/** The id of the pack in a folder that was named by its path; any other word as it is. */
function idAt(io: Io, named: string, { packs, quarantined }: Scan, roots: readonly RootOptions[]): string {
  if (packs.some(({ id, path, header }) => [id, path, header.name].includes(named))) return named
  const folder = realPath(resolve(io.cwd, named))
  const at = folder && [...packs, ...quarantined].find((pack) => packFolder(pack, roots) === folder)
  return at ? at.id : named
}

/** Everything that was found, each once: why a pack was refused may also be why nothing was used. */
function findingsOf({ refused, findings }: ResolutionTrace): readonly Diagnostic[] {
  return distinct([...refused.flatMap((one) => one.findings), ...findings] as readonly Diagnostic[])
}

function printDropped(io: Io, dropped: ResolutionTrace['dropped']): void {
  line(io)
  for (const { pack, path, section = '', reason } of dropped)
    line(io, plain(`dropped ${pack}/${path} › ${section}: ${reason}`))
}

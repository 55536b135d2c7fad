import type { Command } from 'commander'
import { limits } from '../base/limits.ts'
import type { Diagnostic } from '../knowledge/diagnostic.ts'
import { found } from './command.ts'
import { type Io, line } from './io.ts'
import { answer, each, type KnowledgeFlags, reading, whole } from './knowledge-flags.ts'
import { printResolution } from './knowledge-report.ts'
import { several } from './several.ts'

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
    .option('--budget <tokens>', 'tokens of everything that is sent', whole, limits.knowledgeBudgetTokens)
    .option('--evidence', 'excerpts of sources, too')
    .option('--explain', 'what was dropped, and why')
    .option('--record [dir]', 'keep the record and the trace (default: .ambit/runs)')
    .option('--withhold', 'record a digest in place of the question')
    .addHelpText(
      'after',
      '\nExit 0: answered, or nothing fits. 1: a pack that was named was refused, or the selection failed. 2: wrong usage, or a root is missing.',
    )
    .action((dir: string | undefined, flags: ResolveFlags) =>
      each(io, dir, flags, async (packs) => {
        const { query, budget, pack: select, confirm, enable, disable, require: required, evidence } = flags
        const resolution = await packs.resolve({ query, budget, select, confirm, enable, disable, required, evidence })
        const { trace, record, text, tokens } = resolution
        const status = record?.status ?? (trace.outcome === 'refused' ? 'failed' : 'nothing')
        const more = {
          context: text,
          activated_packs: record?.activated_packs ?? [],
          missing: trace.missing,
          token_estimate: tokens,
          run_id: trace.run_id,
          trace,
        }
        answer(
          io,
          'resolve',
          flags,
          { findings: trace.findings as readonly Diagnostic[], more, status, ok: status !== 'failed' },
          () => {
            printResolution(io, trace, text, budget)
            if (flags.explain) printDropped(io, trace.dropped)
          },
        )
        if (status === 'failed') found(io)
        return []
      }),
    )
}

function printDropped(
  io: Io,
  dropped: readonly {
    readonly pack: string
    readonly path: string
    readonly section?: string | undefined
    readonly reason: string
  }[],
): void {
  line(io)
  for (const { pack, path, section = '', reason } of dropped)
    line(io, `dropped ${pack}/${path} › ${section}: ${reason}`)
}

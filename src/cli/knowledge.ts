import { resolve } from 'node:path'
import { Option } from 'commander'
import { limits } from '../base/limits.ts'
import { gapsIn } from '../knowledge/gaps.ts'
import { keptTraces } from '../runtime/knowledge/records.ts'
import type { Register } from './command.ts'
import { addAuthoring } from './knowledge-author.ts'
import { addEval } from './knowledge-eval.ts'
import { answer, each, type KnowledgeFlags, paged, put, reading, whole } from './knowledge-flags.ts'
import { printCatalog, printGaps, printScan } from './knowledge-report.ts'
import { addResolve } from './knowledge-resolve.ts'

const register: Register = (knowledge, io) => {
  reading(knowledge.command('discover [dir]'))
    .description('which packs there are, where they were looked for, and what is wrong with them')
    .action((dir: string | undefined, flags: KnowledgeFlags) =>
      each(io, dir, flags, async (packs) => {
        const scan = await packs.discover()
        const findings = [
          ...scan.diagnostics,
          ...scan.packs.flatMap((pack) => pack.diagnostics),
          ...scan.quarantined.flatMap((one) => one.diagnostics),
        ]
        const page = paged(scan.packs, flags)
        answer(
          io,
          'discover',
          flags,
          {
            findings,
            more: { roots: scan.roots, packs: page, quarantined: scan.quarantined, total: scan.packs.length },
          },
          () => {
            printScan(io, { ...scan, packs: page })
          },
        )
        return findings
      }),
    )

  reading(knowledge.command('catalog [dir]'))
    .description('the packs that may be asked for')
    .addOption(new Option('--for <reader>', 'the exact text that a model would get').choices(['model']))
    .action((dir: string | undefined, flags: KnowledgeFlags & { readonly for?: string }) =>
      each(io, dir, flags, async (packs) => {
        if (flags.for === 'model') {
          put(io, flags, await packs.catalogText())
          return []
        }
        const entries = await packs.catalog()
        const page = paged(entries, flags)
        answer(io, 'catalog', flags, { findings: [], more: { packs: page, total: entries.length } }, () =>
          printCatalog(io, page),
        )
        return []
      }),
    )

  addResolve(knowledge, io)
  addEval(knowledge, io)
  addAuthoring(knowledge, io)

  knowledge
    .command('gaps')
    .description('recent questions that no pack answered, or only a stale one')
    .option('--records <dir>', 'where resolutions were recorded', '.ambit/runs')
    .option('--json', 'print JSON for programs')
    .option('--text', 'print for people, even into a pipe')
    .option('--limit <n>', 'how many at most', whole, 50)
    .option('--offset <n>', 'how many to pass over', whole, 0)
    .action(async (flags: KnowledgeFlags & { readonly records: string }) => {
      const traces = await keptTraces(resolve(io.cwd, flags.records), limits.knowledgeTracesReadMax)
      const gaps = gapsIn(traces)
      const page = paged(gaps, flags)
      answer(
        io,
        'gaps',
        flags,
        { findings: [], more: { gaps: page, total: gaps.length, resolutions: traces.length } },
        () => printGaps(io, page),
      )
    })
}
export default register

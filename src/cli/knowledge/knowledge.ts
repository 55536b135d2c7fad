import { Option } from 'commander'
import { limits } from '../../base/limits.ts'
import { gapsIn } from '../../knowledge/gaps.ts'
import { keptTraces } from '../../runtime/knowledge/records.ts'
import type { Register } from '../terminal/io.ts'
import { addAuthoring } from './author.ts'
import { addEval } from './eval.ts'
import { answer, answering, each, type KnowledgeFlags, paged, put, reading, runsFolder } from './flags.ts'
import { printCatalog, printFindings, printGaps, printScan } from './report.ts'
import { addResolve } from './resolve.ts'

export default ((knowledge, io) => {
  reading(knowledge.command('discover [dir]'))
    .description('which packs there are, where they were looked for, and what is wrong with them')
    .action((dir: string | undefined, given: KnowledgeFlags) =>
      each(io, dir, given, async (packs, flags) => {
        const scan = await packs.discover()
        const findings = [scan, ...scan.packs, ...scan.quarantined].flatMap(({ diagnostics }) => diagnostics)
        const page = paged(scan.packs, flags)
        const more = { roots: scan.roots, packs: page, quarantined: scan.quarantined, total: scan.packs.length }
        return answer(io, 'discover', flags, { findings, more }, () => {
          printScan(io, { ...scan, packs: page })
          printFindings(io, findings)
        })
      }),
    )

  reading(knowledge.command('catalog [dir]'))
    .description('the packs that may be asked for')
    .addOption(new Option('--for <reader>', 'the exact text that a model would get').choices(['model']))
    .action((dir: string | undefined, given: KnowledgeFlags & { readonly for?: string }) =>
      each(io, dir, given, async (packs, flags) => {
        if (flags.for === 'model') {
          put(io, flags, await packs.catalogText())
          return true
        }
        const entries = await packs.catalog()
        const page = paged(entries, flags)
        return answer(io, 'catalog', flags, { findings: [], more: { packs: page, total: entries.length } }, () =>
          printCatalog(io, page),
        )
      }),
    )

  addResolve(knowledge, io)
  addEval(knowledge, io)
  addAuthoring(knowledge, io)

  answering(knowledge.command('gaps'))
    .description('recent questions that no pack answered, or only a stale one; 50 unless --limit says otherwise')
    .option('--records <dir>', 'where resolutions were recorded (default: .ambit/runs)')
    .option('--config <file>', 'configuration file (default: ambit.config.ts or .json here)')
    .action(async (flags: KnowledgeFlags & { readonly records?: string }) => {
      const traces = await keptTraces(await runsFolder(io, flags, flags.records), limits.knowledgeTracesReadMax)
      const gaps = gapsIn(traces)
      const page = paged(gaps, { limit: 50, ...flags })
      const more = { gaps: page, total: gaps.length, resolutions: traces.length }
      answer(io, 'gaps', flags, { findings: [], more }, () => printGaps(io, page))
    })
}) satisfies Register

import { verifyRunExport } from '../../evidence/verify/run-export.ts'
import { operations } from '../../operations/table.ts'
import { type AmbitOptions, atAmbit, withAmbit } from '../ambit.ts'
import { printExportReport } from '../evidence/report.ts'
import { operationGroup } from '../operation-command.ts'
import { found, printJson, type Register } from '../terminal/io.ts'
import { printDecision, printDecisions } from './print-decision.ts'

const id = ['id', 'of a record or of its run; see `ambit decisions list`'] as const

const group = operationGroup('decisions', {
  list: {
    summary: 'how runs have decided, newest first',
    paged: true,
    input: { status: ['--status <status>', 'that stand so'] },
    print: (io, { decisions }) => printDecisions(io, decisions),
  },
  show: { summary: 'one decision record in its newest version', input: { id }, print: printDecision },
  history: {
    summary: 'every version of one decision record',
    input: { id },
    print: (io, { versions }) => printDecisions(io, versions),
  },
})

export default ((decisions, io) => {
  group(decisions, io)
  withAmbit(decisions.command('verify <id>'), { tenant: true })
    .description('whether the versions of a record are chained, and are those that evidence says were written')
    .addHelpText('after', '\nExit 0: good. 1: not good, and why. 2: could not look.')
    .action((named: string, options: AmbitOptions) =>
      atAmbit(io, options, { path: ['runs', 'export'], operation: operations.runs.export }, async ({ ambit }) => {
        const report = verifyRunExport(await ambit.runs.export(named.replace(/^dr_/, 'run_')))
        options.json ? printJson(io, report) : printExportReport(io, report)
        if (!report.valid) found(io)
      }),
    )
}) satisfies Register

import type { Command } from 'commander'
import { Failure } from '../../base/failure.ts'
import { counted } from '../../base/words.ts'
import { type PurgeReport, type PurgeWish, purgeEvidence, reasonText } from '../../runtime/evidence/purge.ts'
import { asAdministrator, type CommonOptions, inTenant, withTenant } from '../session.ts'
import { instant } from '../terminal/duration.ts'
import { type Io, line, plain, printJson, progress } from '../terminal/io.ts'

interface PurgeOptions extends CommonOptions {
  readonly correlation?: string
  readonly before?: string
  readonly evenIndeterminate?: boolean
  readonly yes?: boolean
}

/** `ambit evidence purge`: shows what would go, and takes it away only when told so. */
export const addPurge = (evidence: Command, io: Io): Command =>
  withTenant(evidence.command('purge'))
    .description('remove whole correlations for good, with their results and requests; signed heads still hold')
    .option('--correlation <id>', 'this one')
    .option('--before <time>', 'all whose newest record is older: RFC 3339, or an age such as 90d', instant)
    .option('--even-indeterminate', 'also where nobody knows whether a call took effect')
    .option('--yes', 'do it; without this it only says what would go')
    .action((options: PurgeOptions) =>
      (options.yes ? asAdministrator : inTenant)(io, options, async (ambit, caller) => {
        const preview = options.yes !== true
        const report = await purgeEvidence(ambit, caller, wishOf(options), {
          preview,
          onProgress: ({ correlations }) => progress(io, `${correlations.toLocaleString('en-US')} correlations`),
        })
        progress(io)
        options.json ? printJson(io, { purged: !preview, ...report }) : tell(io, report, preview)
      }),
    )

function wishOf({ correlation, before, evenIndeterminate = false }: PurgeOptions): PurgeWish {
  if (correlation !== undefined && before === undefined) return { correlation, evenIndeterminate }
  if (before !== undefined && correlation === undefined) return { before, evenIndeterminate }
  throw new Failure('field.invalid', 'name either `--correlation` or `--before`', { pointer: '' })
}

const keptShownMax = 20

function tell(io: Io, { correlations, events, kept }: PurgeReport, preview: boolean): void {
  const what = `${counted(correlations, 'correlation')} with ${counted(events, 'record')}`
  line(io, preview ? `would purge ${what}; add --yes to do it, it cannot be undone` : `purged ${what}`)
  for (const { correlation, reason } of kept.slice(0, keptShownMax))
    line(io, `kept ${plain(correlation)}: ${reasonText(reason)}`)
  if (kept.length > keptShownMax) line(io, `kept ${kept.length - keptShownMax} more; --json lists them`)
}

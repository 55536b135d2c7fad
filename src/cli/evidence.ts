import { type Command, InvalidArgumentError, Option } from 'commander'
import { Failure, quote } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import { defined } from '../base/object.ts'
import { type EvidenceEvent, outcome, type SealedEvent } from '../model/evidence.ts'
import { exportBundle, searchEvidence, showEvent } from '../runtime/evidence.ts'
import { wholeList } from '../runtime/pages.ts'
import type { Register } from './command.ts'
import { writePrivate } from './files.ts'
import { instant } from './instant.ts'
import { type Io, line, paint, printJson } from './io.ts'
import { addPurge } from './purge.ts'
import { type CommonOptions, inTenant, withTenant } from './session.ts'
import { printTable } from './table.ts'
import { printTrace } from './trace.ts'

interface ListOptions extends CommonOptions {
  readonly subject?: string
  readonly capability?: string
  readonly correlation?: string
  readonly outcome?: string
  readonly type?: string
  readonly since?: string
  readonly until?: string
  readonly limit: number
  readonly cursor?: string
  readonly csv?: boolean
}

interface ExportOptions extends CommonOptions {
  readonly out?: string
  readonly force?: boolean
  readonly csv?: boolean
}

const register: Register = (evidence, io) => {
  withFilters(withTenant(evidence.command('list')))
    .description('search sealed records, newest first')
    .option('--limit <n>', `how many at most, up to ${limits.pageRowsMax}`, wholeNumber, 50)
    .option('--cursor <text>', 'go on where the last page ended')
    .option('--csv', 'print CSV')
    .action((options: ListOptions) =>
      inTenant(io, options, async (ambit, caller) => {
        const { limit, cursor } = options
        const page = await searchEvidence(ambit, caller, options, defined({ limit, cursor }))
        if (options.json) {
          const events = page.items.map((item) => JSON.parse(item.body))
          return printJson(io, { events, ...(page.next && { next: page.next }) })
        }
        if (options.csv) printCsv(io, page.items)
        else printTable(io, headings, page.items.map(cells))
        // Beside the table, not in it: a table that is piped on stays whole.
        if (page.next !== undefined) io.err(`${paint(io, 'dim', `more: --cursor ${page.next}`)}\n`)
      }),
    )

  withTenant(evidence.command('show <event-id>'))
    .description('one record, whole')
    .action((id: string, options: CommonOptions) =>
      inTenant(io, options, async (ambit, caller) => printJson(io, await showEvent(ambit, caller, id))),
    )

  withTenant(evidence.command('trace <correlation>'))
    .description('the calls of one task, for people: who, what, by which rule, with which facts, how it ended')
    .action((correlation: string, options: CommonOptions) =>
      inTenant(io, options, async (ambit, caller) => {
        const found = await wholeList((page) => searchEvidence(ambit, caller, { correlation }, page))
        const events = found.toReversed().map(({ body }) => JSON.parse(body) as EvidenceEvent)
        if (events.length === 0)
          throw new Failure('correlation.not_found', `correlation ${quote(correlation)} not found`, { id: correlation })
        options.json ? printJson(io, events) : printTrace(io, events)
      }),
    )

  withTenant(evidence.command('export <correlation>'))
    .description('everything of one correlation as a signed bundle that verifies offline')
    .option('--out <file>', 'write it to a file that only you can read, instead of standard output')
    .option('--force', 'replace a file that is there')
    .option('--csv', 'a CSV table of the records instead of the bundle (proves nothing)')
    .action((correlation: string, options: ExportOptions) =>
      inTenant(io, options, async (ambit, caller) => {
        const bundle = await exportBundle(ambit, caller, correlation)
        const text = options.csv ? csv(bundle.events.map(rowOf)) : `${JSON.stringify(bundle, null, 2)}\n`
        if (options.out === undefined) return io.out(text)
        writePrivate(io, options.out, text, { replace: options.force ?? false })
        if (options.json)
          return printJson(io, { file: options.out, events: bundle.events.length, root_hash: bundle.root_hash })
        const next = options.csv ? '' : `; check it anywhere: ambit verify ${options.out}`
        line(io, `wrote ${bundle.events.length} records to ${options.out}${next}`)
      }),
    )

  addPurge(evidence, io)
}
export default register

const withFilters = (command: Command): Command =>
  command
    .option('--subject <id>', 'who')
    .option('--capability <id>', 'which capability')
    .option('--correlation <id>', 'which task')
    .addOption(new Option('--outcome <word>', 'how it ended').choices(outcome.options))
    .option('--type <event-type>', 'which kind of record')
    .option('--since <time>', 'from this time on: RFC 3339, or an age such as 7d', instant)
    .option('--until <time>', 'before this time: RFC 3339, or an age such as 1h', instant)

function wholeNumber(text: string): number {
  if (/^[1-9][0-9]{0,3}$/.test(text) && Number(text) <= limits.pageRowsMax) return Number(text)
  throw new InvalidArgumentError(`write a whole number from 1 to ${limits.pageRowsMax}.`)
}

const headings = ['SEQ', 'TIME', 'WHO', 'WHAT', 'CAPABILITY', 'OUTCOME', 'CORRELATION', 'EVENT']

const cells = (event: SealedEvent): string[] => [
  String(event.sequence),
  event.timestamp,
  event.subjectId ?? '–',
  event.eventType,
  event.capabilityId,
  event.outcome ?? '–',
  event.correlationId,
  event.eventId,
]

type CsvRow = readonly (string | number | null | undefined)[]

const csvHeadings: CsvRow = [
  'sequence',
  'timestamp',
  'subject',
  'event_type',
  'capability_id',
  'outcome',
  'correlation_id',
  'invocation_id',
  'event_id',
  'content_hash',
]

const printCsv = (io: Io, items: readonly SealedEvent[]): void =>
  io.out(csv(items.map((item) => rowOf(JSON.parse(item.body)))))

interface Shown {
  readonly sequence: number
  readonly timestamp: string
  readonly subject: { readonly id: string } | null
  readonly event_type: string
  readonly capability_id: string
  readonly outcome: string | null
  readonly correlation: { readonly correlation_id: string }
  readonly invocation_id: string
  readonly event_id: string
  readonly content_hash: string | null
}

const rowOf = (event: Shown): CsvRow => [
  event.sequence,
  event.timestamp,
  event.subject?.id,
  event.event_type,
  event.capability_id,
  event.outcome,
  event.correlation.correlation_id,
  event.invocation_id,
  event.event_id,
  event.content_hash,
]

const csv = (rows: readonly CsvRow[]): string =>
  [csvHeadings, ...rows].map((row) => `${row.map(csvCell).join(',')}\r\n`).join('')

/** RFC 4180; text that a spreadsheet would run as a formula is made plain with a leading apostrophe. */
function csvCell(value: string | number | null | undefined): string {
  if (typeof value === 'number') return String(value)
  const text = /^[=+\-@\t\r]/.test(value ?? '') ? `'${value}` : (value ?? '')
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

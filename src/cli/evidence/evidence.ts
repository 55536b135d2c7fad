import { type Command, InvalidArgumentError, Option } from 'commander'
import { limits } from '../../base/limits.ts'
import { defined } from '../../base/object.ts'
import { counted } from '../../base/words.ts'
import { type EvidenceEvent, outcome, type SealedEvent } from '../../model/evidence.ts'
import { type EventFilter, exportBundle, searchEvidence, showEvent } from '../../runtime/evidence/export.ts'
import { type CommonOptions, inTenant, withTenant } from '../session.ts'
import { instant } from '../terminal/duration.ts'
import { writePrivate } from '../terminal/files.ts'
import { type Io, jsonText, line, paint, printJson, type Register } from '../terminal/io.ts'
import { fitting, printColumns } from '../terminal/table.ts'
import { addPurge } from './purge.ts'
import { printTrace } from './trace.ts'

interface ListOptions extends CommonOptions, EventFilter {
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
        const events = (): EvidenceEvent[] => page.items.map(({ body }) => JSON.parse(body))
        if (options.json) return printJson(io, { events: events(), ...(page.next && { next: page.next }) })
        if (options.csv) io.out(csv(events()))
        else printEvents(io, page.items)
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
    .addHelpText('after', '\nThe id of one of its calls finds the task too.')
    .action((id: string, options: CommonOptions) =>
      inTenant(io, options, async (ambit, caller) => {
        const { deniedIn, taskEvents } = await import('./task.ts')
        const events = await taskEvents(ambit, caller, id)
        options.json ? printJson(io, events) : printTrace(io, events, await deniedIn(ambit, caller, events))
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
        const text = options.csv ? csv(bundle.events) : `${jsonText(bundle, 2)}\n`
        if (options.out === undefined) return io.out(text)
        writePrivate(io, options.out, text, { replace: options.force ?? false })
        if (options.json)
          return printJson(io, { file: options.out, events: bundle.events.length, root_hash: bundle.root_hash })
        const next = options.csv ? '' : `; check it anywhere: ambit verify ${options.out}`
        line(io, `wrote ${counted(bundle.events.length, 'record')} to ${options.out}${next}`)
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

const columns: Readonly<Record<string, (event: SealedEvent) => string>> = {
  SEQ: (event) => String(event.sequence),
  TIME: (event) => event.timestamp,
  WHO: (event) => event.subjectId ?? '–',
  WHAT: (event) => event.eventType,
  CAPABILITY: (event) => event.capabilityId,
  OUTCOME: (event) => event.outcome ?? '–',
  CORRELATION: (event) => event.correlationId,
  EVENT: (event) => event.eventId,
}

/** As much of each event as fits; what it does not show is told beside it. */
function printEvents(io: Io, events: readonly SealedEvent[]): void {
  const { width = Number.POSITIVE_INFINITY } = io
  const shown = fitting(width, events, columns, ['CORRELATION', 'EVENT', 'CAPABILITY', 'SEQ'])
  printColumns(io, events, 'none', shown)
  const hidden = Object.keys(columns).filter((name) => !Object.hasOwn(shown, name))
  if (hidden.length > 0) io.err(`${paint(io, 'dim', `too narrow for ${hidden.join(', ')}: --json shows all`)}\n`)
}

type CsvCell = string | number | null | undefined

const csvColumns: Readonly<Record<string, (event: EvidenceEvent) => CsvCell>> = {
  sequence: (event) => event.sequence,
  timestamp: (event) => event.timestamp,
  subject: (event) => event.subject?.id,
  event_type: (event) => event.event_type,
  capability_id: (event) => event.capability_id,
  outcome: (event) => event.outcome,
  correlation_id: (event) => event.correlation.correlation_id,
  invocation_id: (event) => event.invocation_id,
  event_id: (event) => event.event_id,
  content_hash: (event) => event.content_hash,
}

function csv(events: readonly EvidenceEvent[]): string {
  const rows = events.map((event) => Object.values(csvColumns).map((cell) => cell(event)))
  return [Object.keys(csvColumns), ...rows].map((row) => `${row.map(csvCell).join(',')}\r\n`).join('')
}

/** RFC 4180; text that a spreadsheet would run as a formula is made plain with a leading apostrophe. */
function csvCell(value: CsvCell): string {
  if (typeof value === 'number') return String(value)
  const text = /^[=+\-@\t\r]/.test(value ?? '') ? `'${value}` : (value ?? '')
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

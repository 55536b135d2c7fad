import { Option } from 'commander'
import { Failure, quote } from '../../base/failure.ts'
import { counted } from '../../base/words.ts'
import { withhold } from '../../evidence/withhold.ts'
import type { RunExport } from '../../model/contract/run-export.ts'
import type { EvidenceBundle, EvidenceEvent } from '../../model/evidence.ts'
import { inScope } from '../../model/text.ts'
import { operations as table } from '../../operations/table.ts'
import { type AmbitOptions, atAmbit, withAmbit } from '../ambit.ts'
import { operationGroup } from '../operation-command.ts'
import { writePrivate } from '../terminal/files.ts'
import { type Io, jsonText, line, paint, plain, printJson, type Register, whileShown } from '../terminal/io.ts'
import { several } from '../terminal/options.ts'
import { fitting, printColumns } from '../terminal/table.ts'
import { deniedIn, printTrace, recordIn, taskEvents } from './trace.ts'

export default ((evidence, io) => {
  operations(evidence, io)
  withAmbit(evidence.command('trace <correlation>'), { tenant: true })
    .description('the calls of one task, for people: who, what, by which rule, with which facts, how it ended')
    .addHelpText('after', '\nThe id of one of its calls finds the task too.')
    .action((id: string, options: AmbitOptions) =>
      atAmbit(io, options, { path: ['evidence', 'list'], operation: table.evidence.list }, async ({ ambit }) => {
        const events = await taskEvents(ambit, id)
        options.json ? printJson(io, events) : printTrace(io, events, await deniedIn(ambit, events))
      }),
    )
}) satisfies Register

const operations = operationGroup('evidence', {
  list: {
    summary: 'search sealed records, newest first',
    paged: true,
    input: {
      subject: ['--subject <id>', 'who'],
      capability: ['--capability <id>', 'which capability'],
      correlation: ['--correlation <id>', 'which task'],
      outcome: ['--outcome <word>', 'how it ended'],
      type: ['--type <event-type>', 'which kind of record'],
    },
    own: (command) => void command.option('--csv', 'print CSV'),
    print: (io, { events }, { options }) => (options['csv'] ? io.out(csv(events)) : printEvents(io, events)),
  },
  show: { summary: 'one record, whole', input: { id: ['event-id'] } },
  export: {
    own: (command) =>
      void command
        .option('--out <file>', 'write it to a file that only you can read, instead of standard output')
        .option('--force', 'replace a file that is there')
        .option(
          '--withhold <what>',
          'leave out the payloads of some records; the rest still verifies. An event id, a kind of record or a capability, with a final `*` all that begin so; may be given several times',
          several,
        )
        .option('--csv', 'a CSV table of the records instead of the bundle (proves nothing)')
        .addOption(
          new Option(
            '--records',
            'with what the run has decided: every version of its record, and its approvals',
          ).conflicts(['csv', 'withhold']),
        ),
    perform: async (run, { input, options, ambit }) =>
      options['records'] === true
        ? ((await ambit.runs.export(input.correlation)) as never)
        : withholding(await run(input), (options['withhold'] ?? []) as readonly string[]),
    ownJson: true,
    print: (io, exported: EvidenceBundle | RunExport, { options }) => {
      const bundle = 'bundles' in exported ? exported.bundles[0] : exported
      const { events = [], root_hash } = bundle ?? {}
      const text = options['csv'] ? csv(events) : `${jsonText(exported, 2)}\n`
      const file = options['out']
      if (typeof file !== 'string') return io.out(text)
      writePrivate(io, file, text, { replace: options['force'] === true })
      if (options.json) return printJson(io, { file, events: events.length, root_hash })
      const next = options['csv'] ? '' : `; check it anywhere: ambit verify ${file}`
      const decided =
        'records' in exported ? `, with ${counted(exported.records.length, 'version')} of its decision,` : ''
      line(io, `wrote ${counted(events.length, 'record')}${decided} to ${file}${next}`)
    },
  },
  heads: {
    paged: true,
    help: 'One line of the --json form is what `ambit verify --head` takes.',
    print: (io, { heads }) =>
      printColumns(io, heads, 'none yet: the first is signed after 60 seconds, or at the first export', {
        RECORDS: ({ log_size }) => String(log_size),
        SIGNED: ({ at }) => at,
        HOST: ({ host_id }) => host_id,
        KEY: ({ signature }) => signature.key_id,
        'ROOT OF THE LOG': ({ log_root }) => log_root,
      }),
  },
  purge: {
    summary: 'remove whole correlations for good, with their results and requests; signed heads still hold',
    input: {
      correlation: ['--correlation <id>', 'this one'],
      before: ['--before <time>', 'all whose newest record is older: RFC 3339, or an age such as 90d'],
      indeterminate: ['--even-indeterminate', 'also where it is unknown whether a call took effect'],
      preview: false,
    },
    own: (command) => void command.addOption(new Option('--yes', 'do it; without this it only says what would go')),
    administers: ({ yes }) => yes === true,
    complete: (_, { options }) => ({ preview: options['yes'] !== true }),
    perform: (purge, { input }, io) => whileShown(io, 'looking through the records', purge(input)),
    print: async (io, { purged, correlations, events, kept }) => {
      const what = `${counted(correlations, 'correlation')} with ${counted(events, 'record')}`
      line(io, purged ? `purged ${what}` : `would purge ${what}; add --yes to do it, it cannot be undone`)
      if (kept.length === 0) return
      const { reasonText } = await import('../../runtime/evidence/purge.ts')
      for (const { correlation, reason } of kept.slice(0, keptShownMax))
        line(io, `kept ${plain(correlation)}: ${plain(reasonText(reason))}`)
      if (kept.length > keptShownMax) line(io, `kept ${kept.length - keptShownMax} more; --json lists them`)
    },
  },
})

const keptShownMax = 20

/** The bundle without the payloads of the named events. A name that fits none is an error: it would show what it should hide. */
function withholding(bundle: EvidenceBundle, names: readonly string[]): EvidenceBundle {
  const hides = (name: string) => (event: EvidenceEvent) =>
    [event.event_id, event.event_type, event.capability_id].some((text) => inScope(name, text))
  const unknown = names.find((name) => !bundle.events.some(hides(name)))
  if (unknown !== undefined) {
    const help = 'name an event id, a kind of record or a capability of this correlation'
    throw new Failure('field.invalid', `--withhold ${quote(unknown)} fits no record`, {}, help)
  }
  return names.length === 0 ? bundle : withhold(bundle, (event) => names.some((name) => hides(name)(event)))
}

const columns: Readonly<Record<string, (event: EvidenceEvent) => string>> = {
  SEQ: (event) => String(event.sequence),
  TIME: (event) => event.timestamp,
  WHO: (event) => event.subject?.id ?? '–',
  WHAT: (event) => event.event_type,
  CAPABILITY: (event) => event.capability_id,
  OUTCOME: (event) => event.outcome ?? '–',
  CORRELATION: (event) => event.correlation.correlation_id,
  EVENT: (event) => event.event_id,
}

/** As much of each event as fits; what it does not show is told beside it. */
function printEvents(io: Io, events: readonly EvidenceEvent[]): void {
  const { width = Number.POSITIVE_INFINITY } = io
  const shown = fitting(width, events, columns, ['CORRELATION', 'EVENT', 'CAPABILITY', 'SEQ'])
  printColumns(io, events, 'none', shown)
  const hidden = Object.keys(columns).filter((name) => !Object.hasOwn(shown, name))
  if (hidden.length > 0) io.err(`${paint(io, 'dim', `too narrow for ${hidden.join(', ')}: --json shows all`)}\n`)
}

type Cell = string | number | null | undefined

const csvColumns: Readonly<Record<string, (event: EvidenceEvent) => Cell>> = {
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
  rule: (event) => recordIn(event)?.basis?.at(-1)?.rule,
  denial_code: (event) => event.denial?.code,
  approver: (event) =>
    recordIn(event)
      ?.approval?.approvers.map(({ name }) => name)
      .join(' '),
}

/** A table of events for spreadsheets. */
function csv(events: readonly EvidenceEvent[]): string {
  const rows = events.map((event) => Object.values(csvColumns).map((cell) => cell(event)))
  return [Object.keys(csvColumns), ...rows].map((row) => `${row.map(csvCell).join(',')}\r\n`).join('')
}

/** RFC 4180; text that a spreadsheet would run as a formula is made plain with a leading apostrophe. */
function csvCell(value: Cell): string {
  if (typeof value === 'number') return String(value)
  const text = /^[=+\-@\t\r]/.test(value ?? '') ? `'${value}` : (value ?? '')
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

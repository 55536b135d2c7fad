import { counted } from '../../base/words.ts'
import type { RunExportReport } from '../../evidence/verify/run-export.ts'
import type { BundleReport } from '../../evidence/verify/verify.ts'
import { type Io, line, paint, plain } from '../terminal/io.ts'

const marks = { pass: ['green', '✓'], fail: ['red', '✗'], absent: ['dim', '·'] } as const

/** What a bundle proves, check by check, or the first thing that is wrong and where. */
export function printReport(io: Io, report: BundleReport): void {
  const task = `\`${plain(report.correlation_id ?? '')}\`, host \`${plain(report.host_id ?? '')}\``
  if (report.valid) line(io, `${paint(io, ['bold', 'green'], 'GOOD')}  ${counted(report.events, 'record')} of ${task}`)
  else {
    const { check, at, message } = report.first ?? { check: '', at: '', message: '' }
    const what = check === 'shape' ? 'this is not a bundle: ' : ''
    const place = paint(io, 'dim', `(${check}, at ${plain(at || 'the top')})`)
    line(io, `${paint(io, ['bold', 'red'], 'NOT GOOD')}  ${what}${plain(message)} ${place}`)
    // Nothing else was looked at.
    if (check === 'shape') return
  }
  printChecks(io, report.checks)
  line(io, `  ${report.valid ? coverage[report.covered] : 'It is not proven: read the story with care.'}`)
  if (report.valid) line(io, `  ${trust(report)}`)
  if (report.story.length > 0) printStory(io, report)
}

/** What the export of a run proves, and then what each of its bundles does. */
export function printExportReport(io: Io, report: RunExportReport): void {
  const { valid, first, run_id, status, records, approvals, bundles } = report
  const what = `${counted(records, 'version')} of the decision of \`${plain(run_id ?? '')}\`, now ${plain(status ?? '')}`
  if (valid) line(io, `${paint(io, ['bold', 'green'], 'GOOD')}  ${what}, with ${counted(approvals, 'approval')}`)
  else {
    const place = paint(io, 'dim', `(${first?.check}, at ${plain(first?.at || 'the top')})`)
    line(io, `${paint(io, ['bold', 'red'], 'NOT GOOD')}  ${plain(first?.message ?? '')} ${place}`)
  }
  printChecks(io, report.checks)
  for (const bundle of bundles) printReport(io, bundle)
}

function printChecks(io: Io, checks: BundleReport['checks'] | RunExportReport['checks']): void {
  line(io)
  for (const { name, verdict, message, at } of checks) {
    const [style, mark] = marks[verdict]
    const text = paint(io, verdict === 'pass' ? 'reset' : style, plain(message))
    const place = verdict === 'fail' && at ? paint(io, 'dim', `  ${plain(at)}`) : ''
    line(io, `  ${paint(io, style, mark)} ${name.padEnd(13)} ${text}${place}`)
  }
  line(io)
}

const coverage = {
  yes: 'Who did what, and in which order, is covered by the hashes.',
  no: 'Who did what, and in which order, is NOT covered: read the story with care.',
  withheld: 'Some payloads are withheld: who did what there is not covered.',
} as const

function trust({ checks, key_id, host_id }: BundleReport): string {
  if (key_id === null) return 'Not signed: it fits together, and that is all it proves.'
  const pinned = checks.some(({ name, verdict }) => name === 'pin' && verdict === 'pass')
  return pinned
    ? `Signed by host \`${plain(host_id ?? '')}\` with key ${key_id}, a key you trust.`
    : `Signed with ${key_id}. Give the key you expect with --pin to know that it is theirs.`
}

function printStory(io: Io, { story, first_broken_sequence, covered }: BundleReport): void {
  line(io)
  for (const step of story) {
    const number = paint(io, 'dim', String(step.sequence ?? '–').padStart(4))
    const mark = step.sequence !== null && step.sequence === first_broken_sequence ? paint(io, 'red', '  ← here') : ''
    const open = covered !== 'no' && !step.covered ? paint(io, 'dim', '  (not covered)') : ''
    line(io, `  ${number}  ${plain(told(step))}${open}${mark}`)
  }
}

function told(step: BundleReport['story'][number]): string {
  const subject = step.subject ?? (step.covered ? 'no subject' : '–')
  const who = step.actor === null || step.actor === step.subject ? subject : `${subject} through ${step.actor}`
  const how = [step.outcome, step.reason].filter((word) => word !== null).join(': ')
  return `${step.timestamp}  ${step.event_type.padEnd(24)} ${who}  ${step.capability_id}${how === '' ? '' : `  ${how}`}`
}

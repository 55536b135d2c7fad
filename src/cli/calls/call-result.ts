import type { Denial } from '../../model/wire/denial.ts'
import type { InvocationResult } from '../../model/wire/result.ts'
import { approvalIdOf } from '../../runtime/hosting/tools.ts'
import { type Io, line, paint, plain } from '../terminal/io.ts'
import { type Field, printFields } from '../terminal/table.ts'

/** What came of a call: its result or why there is none, the rule, what to do next, and where the proof is. */
export function printResult(io: Io, hostId: string, result: InvocationResult, advice: readonly string[] = []): void {
  const { outcome, capability_id, capability_version, denial, error, data, replayed } = result
  const [style, word] = words[outcome]
  const again = replayed ? ' (as recorded: nothing ran again)' : ''
  line(
    io,
    `${paint(io, ['bold', style], word)}  ${plain([capability_id, capability_version ?? []].flat().join(' '))} on \`${plain(hostId)}\`${again}`,
  )
  const shown = data == null ? [] : JSON.stringify(data, null, 2).split('\n')
  for (const each of shown) line(io, `  ${plain(each)}`)
  printFields(io, [
    ...(denial ? denialFields(denial) : []),
    ['error', error ? plain(`${error.type}: ${error.message}`) : ''],
    ['effect', error?.effect === 'unknown' ? 'nobody knows whether it happened' : (error?.effect ?? '')],
    ['call', plain(result.invocation_id)],
    ['task', plain(result.correlation.correlation_id)],
    ['evidence', plain(result.evidence_ids.join(' ')) || 'none new'],
    ['next', ...[...nextSteps(result), ...advice].map(plain)],
  ])
}

const words = {
  success: ['green', 'DONE'],
  failure: ['red', 'FAILED'],
  denied: ['red', 'DENIED'],
  skipped: ['yellow', 'SKIPPED'],
  indeterminate: ['yellow', 'UNKNOWN'],
} as const

export function denialFields({ code, message, details = {}, invariant_id }: Denial): Field[] {
  const text = (name: string): string => (details[name] == null ? '' : plain(textOf(details[name])))
  const rule = text('matched_rule')
  const version = text('policy_version')
  return [
    ['why', plain(`${message} (${code})`)],
    ['rule', rule === '' ? '' : version === '' ? rule : `${rule}, version ${version}`],
    ['invariant', plain(invariant_id ?? '')],
    ['reason', text('reason')],
    ['missing', text('missing')],
    // Where a payload is wrong is said by the message.
    ['at', details['effect'] === 'done' ? [text('path'), text('keyword')].filter((word) => word !== '').join(' ') : ''],
    ['approval', text('approval_id')],
  ]
}

const textOf = (value: unknown): string => {
  if (typeof value === 'string') return value
  return Array.isArray(value) ? value.map(textOf).join(', ') : JSON.stringify(value)
}

/** What the caller can do: what the denial says, and the commands for it. */
function nextSteps(result: InvocationResult): string[] {
  const { denial, invocation_id, outcome, correlation } = result
  const said = denial?.details?.['required_next_action']
  const approval = approvalIdOf(result)
  if (approval !== undefined)
    return [
      textOf(said ?? ''),
      `ambit approvals show ${approval}`,
      `then the same call again, with --id ${invocation_id}`,
    ]
  if (typeof said === 'string') return [said]
  if (outcome === 'indeterminate')
    return [`look at what it changed; then \`ambit evidence export ${correlation.correlation_id}\``]
  return []
}

import { quote } from '../../base/failure.ts'
import { nearest } from '../../base/nearest.ts'
import type { Denial } from '../../model/wire/denial.ts'
import type { InvocationResult } from '../../model/wire/result.ts'
import type { Operable } from '../../operations/ambit.ts'
import { approvalIdOf, toolsOf } from '../../runtime/hosting/tools.ts'
import { type Io, line, paint, plain } from '../terminal/io.ts'
import { type Field, printFields } from '../terminal/table.ts'

/** What came of a call: its result or why there is none, the rule, what to do next, and where the proof is. */
export function printResult(io: Io, hostId: string, result: InvocationResult, advice: readonly string[] = []): void {
  const { outcome, capability_id, capability_version, denial, error, data, replayed } = result
  const [style, word] = words[outcome]
  const called = plain([capability_id, capability_version ?? []].flat().join(' '))
  const again = replayed ? ' (as recorded: nothing ran again)' : ''
  line(io, `${paint(io, ['bold', style], word)}  ${called} on \`${plain(hostId)}\`${again}`)
  const shown = data == null ? [] : JSON.stringify(data, null, 2).split('\n')
  for (const each of shown) line(io, `  ${plain(each)}`)
  printFields(io, [
    ...(denial ? denialFields(denial) : []),
    ['error', error ? `${error.type}: ${error.message}` : ''],
    ['effect', effectText(error?.effect)],
    ['call', result.invocation_id],
    ['task', result.correlation.correlation_id],
    ['evidence', result.evidence_ids.join(' ') || 'none new'],
    ['next', ...nextSteps(result), ...advice],
  ])
}

/** Whether a call that failed took effect. */
export const effectText = (effect: string | null | undefined): string =>
  effect === 'unknown' ? 'it is unknown whether it happened' : (effect ?? '')

const words = {
  success: ['green', 'DONE'],
  failure: ['red', 'FAILED'],
  denied: ['red', 'DENIED'],
  skipped: ['yellow', 'SKIPPED'],
  indeterminate: ['yellow', 'UNKNOWN'],
} as const

export function denialFields({ code, message, details = {}, invariant_id }: Denial): Field[] {
  const text = (name: string): string => (details[name] == null ? '' : textOf(details[name]))
  const rule = text('matched_rule')
  const version = text('policy_version')
  return [
    ['why', `${message} (${code})`],
    ['rule', rule === '' ? '' : version === '' ? rule : `${rule}, version ${version}`],
    ['invariant', invariant_id ?? ''],
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
  const again = `then the same call again, with --id ${invocation_id}`
  if (approval !== undefined) return [textOf(said ?? ''), `ambit approvals show ${approval}`, again]
  if (typeof said === 'string') return [said]
  if (outcome === 'indeterminate')
    return [`look at what it changed; then \`ambit evidence export ${correlation.correlation_id}\``]
  return []
}

/** Which capability the caller may have meant: the one that MCP clients know by this name, or the one most like it. */
export async function likeOf(ambit: Operable, asked: string): Promise<string> {
  const { capabilities } = await ambit.capabilities.list()
  const ids = capabilities.map(({ id }) => id)
  const meant = toolsOf(capabilities).find(({ name }) => name === asked)?.capabilityId ?? nearest(asked, ids)
  return `${meant === undefined ? '' : `did you mean ${quote(meant)}? `}see \`ambit capabilities list\``
}

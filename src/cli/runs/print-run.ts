import { canonical, type Json } from '../../base/canonical.ts'
import { counted } from '../../base/words.ts'
import type { MemoryProposal } from '../../model/contract/decision.ts'
import type { RunExplanation } from '../../model/requests.ts'
import { isEnded, type RunEvent, type RunRecord } from '../../model/run.ts'
import { type Io, line, paint, plain } from '../terminal/io.ts'
import { printFields } from '../terminal/table.ts'

/** One event as a line: what happened, further in for a run that lies deeper. */
export function printEvent(io: Io, { event_id, type, at, data, run_id, root_run_id }: RunEvent): void {
  const inner = run_id === root_run_id ? '' : '  '
  const head = `${String(event_id).padStart(4)}  ${at.slice(11, 19)}  ${inner}${type.padEnd(18)}`
  line(io, `${paint(io, 'dim', head)} ${plain(about(type, data).replace(/\s+/g, ' ')).slice(0, 160)}`)
}

type Data = RunEvent['data']

function about(type: RunEvent['type'], data: Data): string {
  const { tool, status, error, code, agent, approval_id, text, calls, warnings, verdict } = data as Said
  if (type === 'run.started') return `${agent}: ${asText(data['input'])}`
  if (type === 'compile.done') return counted((warnings ?? []).length, 'warning')
  if (type === 'plan.proposed') return asText(text) || planText(data) || counted((calls ?? []).length, 'call')
  if (verdict !== undefined) return [verdict, ...((data['reasons'] ?? []) as string[])].join(': ')
  if (type === 'tool.started') return `${tool} ${asText(data['args'])}`
  if (type === 'tool.finished') return `${tool} ${status} ${codeIn(error) || asText(data['output'])}`
  if (type === 'run.finished') return `${status} ${codeIn(error) || asText(data['result'])}`
  if (type === 'memory.proposed') return proposalText(data as unknown as MemoryProposal)
  if (type === 'run.paused') return 'until people decide'
  if (type === 'approval.resolved') return `${tool}: ${approval_id} is decided`
  return approval_id === undefined ? asText(code) : `${tool} waits for ${approval_id}`
}

type Said = { readonly [name: string]: string }

/** The steps of a plan, in their order. */
const planText = ({ plan }: Data): string =>
  ((plan ?? { steps: [] }) as { steps: readonly { tool: string }[] }).steps.map(({ tool }) => tool).join(', ')

/** What memory would keep: of which thing, and what. */
export const proposalText = ({ class: kind, candidate: { entity_ceid, predicate, value } }: MemoryProposal): string =>
  `${kind} of ${entity_ceid}: ${predicate} = ${asText(value)}`

const codeIn = (error: unknown): string => (error as { code?: string } | null)?.code ?? ''
const asText = (value: unknown): string =>
  typeof value === 'string' ? value : value == null ? '' : canonical(value as Json)

/** A run for people: how it ended, what it might touch, and what is missing of its tools, with the reason. */
export function printRun(io: Io, run: RunRecord): void {
  const { status, agent_id, agent_version, result, error, usage, surface, waits_for } = run
  line(io, `${paint(io, colorOf(status), status.toUpperCase())}  ${agent_id}@${agent_version}  ${run.run_id}`)
  printFields(io, [
    ['result', ...asText(result).split('\n')],
    ['error', ...(error === null ? [] : [`${error.code}: ${error.message}`])],
    ['waits for', ...waits_for.map((id) => `${id}: ambit approvals show ${id}`)],
    ['then', isEnded(status) ? '' : `it goes on at a host that serves; here: ambit runs resume ${run.root_run_id}`],
    ['below', run.parent_run_id ?? ''],
    ['session', run.session_id ?? ''],
    ['grants', ...run.grants.map(({ path, expires_at }) => path + (expires_at === null ? '' : ` until ${expires_at}`))],
    ['tools', surface.tools.join(', ')],
    ['hidden', ...hiddenIn(surface)],
    ['warnings', ...run.warnings.map(({ code, message }) => `${code}: ${message}`)],
    ['used', `${counted(usage.tool_calls, 'call')}, ${counted(usage.model_turns, 'turn')}, ${costOf(usage)}`],
    ['started', run.started_at],
    ['ended', run.ended_at ?? ''],
    ['proof', `ambit evidence export ${run.root_run_id}`],
  ])
}

/** Why tools are missing, each reason once. */
export const hiddenIn = ({ hidden }: RunRecord['surface']): readonly string[] =>
  [...Map.groupBy(hidden, ({ reason }) => reason)].map(
    ([reason, tools]) => `${reason}: ${tools.map(({ tool }) => tool).join(', ')}`,
  )

const colorOf = (status: RunRecord['status']): 'green' | 'yellow' | 'red' =>
  status === 'completed' ? 'green' : isEnded(status) ? 'red' : 'yellow'

const costOf = ({ cost_cents, input_tokens, output_tokens }: RunRecord['usage']): string =>
  `${input_tokens + output_tokens} tokens, ${cost_cents === null ? 'cost unknown' : `${cost_cents} cents`}`

/** Why its model was not shown a tool, a text was left out, a call came to nothing. */
export function printRunExplanation(io: Io, explained: RunExplanation): void {
  const { run_id, agent, status, error, hidden, dropped, refused } = explained
  line(
    io,
    `${paint(io, 'bold', plain(agent))}  ${run_id}  ${status}${error === null ? '' : `: ${plain(error.message)}`}`,
  )
  printFields(io, [
    ['hidden', ...hidden.map(({ tool, reason }) => `${tool}: ${reason}`)],
    ['left out', ...dropped.map(({ code, message }) => `${code}: ${message}`)],
    [
      'refused',
      ...refused.map(
        ({ tool, code, message, rule }) => `${tool}: ${code}, ${message}${rule === null ? '' : ` (${rule})`}`,
      ),
    ],
    ['calls', ...refused.map(({ call_id }) => `ambit explain ${call_id}`)],
  ])
}

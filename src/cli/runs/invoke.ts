import type { MemoryProposal } from '../../model/contract/decision.ts'
import type { InvokeAnswer } from '../../model/requests.ts'
import type { RunEvent } from '../../model/run.ts'
import type { Operable } from '../../operations/ambit.ts'
import { singleOperation } from '../operation-command.ts'
import { type Asked, readRequest } from '../packs/read.ts'
import { found, type Io, jsonText, line, printJson, progress } from '../terminal/io.ts'
import { followToEnd } from './follow.ts'
import { printAnswer } from './print-decision.ts'
import { printEvent } from './print-run.ts'

export const streamHelp = 'ask in mode `stream` in place of `batch`, and print its steps as they happen'

export default singleOperation('invokeAgent', {
  summary: 'plan, act, judge and record one request of an agent, and wait for its decision',
  input: {
    request: false,
    run_context: false,
    profile: ['--profile <name>', '`page` takes the printed examples of the contract, and surfaces reads alone'],
  },
  own: (command) =>
    void command
      .requiredOption(
        '--request <file>',
        'the request; or a file with `request` and `run_context`; - for standard input',
      )
      .option('--stream', streamHelp),
  follows: true,
  unchecked: true,
  help: 'Exit 0: it is decided. 1: it came to something else, was refused, or waits for people. 2: usage or environment.\nThe same request again starts no second run: it shows how the first one stands.',
  complete: async (io, { options }) => streamed(await readRequest(io, String(options['request'])), options),
  perform: async (invoke, { input, options, ambit }, io) => followed(io, await invoke(input), { options, ambit }),
  ownJson: true,
  print: () => undefined,
})

interface Following {
  readonly options: Readonly<Record<string, unknown>>
  readonly ambit: Operable
}

/** A request as `--stream` makes it: one that would be answered at its end is asked as a stream. */
export function streamed(asked: Asked, { stream }: Following['options']): Asked {
  const isBatch = stream === true && asked.request?.mode === 'batch'
  return isBatch ? { ...asked, request: { ...asked.request, mode: 'stream' } } : asked
}

/** Follows the run of a request to its decision, or to where it waits for people, and prints what it came to. */
export async function followed(io: Io, started: InvokeAnswer, { options, ambit }: Following): Promise<InvokeAnswer> {
  const steps = new Map<unknown, RunEvent>()
  const memory_proposals: MemoryProposal[] = []
  const show = (event: RunEvent): void => {
    if (isStep(event)) steps.set(event.data['call_id'], event)
    if (event.type === 'memory.proposed') memory_proposals.push(event.data as unknown as MemoryProposal)
    if (options['stream'] !== true) progress(io, `${started.run_id}: ${event.type}`)
    else if (options['json']) line(io, jsonText(event))
    else printEvent(io, event)
  }
  const { status, waits_for } = await followToEnd(io, ambit.runs, started.run_id, show)
  const decision_record = await ambit.decisions.show(started.run_id)
  if (decision_record.status !== 'DECIDED') found(io)
  const answer = { ...started, status, waits_for, decision_record, memory_proposals }
  if (!options['json']) printAnswer(io, { answer, steps: [...steps.values()] })
  else if (options['stream'] === true) line(io, jsonText(answer))
  else printJson(io, answer)
  return answer
}

/** How a call ended, or whom it waits for. */
const isStep = ({ type, data }: RunEvent): boolean =>
  (type === 'tool.finished' && data['status'] !== 'paused') || type === 'approval.requested'

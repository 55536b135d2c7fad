import { canonical } from '../base/canonical.ts'
import { disarm } from '../fence/disarm.ts'
import { fence } from '../fence/fence.ts'
import type { RunEvent } from '../model/run.ts'
import type { ToolAnswer } from './answer.ts'
import { asText } from './template.ts'
import type { Message, ToolCall, Turn } from './turn.ts'

/** How far a run is, from its own events: all that is needed to go on with it. */
export interface Transcript {
  /** What follows the messages of the first prompt. Tools answer in the order they were called. */
  readonly messages: readonly Message[]
  /** The calls of the last turn that have no answer yet. */
  readonly unanswered: readonly ToolCall[]
  /** What the model said last, if it called nothing: the run has come to its end. */
  readonly answer: string | undefined
  readonly turns: number
}

/**
 * Folds the events of one run, in their order. What a tool answers stands in the fence; a child agent (`isPeer`) is no
 * more believed than a tool. Of two answers to one call the first counts. `made` keeps what was made of earlier events of the
 * run: to fence all of it again for each turn would take ever longer.
 */
export function readTranscript(
  events: readonly Pick<RunEvent, 'type' | 'data'>[],
  {
    seed,
    isPeer,
    made = new Map(),
  }: {
    readonly seed: Uint8Array
    readonly isPeer: (tool: string) => boolean
    readonly made?: Map<string, Message>
  },
): Transcript {
  const messages: Message[] = []
  const add = (key: string, make: () => Message): void => {
    const message = made.get(key) ?? make()
    made.set(key, message)
    messages.push(message)
  }
  const turns = turnsIn(events)
  let unanswered: readonly ToolCall[] = []
  for (const [turn, { text, calls, answers }] of turns.entries()) {
    add(`${turn}`, () => ({ role: 'assistant', content: disarm(text).text, calls }))
    unanswered = calls.filter(({ id }) => !answers.has(id))
    for (const { id, name } of calls) {
      const answered = answers.get(id)
      if (answered === undefined) continue
      const origin = isPeer(name) ? 'peer' : 'tool'
      add(`${turn}/${id}`, () => {
        const fenced = fence({ element: 'ambit_data', origin, name, text: textOf(answered), seed })
        return { role: 'tool', callId: id, name, content: fenced.text }
      })
    }
  }
  const last = turns.at(-1)
  return { messages, unanswered, answer: last?.calls.length === 0 ? last.text : undefined, turns: turns.length }
}

interface PastTurn extends Pick<Turn, 'text' | 'calls'> {
  /** What was answered, by the id of the call. */
  readonly answers: Map<string, Partial<ToolAnswer>>
}

const textOf = ({ output, error }: Partial<ToolAnswer>): string =>
  error ? canonical({ code: error.code, message: error.message }) : asText(output ?? null)

function turnsIn(events: readonly Pick<RunEvent, 'type' | 'data'>[]): readonly PastTurn[] {
  const turns: PastTurn[] = []
  for (const { type, data } of events) {
    if (type === 'plan.proposed') turns.push({ ...(data as unknown as Turn), answers: new Map() })
    if (type !== 'tool.finished') continue
    const answer = data as unknown as Partial<ToolAnswer>
    const id = String(data['call_id'])
    const answers = turns.at(-1)?.answers
    if (answer.status !== 'paused' && answers?.has(id) === false) answers.set(id, answer)
  }
  return turns
}

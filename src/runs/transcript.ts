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
 * more believed than a tool. Of two answers to one call the first counts.
 */
export function readTranscript(
  events: readonly Pick<RunEvent, 'type' | 'data'>[],
  { seed, isPeer }: { readonly seed: Uint8Array; readonly isPeer: (tool: string) => boolean },
): Transcript {
  const messages: Message[] = []
  const turns = turnsIn(events)
  let unanswered: readonly ToolCall[] = []
  for (const { text, calls, answers } of turns) {
    messages.push({ role: 'assistant', content: disarm(text).text, calls })
    unanswered = calls.filter(({ id }) => !answers.has(id))
    for (const { id, name } of calls) {
      const content = answers.get(id)
      if (content === undefined) continue
      const origin = isPeer(name) ? 'peer' : 'tool'
      const fenced = fence({ element: 'ambit_data', origin, name, text: content, seed })
      messages.push({ role: 'tool', callId: id, name, content: fenced.text })
    }
  }
  const last = turns.at(-1)
  return { messages, unanswered, answer: last?.calls.length === 0 ? last.text : undefined, turns: turns.length }
}

interface PastTurn extends Pick<Turn, 'text' | 'calls'> {
  /** What was answered, by the id of the call. */
  readonly answers: Map<string, string>
}

function turnsIn(events: readonly Pick<RunEvent, 'type' | 'data'>[]): readonly PastTurn[] {
  const turns: PastTurn[] = []
  for (const { type, data } of events) {
    if (type === 'plan.proposed') turns.push({ ...(data as unknown as Turn), answers: new Map() })
    if (type !== 'tool.finished') continue
    const { status, output, error } = data as unknown as Partial<ToolAnswer>
    const id = String(data['call_id'])
    const answers = turns.at(-1)?.answers
    if (status !== 'paused' && answers?.has(id) === false)
      answers.set(id, error ? canonical({ code: error.code, message: error.message }) : asText(output ?? null))
  }
  return turns
}

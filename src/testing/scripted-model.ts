import { Failure } from '../base/failure.ts'
import type { Model, ToolCall, Turn, TurnRequest } from '../runs/turn.ts'

type ScriptedCall = Pick<ToolCall, 'name'> & Partial<Pick<ToolCall, 'args'>>

/** A text, a text with calls, or an error to throw. */
export type ScriptedTurn =
  | string
  | Error
  | (Partial<Omit<Turn, 'calls'>> & { readonly calls?: readonly ScriptedCall[] })

/** Turns in their order, or a function from a request to its turn. */
export type Script = readonly ScriptedTurn[] | ((request: TurnRequest) => ScriptedTurn | Promise<ScriptedTurn>)

export interface ScriptedModel extends Model {
  /** What it was asked, in order. */
  readonly requests: readonly TurnRequest[]
}

/**
 * A model that says what it is told to. Its calls are `call_1`, `call_2` and so on, counted from those of the conversation:
 * the same conversation gets the same ids in any process.
 */
export function scriptedModel(script: Script, { id = 'scripted' } = {}): ScriptedModel {
  const requests: TurnRequest[] = []
  const turn = async (request: TurnRequest): Promise<Turn> => {
    const index = requests.push({ ...request, messages: [...request.messages] }) - 1
    const said = typeof script === 'function' ? await script(request) : script[index]
    if (said === undefined) throw new Failure('model.failed', `the script has no turn ${index + 1}: it has run out`)
    if (said instanceof Error) throw said
    const { text = '', calls = [], usage = {} } = typeof said === 'string' ? { text: said } : said
    const named = calls.map(({ name, args = {} }, at) => ({ id: `call_${lastCall(request) + at + 1}`, name, args }))
    return { text, calls: named, usage }
  }
  return { id, requests, turn }
}

const lastCall = ({ messages }: TurnRequest): number =>
  messages
    .flatMap((message) => (message.role === 'assistant' ? message.calls : []))
    .reduce((last, { id }) => Math.max(last, Number(/^call_(\d{1,9})$/.exec(id)?.[1] ?? 0)), 0)

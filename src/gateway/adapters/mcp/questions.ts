import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import { isObject } from '../../../base/object.ts'

/**
 * Calls that are put to a server beside the library, and their answers. The library looks at each message as often as
 * it has layers, which takes longer than all that we do about a call.
 */
export interface Questions {
  /** The result as it came, whatever it is. Fails as the library does: with a code of its own, or with the server's. */
  ask(params: Params, signal: AbortSignal): Promise<unknown>
  /** True for an answer to what was asked here; everything else is for the library. */
  take(message: JSONRPCMessage): boolean
  /** No answer will come any more. */
  close(): void
}

type Params = Readonly<Record<string, unknown>>
interface Answer {
  readonly result?: unknown
  readonly error?: unknown
}
type Send = (message: JSONRPCMessage) => Promise<void>

/** The library counts its own requests from 0. */
const firstId = 1_000_000_000

/** `envelope` goes with all that is sent. */
export function openQuestions(send: Send, envelope: Params): Questions {
  const waiting = new Map<number, (answer: Answer) => void>()
  let lastId = firstId
  const sendWith = (params: Params, rest: object) => {
    const whole = { ...params, _meta: { ...envelope, ...(params['_meta'] as object) } }
    return send({ jsonrpc: '2.0', ...rest, params: whole } as never)
  }

  return {
    ask: (params, signal) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(coded('REQUEST_TIMEOUT'))
        const id = ++lastId
        const over = (): void => {
          waiting.delete(id)
          signal.removeEventListener('abort', cancel)
        }
        const fail = (error: unknown): void => {
          over()
          reject(error)
        }
        const cancel = (): void => {
          fail(coded('REQUEST_TIMEOUT'))
          const said = { requestId: id, reason: String(signal.reason) }
          void sendWith(said, { method: 'notifications/cancelled' }).catch(() => undefined)
        }
        waiting.set(id, (answer) => {
          over()
          const error = errorIn(answer)
          if (error === undefined) resolve(answer.result)
          else reject(error)
        })
        signal.addEventListener('abort', cancel)
        sendWith(params, { id, method: 'tools/call' }).catch(fail)
      }),
    take: (message) => {
      if (!isAnswer(message)) return false
      const id = Number(message.id)
      waiting.get(id)?.(message)
      // What comes after it was taken back is an answer to nothing.
      return id > firstId && id <= lastId
    },
    close: () => {
      for (const answered of waiting.values()) answered({ error: coded('CONNECTION_CLOSED') })
    },
  }
}

const isAnswer = (message: JSONRPCMessage): message is JSONRPCMessage & Answer & { readonly id: unknown } =>
  message.jsonrpc === '2.0' &&
  !('method' in message) &&
  'result' in message !== 'error' in message &&
  (typeof message.id === 'number' || typeof message.id === 'string')

/** What an answer says went wrong. */
function errorIn({ error }: Answer): Error | undefined {
  if (error === undefined || error instanceof Error) return error
  const { code, message, data } = isObject(error) ? error : {}
  const isWhole = Number.isSafeInteger(code) && typeof message === 'string'
  return isWhole ? Object.assign(new Error(message), { code, data }) : coded('INVALID_RESULT')
}

const coded = (code: string): Error => Object.assign(new Error(code), { code })

import { limits } from '../../base/limits.ts'
import { CallEnded } from '../../gateway/ended.ts'

/** Asked of what comes in a stream, before it is read. */
interface Admits {
  line(): boolean
  bytes(count: number): boolean
}

/** A response that fails once it is too large, or has lines or bytes that are not admitted. */
export function bounded(response: Response, admits: Admits): Response {
  if (response.body === null) return response
  const isStream = /^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '')
  const count = isStream ? eventCounter(admits) : byteCounter()
  const body = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, out) => {
        if (count(chunk) <= limits.mcpMessageBytesMax) out.enqueue(chunk)
        else out.error(new CallEnded('answer_too_large', 'the answer is too large', { effect: 'unknown' }))
      },
    }),
  )
  const { status, statusText, headers } = response
  return new Response(body, { status, statusText, headers })
}

function byteCounter(): (chunk: Uint8Array) => number {
  let bytes = 0
  return (chunk) => {
    bytes += chunk.byteLength
    return bytes
  }
}

/** A stream may go on as long as it likes, one event of it may not. Events end with an empty line. */
function eventCounter(admits: Admits): (chunk: Uint8Array) => number {
  let [bytes, lineBytes] = [0, 0]
  return (chunk) => {
    if (!admits.bytes(chunk.byteLength)) return Number.POSITIVE_INFINITY
    for (const byte of chunk) {
      bytes += 1
      if (byte === newline && !admits.line()) return Number.POSITIVE_INFINITY
      if (byte === newline && lineBytes === 0) bytes = 0
      if (byte === newline) lineBytes = 0
      else if (byte !== carriageReturn) lineBytes += 1
    }
    return bytes
  }
}
const newline = 10
const carriageReturn = 13

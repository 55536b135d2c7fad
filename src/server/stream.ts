import { canonical, type Json } from '../base/canonical.ts'
import { limits } from '../base/limits.ts'
import type { InvocationResult } from '../model/wire/result.ts'
import { always, failed, json } from './answer.ts'
import type { VisitorAsk } from './route.ts'

type Ended = (outcome: string, denial?: string) => void

/**
 * A call whose handler speaks before it ends. What is decided before its first chunk is an ordinary answer; from then
 * on the answer is a stream of events, and the call runs to its end whether or not anybody still listens. For a reader
 * who is too slow the stream ends early. A repeat gets the recorded chunks, from the one after `Last-Event-ID`.
 */
export async function streamed(ask: VisitorAsk, envelope: object, ended: Ended): Promise<Response> {
  const frames = openFrames(limits.unreadStreamBytesMax)
  const opened = Promise.withResolvers<'stream'>()
  let count = 0
  const watch = {
    chunk: (delta: Json) => {
      frames.send(count++, 'chunk', { delta })
      opened.resolve('stream')
    },
  }
  const calling = ask.deps.host.gateway.invoke(ask.visitor.caller, envelope, watch)
  const closing = calling.then(
    ({ result }) => {
      ended(result.outcome, result.denial?.code)
      if (count > 0) frames.send(count, 'result', result as Json)
      frames.close()
    },
    async (error: unknown) => {
      ended('refused')
      if (count > 0) frames.send(count, 'error', (await failed(error, { ours: false }).json()) as Json)
      frames.close()
    },
  )
  ask.until(closing)
  if ((await Promise.race([opened.promise, calling])) === 'stream') return eventStream(frames.readable)
  const { result, chunks = [] } = await calling
  return again(result, chunks, resumeAfter(ask.request.headers.get('last-event-id')))
}

/** A recorded stream once more; one that was never a stream, or was heard to its end, is its result. */
function again(result: InvocationResult, chunks: readonly Json[], after: number): Response {
  if (chunks.length === 0 || after >= chunks.length) return json(result)
  // All of it is held already, and is no more than what is kept of a call.
  const frames = openFrames(Number.POSITIVE_INFINITY)
  chunks.forEach((delta, id) => {
    if (id > after) frames.send(id, 'chunk', { delta })
  })
  frames.send(chunks.length, 'result', result as Json)
  frames.close()
  return eventStream(frames.readable)
}

/** The number of the last frame that was heard; −1, before the first, for none and for what is no number. */
const resumeAfter = (header: string | null): number =>
  header !== null && /^\d{1,15}$/.test(header) ? Number(header) : -1

interface Frames {
  readonly readable: ReadableStream<Uint8Array>
  send(id: number, event: 'chunk' | 'result' | 'error', data: Json): void
  close(): void
}

/** Frames for one reader. With more than `unreadBytesMax` waiting to be read there will be no others. */
function openFrames(unreadBytesMax: number): Frames {
  const utf8 = new TextEncoder()
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined
  const readable = new ReadableStream<Uint8Array>(
    {
      start: (given) => {
        controller = given
      },
      // Nobody listens any more: what still comes is dropped.
      cancel: () => {
        controller = undefined
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: unreadBytesMax }),
  )
  const close = (): void => {
    controller?.close()
    controller = undefined
  }
  return {
    readable,
    send: (id, event, data) => {
      if (controller === undefined) return
      const frame = utf8.encode(`id: ${id}\nevent: ${event}\ndata: ${canonical(data)}\n\n`)
      if (frame.byteLength > (controller.desiredSize ?? 0)) close()
      else controller.enqueue(frame)
    },
    close,
  }
}

const eventStream = (body: ReadableStream<Uint8Array>): Response =>
  new Response(body, { headers: { 'content-type': 'text/event-stream', ...always } })

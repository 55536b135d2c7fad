import { canonical, type Json } from '../base/canonical.ts'
import { limits } from '../base/limits.ts'
import { always, failed } from './answer.ts'
import type { RouteRequest } from './route.ts'

/** Server-sent events for one reader. The stream ends, as `onEnd` learns, when more than `unreadBytesMax` are unread. */
export function openFrames(unreadBytesMax: number, onEnd: () => void = () => undefined) {
  const utf8 = new TextEncoder()
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined
  const readable = new ReadableStream<Uint8Array>(
    {
      start: (given) => {
        controller = given
      },
      // The reader has left: later frames are dropped.
      cancel: () => {
        controller = undefined
        onEnd()
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: unreadBytesMax }),
  )
  const close = (): void => {
    controller?.close()
    controller = undefined
    onEnd()
  }
  return {
    readable,
    send: (id: number, event: 'chunk' | 'result' | 'item' | 'error' | 'end', data: Json): void => {
      if (controller === undefined) return
      const frame = utf8.encode(`id: ${id}\nevent: ${event}\ndata: ${canonical(data)}\n\n`)
      if (frame.byteLength > (controller.desiredSize ?? 0)) close()
      else controller.enqueue(frame)
    },
    close,
  }
}

export const answerStream = ({ readable }: ReturnType<typeof openFrames>): Response =>
  new Response(readable, { headers: { 'content-type': 'text/event-stream', ...always } })

type OpenItems = (signal: AbortSignal) => Promise<AsyncIterable<unknown>>

/**
 * Sends items as they come, one frame each, until the caller leaves or the server closes; `end` says that there will be no
 * more. `number` names a member to count by.
 */
export async function streamItems(request: RouteRequest, open: OpenItems, number?: string): Promise<Response> {
  const leaving = new AbortController()
  const items = (await open(AbortSignal.any([leaving.signal, request.closing]))) as AsyncIterable<Json>
  const frames = openFrames(limits.unreadStreamBytesMax, () => leaving.abort())
  const sendAll = async (): Promise<void> => {
    let id = -1
    try {
      for await (const item of items) {
        const own = number === undefined ? undefined : (item as Readonly<Record<string, Json>>)[number]
        id = typeof own === 'number' ? own : id + 1
        frames.send(id, 'item', item)
      }
      if (!request.closing.aborted) frames.send(id, 'end', null)
    } catch (error) {
      frames.send(id, 'error', (await failed(error, { ours: true }).json()) as Json)
    }
    frames.close()
  }
  request.until(sendAll())
  return answerStream(frames)
}

import { Failure } from '../base/failure.ts'
import { openPlaces } from '../base/places.ts'

export interface Listeners {
  /** Opens one more answer that stays open, unless the caller has too many already. `ended` is called once it is over. */
  listen(name: string, open: () => Promise<Response>, ended: () => void): Promise<Response>
  /** Opens no more. */
  close(): void
}

/** Counts the answers that stay open by caller, so that no caller takes the room of all others. */
export function openListeners(perCallerMax: number): Listeners {
  const places = openPlaces(perCallerMax)
  let closed = false
  return {
    listen: async (name, open, ended) => {
      let over = ended
      try {
        if (closed) throw new Failure('overloaded', 'the host is about to end')
        if (!places.take(name))
          throw new Failure('rate.limited', 'this caller listens too often already: end a subscription first')
        over = () => {
          places.leave(name)
          ended()
        }
        return callWhenOver(await open(), over)
      } catch (error) {
        over()
        throw error
      }
    },
    close: () => {
      closed = true
    },
  }
}

/** The same answer; `over` is called once it has ended, from either side. Its connection ends with it: a closing server may wait for it. */
function callWhenOver(response: Response, over: () => void): Response {
  const reader = response.body?.getReader()
  if (reader === undefined) over()
  void reader?.closed.then(over, over)
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const next = await reader?.read()
      if (next?.value === undefined) controller.close()
      else controller.enqueue(next.value)
    },
    cancel: (reason) => reader?.cancel(reason),
  })
  const headers = new Headers(response.headers)
  headers.set('connection', 'close')
  return new Response(body, { status: response.status, headers })
}

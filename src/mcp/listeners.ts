import { Failure } from '../base/failure.ts'
import { openPlaces } from '../base/places.ts'

export interface Listeners {
  /** Opens one more answer that stays open, for somebody who has not too many of them already. */
  listen(name: string, open: () => Promise<Response>): Promise<Response>
  /** Opens no more. */
  close(): void
}

/** Counts the answers that stay open by who listens, so that nobody takes the room of all others. */
export function openListeners(perCallerMax: number): Listeners {
  const places = openPlaces(perCallerMax)
  let closed = false
  return {
    listen: async (name, open) => {
      if (closed) throw new Failure('overloaded', 'the host is about to end')
      if (!places.take(name))
        throw new Failure('rate.limited', 'this caller listens too often already: end a subscription first')
      const response = await open().catch((error: unknown) => {
        places.leave(name)
        throw error
      })
      return told(response, () => places.leave(name))
    },
    close: () => {
      closed = true
    },
  }
}

/** The same answer, saying once when it is over, whoever ends it. Its connection ends with it: it may be the last thing waited for. */
function told(response: Response, over: () => void): Response {
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

import type { Json } from '../base/canonical.ts'
import { Failure } from '../base/failure.ts'
import type { ReceivedEnvelope } from '../model/wire/invocation.ts'
import type { InvocationResult } from '../model/wire/result.ts'
import { type HostOptions, readFrames, send, unreachable } from './http.ts'

export type StreamEvent =
  | { readonly type: 'chunk'; readonly delta: Json }
  | { readonly type: 'result'; readonly result: InvocationResult }

export interface StreamOptions {
  readonly signal?: AbortSignal
  /** How often a broken connection is taken up again. */
  readonly resumesMax?: number
}

/**
 * Calls with `mode: stream` and gives every chunk once, then the result. A connection that breaks is taken up again
 * after the last chunk that came: the call has an id, so it is carried out once however often that happens.
 */
export async function* stream(
  host: HostOptions,
  envelope: ReceivedEnvelope,
  { signal, resumesMax = 5 }: StreamOptions = {},
): AsyncGenerator<StreamEvent, void, undefined> {
  const body = { invocation_id: `inv_${crypto.randomUUID()}`, ...envelope, mode: 'stream' }
  let last = -1
  for (let broken = 0; ; ) {
    try {
      const headers: Record<string, string> = last < 0 ? {} : { 'last-event-id': String(last) }
      const response = await send(host, { method: 'POST', path: '/invoke', body, headers, signal })
      for await (const { id, event } of eventsOf(response)) {
        // A host that cannot resume begins anew: what came before is not given twice.
        if (event.type === 'chunk' && id <= last) continue
        last = id
        yield event
        if (event.type === 'result') return
      }
      throw unreachable(undefined)
    } catch (error) {
      signal?.throwIfAborted()
      if (!isBroken(error) || ++broken > resumesMax) throw error
      await new Promise((resolve) => setTimeout(resolve, waitMs * broken))
    }
  }
}

const waitMs = 100

/** Worth another try: the connection broke, or the host is busy with this very call. */
const isBroken = (error: unknown): boolean =>
  error instanceof Failure && (error.code === 'host.unreachable' || error.code === 'call.in_progress')

/** What was decided before the first chunk comes as plain JSON, and is then all there is. */
async function* eventsOf(response: Response): AsyncGenerator<{ id: number; event: StreamEvent }, void, undefined> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
    const result = (await response.json()) as InvocationResult
    yield { id: Number.MAX_SAFE_INTEGER, event: { type: 'result', result } }
    return
  }
  try {
    for await (const { id, event, data } of readFrames(response)) {
      const said: unknown = JSON.parse(data)
      if (event === 'chunk') yield { id: Number(id), event: { type: event, delta: (said as { delta: Json }).delta } }
      if (event === 'result') yield { id: Number(id), event: { type: event, result: said as InvocationResult } }
    }
  } catch (error) {
    throw error instanceof Failure ? error : unreachable(error)
  }
}

import type { Json } from '../base/canonical.ts'
import { limits } from '../base/limits.ts'
import type { InvocationResult } from '../model/wire/result.ts'
import { failed } from './answer.ts'
import { readBody } from './input.ts'
import type { RouteRequest } from './route.ts'
import { answerStream, openFrames } from './stream.ts'

/** Carries one call of the protocol out, and streams what its handler sends if that is asked for. */
export async function answerInvoke(request: RouteRequest): Promise<unknown> {
  const { host, by } = request
  const envelope = await readBody(request)
  if (envelope['mode'] === 'stream') return streamCall(request, envelope)
  return (await trackCall(request, () => host.gateway.invoke(by, envelope))).result
}

/** Carries a call out; its end is traced and counted, with its result or as refused. */
export async function trackCall<T extends { readonly result: InvocationResult }>(
  { gather, traced, counts, host }: RouteRequest,
  call: () => Promise<T>,
): Promise<T> {
  await gather()
  const span = traced.invocation()
  let result: InvocationResult | undefined
  try {
    const ended = await call()
    result = ended.result
    return ended
  } finally {
    const outcome = result?.outcome ?? 'refused'
    span.ended(outcome, result?.denial?.code)
    counts(host.tenant).invocation(outcome)
  }
}

/**
 * A call whose handler sends chunks before it ends. A decision before its first chunk is an ordinary answer; from then
 * on the answer is a stream of events, and the call runs to its end whether or not the caller still listens. For a reader
 * who is too slow the stream ends early. A repeat gets the recorded chunks, from the one after `Last-Event-ID`.
 */
async function streamCall(request: RouteRequest, envelope: object): Promise<Response | InvocationResult> {
  const frames = openFrames(limits.unreadStreamBytesMax)
  const opened = Promise.withResolvers<'stream'>()
  let count = 0
  const chunk = (delta: Json): void => {
    frames.send(count++, 'chunk', { delta })
    opened.resolve('stream')
  }
  const calling = trackCall(request, () => request.host.gateway.invoke(request.by, envelope, { chunk }))
  const sending = calling.then(
    ({ result }) => frames.send(count, 'result', result as Json),
    async (error) => frames.send(count, 'error', (await failed(error, { ours: false }).json()) as Json),
  )
  request.until(sending.then(frames.close))
  if ((await Promise.race([opened.promise, calling])) === 'stream') return answerStream(frames)
  const { result, chunks = [] } = await calling
  return repeatStream(result, chunks, resumeAfter(request.request.headers.get('last-event-id')))
}

/** A recorded stream once more; a call that sent no chunks, or whose chunks were all read, is its result. */
function repeatStream(result: InvocationResult, chunks: readonly Json[], after: number): Response | InvocationResult {
  if (chunks.length === 0 || after >= chunks.length) return result
  // All of it is in memory already, and bounded by what is kept of a call.
  const frames = openFrames(Number.POSITIVE_INFINITY)
  chunks.forEach((delta, id) => {
    if (id > after) frames.send(id, 'chunk', { delta })
  })
  frames.send(chunks.length, 'result', result as Json)
  frames.close()
  return answerStream(frames)
}

/** The number of the last frame that was read; −1, before the first, if the header is missing or no number. */
export const resumeAfter = (header: string | null): number =>
  header !== null && /^\d{1,15}$/.test(header) ? Number(header) : -1

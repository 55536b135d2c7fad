import { setTimeout as sleep } from 'node:timers/promises'
import { advised, Failure, quote } from '../../base/failure.ts'
import { wireCode } from '../../base/failure-codes.ts'
import { limits } from '../../base/limits.ts'
import { type CallContext, type Capability, describedCapability } from '../../gateway/capability.ts'
import { CallEnded } from '../../gateway/ended.ts'
import type { CapabilityDescriptor } from '../../model/capability.ts'
import type { HttpUpstream, ServerAddress } from '../../model/config/upstream.ts'
import type { OpenUpstream, UpstreamDeps } from '../adapter.ts'
import { foreignDescriptor, isServerError, isTextOnly, traceparentOf } from '../adapter.ts'
import { openBreaker } from '../breaker.ts'
import { type Egress, transportCodes } from '../egress/egress.ts'
import { fillSecrets, secretNames } from '../secret-text.ts'
import { readAnswer } from './answer.ts'
import { checkHttp, isSafe } from './check.ts'
import { type FilledRequest, fillRequest, isHeaderText, serverFor } from './request.ts'

type Operation = HttpUpstream['capabilities'][number]

/** Each operation of a server as a capability: its input becomes one request, the answer its result. */
export function openHttp(upstream: HttpUpstream, { egress, clock }: UpstreamDeps): OpenUpstream {
  checkHttp(upstream)
  const breaker = openBreaker(upstream.name, clock)
  const capability = ({ request, descriptor: offered }: Operation): Capability => {
    const { method } = request
    const server = serverFor(request, upstream.server)
    const descriptor = describe(server, method, offered)
    const attempts = attemptsOf(descriptor, isSafe(method) && descriptor.side_effects?.length === 0)
    const handler: Parameters<typeof describedCapability>[1] = async (input, call) => {
      const filled = await withSecrets(server, call)
        .then((ready) => fillRequest(request, ready, input))
        .catch(notSent)
      const once = () => breaker.run(() => exchange(egress, method, filled, call), isFault, call.signal)
      return await tryAgain(once, attempts, { signal: call.signal, mayGoOn: () => breaker.hindrance() === undefined })
    }
    return describedCapability(descriptor, handler, { hindrance: breaker.hindrance, textOnly: isTextOnly(upstream) })
  }
  return { capabilities: upstream.capabilities.map(capability), close: async () => undefined }
}

/** Before anything is sent, a failure has no effect. */
function notSent(error: unknown): never {
  if (!(error instanceof Failure)) throw error
  throw new CallEnded(wireCode(error.code), advised(error), { effect: 'none', type: error.name })
}

/** The answer shows that the server, or the way to it, is at fault. */
const isFault = (error: unknown): boolean =>
  error instanceof CallEnded ? transportCodes.has(error.code) : isServerError(error)

function describe(server: ServerAddress, method: string, offered: Operation['descriptor']): CapabilityDescriptor {
  const side_effects = offered.side_effects ?? (isSafe(method) ? [] : [`http.${method}`])
  const credentials = credentialsOf(server, offered.metadata?.credentials)
  const { origin } = new URL(server.url)
  return foreignDescriptor({ ...offered, side_effects }, { origin, network: 'external', credentials })
}

type Handles = NonNullable<NonNullable<CapabilityDescriptor['metadata']>['credentials']>

/** The secrets that the server is sent, and where that is: nowhere else. */
function credentialsOf({ url, headers = {}, query = {} }: ServerAddress, declared: Handles = {}): Handles {
  const { origin } = new URL(url)
  const named = (kind: string, texts: Readonly<Record<string, string>>) =>
    secretNames(Object.values(texts)).map((name) => [name, { ...declared[name], kind, origin }] as const)
  return Object.fromEntries([...named('query', query), ...named('header', headers)])
}

async function withSecrets(server: ServerAddress, call: CallContext): Promise<ServerAddress> {
  const headers = await fillSecrets(server.headers, call.secret)
  const query = await fillSecrets(server.query, call.secret)
  const bad = Object.keys(headers).find((name) => !isHeaderText(headers[name] ?? ''))
  if (bad !== undefined)
    throw new Failure('secret.invalid', `a secret of the header ${quote(bad)} holds characters that no header can`)
  return { ...server, headers, query }
}

async function exchange(egress: Egress, method: string, request: FilledRequest, call: CallContext) {
  const { url, headers: filled, body } = request
  const headers = new Headers({ accept: 'application/json, text/*;q=0.9, */*;q=0.8', 'user-agent': 'ambit' })
  if (!isSafe(method)) headers.set('idempotency-key', call.idempotencyKey)
  for (const [name, value] of filled) headers.set(name, value)
  if (body) headers.set('content-type', body.type)
  headers.set('traceparent', traceparentOf(call))
  const init = { method, headers, signal: call.signal, ...(body && { body: body.bytes as never }) }
  return await readAnswer(await egress.fetch(url, init), method)
}

/** How often and for what something is tried again; once is enough where repeating could do it twice. */
function attemptsOf({ retry, idempotency }: CapabilityDescriptor, isSafe: boolean) {
  const may = isSafe || idempotency === 'required'
  return {
    max: may ? Math.min(retry?.max_attempts ?? 1, limits.attemptsMax) : 1,
    backoffMs: Math.min((retry?.backoff_s ?? limits.backoffMs / 1000) * 1000, limits.backoffMaxMs),
    on: new Set<string>(retry?.retry_on ?? [...transportCodes, 'http_429', 'http_502', 'http_503', 'http_504']),
  }
}

/** Does the work, again while declared and `mayGoOn`. After one unknown effect, no later attempt can say `none`. */
async function tryAgain<T>(
  work: () => Promise<T>,
  { max, backoffMs, on }: ReturnType<typeof attemptsOf>,
  { signal, mayGoOn }: { readonly signal: AbortSignal; readonly mayGoOn: () => boolean },
): Promise<T> {
  let isDoubtful = false
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      const { code, message, retryAfterS = 0 } = error as { code?: string; message: string; retryAfterS?: number }
      const waitMs = Math.max(backoffMs * 2 ** (attempt - 1), retryAfterS * 1000)
      const isLast =
        attempt >= max || !on.has(code ?? '') || signal.aborted || waitMs > limits.backoffMaxMs || !mayGoOn()
      if (isLast && isDoubtful) throw new CallEnded(code ?? 'failed', message, { effect: 'unknown' })
      if (isLast) throw error
      isDoubtful ||= !(error instanceof CallEnded) || error.effect !== 'none'
      // Who stops waiting is answered by the next attempt, which then sends nothing.
      await sleep(waitMs, undefined, { signal }).catch(() => undefined)
    }
  }
}

import * as http from 'node:http'
import * as https from 'node:https'
import type { LookupFunction } from 'node:net'
import { Readable } from 'node:stream'
import { limits } from '../../base/limits.ts'
import { CallEnded, type Effect } from '../../gateway/ended.ts'
import { familyOf, hostOf } from './allow-list.ts'

export interface Outgoing {
  readonly url: URL
  readonly method: string
  readonly headers: Headers
  readonly body: string | Uint8Array | undefined
  readonly signal: AbortSignal | undefined
}

/** Answers the addresses a request may be sent to, or throws. */
type Resolve = (url: URL) => Promise<readonly string[]>

/** Sends single requests, over connections that are kept for a moment. `resolve` is asked for each new connection. */
export function openSender(resolve: Resolve): (outgoing: Outgoing) => Promise<Response> {
  // Idle connections end before servers commonly end them, so that a request seldom meets one that is going.
  const kept = { keepAlive: true, timeout: limits.idleConnectionMs }
  const agents = { http: new http.Agent(kept), https: new https.Agent(kept) }
  return async (outgoing) => {
    const { url } = outgoing
    // A connection to an IP address never calls `lookup`, so the address is checked here.
    if (familyOf(hostOf(url))) await resolve(url)
    const [agent, lookup] = [url.protocol === 'https:' ? agents.https : agents.http, lookupOf(url, resolve)]
    try {
      return await sendOnce(outgoing, { agent, lookup })
    } catch (error) {
      if (error instanceof Stale && isRepeatable(outgoing)) return await sendOnce(outgoing, { agent: false, lookup })
      throw error
    }
  }
}

const lookupOf =
  (url: URL, resolve: Resolve): LookupFunction =>
  (_hostname, { all }, done) => {
    const answer = (found: readonly string[]): void => {
      const addresses = found.map((address) => ({ address, family: familyOf(address) === 'ipv6' ? 6 : 4 }))
      if (all === true) done(null, addresses)
      else done(null, addresses[0]?.address ?? '', addresses[0]?.family)
    }
    resolve(url).then(answer, (error) => done(error, []))
  }

const isRepeatable = ({ method, body }: Outgoing): boolean =>
  ['GET', 'HEAD', 'OPTIONS'].includes(method) && body === undefined

type Way = { readonly agent: http.Agent | false; readonly lookup: LookupFunction }

function sendOnce(outgoing: Outgoing, way: Way): Promise<Response> {
  const { url, method, body, signal } = outgoing
  return new Promise((done, fail) => {
    if (signal?.aborted) throw endedAs('cancelled', url, 'none')
    const request = start(outgoing, way)
    const reached = watch(request)
    request.on('error', (error) => fail(endedBy(error, request, reached(), outgoing)))
    request.on('close', () => fail(endedAs('no_answer', url, 'unknown')))
    request.on('response', (incoming) => {
      try {
        done(answerOf(incoming, method))
      } catch {
        incoming.destroy()
        fail(endedAs('no_answer', url, 'unknown'))
      }
    })
    request.end(body)
  })
}

function start({ url, method, headers, body, signal }: Outgoing, way: Way): http.ClientRequest {
  // Node says nothing of the size of a body where it expects none.
  const size = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }
  return (url.protocol === 'https:' ? https : http).request({
    ...way,
    host: hostOf(url),
    port: url.port,
    path: url.pathname + url.search,
    method,
    headers: { ...Object.fromEntries(headers), ...size },
    // Whatever the environment says.
    rejectUnauthorized: true,
    ...(signal && { signal }),
  })
}

/** How far a request came: nowhere yet, to some host, or to the intended server. */
type Reached = 'nowhere' | 'host' | 'server'

function watch(request: http.ClientRequest): () => Reached {
  let reached: Reached = 'nowhere'
  const timer = setTimeout(() => request.destroy(new Error('no connection')), limits.connectMs)
  const arrive = (at: Reached) => {
    reached = at
    if (at === 'server') clearTimeout(timer)
  }
  request.on('close', () => clearTimeout(timer))
  request.on('socket', (socket) => {
    if (request.reusedSocket) return arrive('server')
    const isTls = 'encrypted' in socket
    socket.once('connect', () => arrive(isTls ? 'host' : 'server'))
    socket.once('secureConnect', () => arrive('server'))
  })
  return () => reached
}

/** Ended by a server that was just closing a kept connection. */
class Stale extends CallEnded {}

function endedBy(error: Error, request: http.ClientRequest, reached: Reached, { url, signal }: Outgoing): CallEnded {
  if (error instanceof CallEnded) return error
  if (signal?.aborted) return endedAs('cancelled', url, reached === 'server' ? 'unknown' : 'none')
  if (reached === 'nowhere') return endedAs('connect_failed', url, 'none')
  if (reached === 'host') return endedAs('tls_failed', url, 'none')
  return endedAs('no_answer', url, 'unknown', request.reusedSocket ? Stale : CallEnded)
}

const told = {
  cancelled: 'was not waited for',
  connect_failed: 'cannot be reached',
  tls_failed: 'could not prove who it is',
  no_answer: 'gave no answer that can be read',
} as const

const endedAs = (code: keyof typeof told, { origin }: URL, effect: Effect, Class = CallEnded): CallEnded =>
  new Class(code, `the server at \`${origin}\` ${told[code]}`, { effect })

function answerOf(incoming: http.IncomingMessage, method: string): Response {
  const status = incoming.statusCode ?? 0
  const headers = new Headers()
  for (const [name, values = []] of Object.entries(incoming.headersDistinct))
    for (const value of values) headers.append(name, value)
  const isEmpty = method === 'HEAD' || [204, 205, 304].includes(status)
  if (isEmpty) incoming.resume()
  const body = isEmpty ? null : (Readable.toWeb(incoming) as ReadableStream<Uint8Array>)
  return new Response(body, { status, headers })
}

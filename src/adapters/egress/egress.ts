import { lookup as dnsLookup } from 'node:dns/promises'
import { limits } from '../../base/limits.ts'
import { CallEnded } from '../../gateway/ended.ts'
import { type AllowList, familyOf, hostOf, readAllowList } from './allow-list.ts'
import { type Outgoing, openSender } from './send.ts'

/** The one way out: every request of an adapter goes through it. */
export interface Egress {
  /**
   * Sends a request to where it may go, and follows no redirect to another origin. Fails with a `CallEnded`: effect
   * `none` if nothing was sent, `unknown` if it was and no answer came that can be used.
   */
  fetch(url: string | URL, init?: RequestInit): Promise<Response>
}

export interface EgressOptions {
  /** See `readAllowList`; without it every public address is reached, and no other. */
  readonly allow?: readonly string[]
  /** The addresses of a name. */
  readonly lookup?: (hostname: string) => Promise<readonly string[]>
}

/** What a `CallEnded` of it says when the other side, or the way to it, is at fault. */
export const transportCodes: ReadonlySet<string> = new Set([
  ...['dns_failed', 'connect_failed', 'tls_failed', 'no_answer', 'cancelled'],
])

/** Addresses are checked at each connection. No proxies of the environment are used, and nothing is decompressed. */
export function openEgress({ allow, lookup = addressesOf }: EgressOptions = {}): Egress {
  const list = readAllowList(allow)
  const send = openSender((url) => reachable(list, url, lookup))
  return {
    fetch: async (target, init = {}) => {
      let request = { url: readUrl(target), ...readInit(init) }
      for (let hops = 0; ; hops++) {
        const answer = await send(request)
        if (!isRedirect(answer)) return checked(answer)
        await answer.body?.cancel()
        request = { ...request, url: redirected(request, answer, hops) }
      }
    },
  }
}

const addressesOf = async (hostname: string): Promise<readonly string[]> =>
  (await dnsLookup(hostname, { all: true })).map(({ address }) => address)

/** Those addresses of a server to which a request for it may be sent. */
async function reachable(list: AllowList, url: URL, lookup: (hostname: string) => Promise<readonly string[]>) {
  const host = hostOf(url)
  if (!list.mayAsk(url)) throw refused(`requests to \`${url.origin}\` are not allowed`)
  const found = familyOf(host) ? [host] : await lookup(host).catch(() => undefined)
  if (found === undefined || found.length === 0)
    throw new CallEnded('dns_failed', `the name \`${host}\` leads nowhere`, { effect: 'none' })
  const addresses = found.filter((address) => list.mayReach(url, address))
  if (addresses.length === 0) throw refused(`\`${url.origin}\` leads to an address that is not allowed`)
  return addresses
}

function readUrl(target: string | URL): URL {
  const url = URL.parse(String(target))
  if (url === null || !/^https?:$/.test(url.protocol)) throw refused('only http and https addresses are reached')
  if (url.username !== '' || url.password !== '') throw refused('an address holds a name or a password')
  return url
}

const refused = (message: string): CallEnded => new CallEnded('egress_refused', message, { effect: 'none' })

/** What to do about a request that was refused. An origin reaches private addresses too. */
export function egressHelp(url: string): string {
  const entry = JSON.stringify({ allow: [URL.parse(url)?.origin ?? url] })
  return `list it under \`egress\` in the configuration: \`"egress": ${entry}\`; then only what is listed is reached`
}

/** What is about one connection is ours to say, and nothing is taken that would have to be decompressed. */
export const connectionHeaders = [
  ...['host', 'connection', 'keep-alive', 'transfer-encoding', 'content-length', 'te', 'trailer', 'upgrade', 'expect'],
  ...['proxy-authorization', 'proxy-connection', 'accept-encoding'],
]

function readInit(init: RequestInit): Omit<Outgoing, 'url'> {
  const headers = new Headers(init.headers)
  for (const name of connectionHeaders) headers.delete(name)
  headers.set('accept-encoding', 'identity')
  const { body = null, method = 'GET', signal } = init
  if (body !== null && typeof body !== 'string' && !(body instanceof Uint8Array))
    throw refused('a body is text or bytes')
  return { method: method.toUpperCase(), headers, body: body ?? undefined, signal: signal ?? undefined }
}

const isRedirect = ({ status, headers }: Response): boolean =>
  [301, 302, 303, 307, 308].includes(status) && headers.has('location')

/** Where a redirect leads, if it may be followed: what was sent with the request goes to no other origin. */
function redirected({ url, method, body }: Outgoing, { headers }: Response, hops: number): URL {
  const next = URL.parse(headers.get('location') ?? '', url.href)
  const isSafe = ['GET', 'HEAD'].includes(method) && body === undefined
  if (isSafe && next?.origin === url.origin && next.username + next.password === '' && hops < limits.redirectsMax)
    return next
  throw new CallEnded('redirect_refused', `\`${url.origin}\` answered with a redirect that is not followed`, {
    effect: 'unknown',
  })
}

function checked(answer: Response): Response {
  const encoding = answer.headers.get('content-encoding')?.trim().toLowerCase() ?? 'identity'
  if (encoding === 'identity' || encoding === '') return answer
  // The rest of the body is not needed.
  answer.body?.cancel().catch(() => undefined)
  throw new CallEnded('encoding_refused', 'the answer is compressed, which was not asked for', { effect: 'unknown' })
}

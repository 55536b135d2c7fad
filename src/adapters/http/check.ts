import { Failure, quote } from '../../base/failure.ts'
import type { HttpRequestTemplate, HttpUpstream, McpUpstream, ServerAddress } from '../../model/config/upstream.ts'
import { connectionHeaders } from '../egress/egress.ts'
import { checkSecretPlaces } from '../secret-text.ts'
import { foldedName, isMethodName, readsAs } from './names.ts'
import { cookieNames, serverFor } from './request.ts'

/** Refuses what could not be sent, or not as it was meant, before anybody calls it. */
export function checkHttp(upstream: HttpUpstream): void {
  const { name, server, capabilities } = upstream
  checkServer(upstream)
  const fixed = fixedIn(server)
  capabilities.forEach(({ request, descriptor: { id } }, index) => {
    const { headers, query } = request
    const own = fixedIn(serverFor(request, server))
    const found = headersProblem(headers) ?? repeatProblem(request, fixed) ?? problemOf(request, own)
    if (found !== undefined) throw invalid(name, `capability ${quote(id)}: ${found}`)
    checkSecretPlaces({ headers, query }, `capabilities.${index}.request`)
  })
}

/** Refuses a server that could not be asked, or would be shown a secret by the way. */
export function checkServer({ name, server }: Pick<McpUpstream, 'name' | 'server'>): void {
  const problem = 'url' in server ? addressProblem(server) : undefined
  if (problem !== undefined) throw invalid(name, problem)
  checkSecretPlaces(server)
}

const invalid = (name: string, problem: string): Failure =>
  new Failure('upstream.invalid', `upstream ${quote(name)}: ${problem}`, { name })

/** True of what reads as a name that every request has at a place. */
type Fixed = Readonly<Record<Parameter['in'], (name: string) => boolean>>

function fixedIn({ headers = {}, query = {} }: HttpUpstream['server']): Fixed {
  const cookies = Object.keys(headers).filter((name) => name.toLowerCase() === 'cookie')
  return {
    path: () => false,
    query: readsAs(Object.keys(query)),
    header: readsAs(Object.keys(headers)),
    cookie: readsAs(cookies.flatMap((name) => cookieNames(headers[name] ?? ''))),
  }
}

function addressProblem(server: ServerAddress): string | undefined {
  const url = URL.parse(server.url)
  if (url === null) return 'its address cannot be used'
  if (url.username !== '' || url.password !== '') return 'its address holds a name or a password: give them as a header'
  return headersProblem(server.headers)
}

function headersProblem(headers: ServerAddress['headers'] = {}): string | undefined {
  const names = Object.keys(headers).map((name) => name.toLowerCase())
  const bad = names.find((name) => !token.test(name) || ours.includes(name))
  return bad === undefined ? undefined : `it cannot set the header ${quote(bad)}`
}

/** A name that is sent with every request may not be set again: servers differ on which of two counts. */
function repeatProblem({ headers = {}, query = {} }: HttpRequestTemplate, every: Fixed): string | undefined {
  const name = Object.keys(headers).find(every.header) ?? Object.keys(query).find(every.query)
  return name === undefined ? undefined : `${quote(name)} is sent with every request of the server already`
}

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** Headers that belong to a connection, or that are set by other means. */
const ours = [...connectionHeaders, 'content-type', 'traceparent']

const reserved: ReadonlySet<string> = new Set([
  ...[...ours, 'authorization', 'cookie'],
  // A server that believes them acts in another way than was decided, or for another caller.
  ...['x-method-override', 'x-original-method', 'forwarded', 'x-original-url', 'x-rewrite-url', 'x-original-host'],
  ...['x-host', 'x-real-ip', 'x-client-ip', 'true-client-ip', 'cf-connecting-ip', 'content-encoding'],
])

/** True of what no input sets. Many servers take `_` for `-` in a header. */
export function isReserved(name: string, place: Parameter['in']): boolean {
  if (place !== 'header') return place !== 'path' && isMethodName(name)
  const header = name.toLowerCase().replaceAll('_', '-')
  return reserved.has(header) || /^x-(?:http-method|forwarded-)/.test(header)
}

/** True of a header that every request of the method has from us. */
export const isOurKey = (name: string, method: string): boolean =>
  !isSafe(method) && foldedName(name) === 'idempotency_key'

/** What only reads. */
export const isSafe = (method: string): boolean => ['GET', 'HEAD', 'OPTIONS'].includes(method)

type Parameter = NonNullable<HttpRequestTemplate['parameters']>[number]

/** The styles in which a parameter can be written at its place; the first unless it says another. */
export const styles: Readonly<Record<Parameter['in'], readonly NonNullable<Parameter['style']>[]>> = {
  path: ['simple', 'label', 'matrix', 'json'],
  query: ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject', 'json'],
  header: ['simple', 'json'],
  cookie: ['form', 'json'],
}

function problemOf({ path, parameters = [], body, method }: HttpRequestTemplate, fixed: Fixed): string | undefined {
  const filled = new Set(parameters.map((parameter) => parameter.in === 'path' && parameter.name))
  const open = Array.from(path.matchAll(/\{([^{}]*)\}/g), ([, place = '']) => place).find((place) => !filled.has(place))
  if (open !== undefined) return `no parameter fills ${quote(open)} of its path`
  const segments = path.replace(/\{[^{}]*\}/g, 'x').split('/')
  if (segments.some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment))) return 'its path leads out of itself'
  if (body && (method === 'GET' || method === 'HEAD')) return `a ${method} request has no body`
  for (const { name, in: place, style } of parameters) {
    if (style && !styles[place].includes(style)) return `${quote(name)} cannot be written as ${quote(style)}`
    const isTaken = fixed[place](name) || isReserved(name, place)
    if (isTaken || (place === 'header' && (!token.test(name) || isOurKey(name, method))))
      return `an input cannot set the ${placeNames[place]} ${quote(name)}`
  }
  return undefined
}

const placeNames = { path: 'path', query: 'query parameter', header: 'header', cookie: 'cookie' } as const

import { Failure, quote } from '../../base/failure.ts'
import type { HttpRequestTemplate, HttpUpstream } from '../../model/upstream.ts'
import { cookieNames } from './http-request.ts'
import { checkSecretPlaces } from './secret-text.ts'

/** Refuses what could not be sent, or not as it was meant, before anybody calls it. */
export function checkHttp(upstream: HttpUpstream): void {
  const { name, server, capabilities } = upstream
  const fixed = fixedIn(server)
  const problems = capabilities.map(({ request, descriptor: { id } }) => ({ id, found: problemOf(request, fixed) }))
  const first = problems.find(({ found }) => found !== undefined)
  const problem = addressProblem(upstream, fixed) ?? (first && `capability ${quote(first.id)}: ${first.found}`)
  if (problem !== undefined) throw new Failure('upstream.invalid', `upstream ${quote(name)}: ${problem}`, { name })
  checkSecretPlaces(server)
}

/** The names that every request has at a place. */
type Fixed = Readonly<Record<Parameter['in'], readonly string[]>>

function fixedIn({ headers = {}, query = {} }: HttpUpstream['server']): Fixed {
  const cookies = Object.keys(headers).filter((name) => name.toLowerCase() === 'cookie')
  return {
    path: [],
    query: Object.keys(query),
    header: Object.keys(headers).map((name) => name.toLowerCase()),
    cookie: cookies.flatMap((name) => cookieNames(headers[name] ?? '')),
  }
}

function addressProblem({ server }: HttpUpstream, fixed: Fixed): string | undefined {
  const url = URL.parse(server.url)
  if (url === null || url.username !== '' || url.password !== '') return 'its address cannot be used'
  const bad = fixed.header.find((header) => !token.test(header) || ours.includes(header))
  return bad === undefined ? undefined : `it cannot set the header ${quote(bad)}`
}

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** Headers that belong to a connection, or that are set by other means. */
const ours = [
  ...['host', 'connection', 'keep-alive', 'transfer-encoding', 'content-length', 'te', 'trailer', 'upgrade', 'expect'],
  ...['proxy-authorization', 'proxy-connection', 'accept-encoding', 'content-type', 'traceparent'],
]

const reserved: ReadonlySet<string> = new Set([
  ...[...ours, 'authorization', 'cookie'],
  // A server that believes them does another thing than was decided about, or for somebody else.
  ...['x-method-override', 'forwarded', 'x-original-url', 'x-rewrite-url'],
])

/** True of a header that no input sets. */
export const isReservedHeader = (name: string): boolean =>
  reserved.has(name.toLowerCase()) || /^x-(?:http-method|forwarded-)/i.test(name)

/** What only reads. */
export const isSafe = (method: string): boolean => ['GET', 'HEAD', 'OPTIONS'].includes(method)

type Parameter = NonNullable<HttpRequestTemplate['parameters']>[number]

/** The styles in which a parameter can be written at its place; the first unless it says another. */
export const stylesOf = (place: Parameter['in']): readonly NonNullable<Parameter['style']>[] =>
  (
    ({
      path: ['simple', 'label', 'matrix', 'json'],
      query: ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject', 'json'],
      header: ['simple', 'json'],
      cookie: ['form', 'json'],
    }) as const
  )[place]

function problemOf({ path, parameters = [], body, method }: HttpRequestTemplate, fixed: Fixed): string | undefined {
  const places = [...path.matchAll(/\{([^{}]*)\}/g)].map(([, place = '']) => place)
  const filled = parameters.filter((parameter) => parameter.in === 'path').map((parameter) => parameter.name)
  const open = places.find((place) => !filled.includes(place))
  if (open !== undefined) return `no parameter fills ${quote(open)} of its path`
  if (
    path
      .replace(/\{[^{}]*\}/g, 'x')
      .split('/')
      .some(isDots)
  )
    return 'its path leads out of itself'
  if (body && (method === 'GET' || method === 'HEAD')) return `a ${method} request has no body`
  for (const { name, in: place, style } of parameters) {
    if (style !== undefined && !stylesOf(place).includes(style))
      return `${quote(name)} cannot be written as ${quote(style)}`
    const isTaken = fixed[place].includes(place === 'header' ? name.toLowerCase() : name)
    if (isTaken || (place === 'header' && (!token.test(name) || isReservedHeader(name))))
      return `an input cannot set the ${placeNames[place]} ${quote(name)}`
  }
  return undefined
}

const placeNames = { path: 'path', query: 'query parameter', header: 'header', cookie: 'cookie' } as const

const isDots = (segment: string): boolean => /^(?:\.|%2e){1,2}$/i.test(segment)

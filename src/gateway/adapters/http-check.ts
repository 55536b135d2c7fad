import { Failure, quote } from '../../base/failure.ts'
import type { HttpRequestTemplate, HttpUpstream } from '../../model/upstream.ts'

/** Refuses what could not be sent, or not as it was meant, before anybody calls it. */
export function checkHttp(upstream: HttpUpstream): void {
  const { name, server, capabilities } = upstream
  const fixed = Object.keys(server.headers ?? {}).map((header) => header.toLowerCase())
  const problems = capabilities.map(({ request, descriptor: { id } }) => ({ id, found: problemOf(request, fixed) }))
  const first = problems.find(({ found }) => found !== undefined)
  const problem = addressProblem(upstream, fixed) ?? (first && `capability ${quote(first.id)}: ${first.found}`)
  if (problem !== undefined) throw new Failure('upstream.invalid', `upstream ${quote(name)}: ${problem}`, { name })
}

function addressProblem({ server }: HttpUpstream, fixed: readonly string[]): string | undefined {
  const url = URL.parse(server.url)
  if (url === null || url.username !== '' || url.password !== '') return 'its address cannot be used'
  const bad = fixed.find((header) => !token.test(header) || ours.includes(header))
  return bad === undefined ? undefined : `it cannot set the header ${quote(bad)}`
}

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** Headers that belong to a connection, or that are set by other means. */
const ours = [
  ...['host', 'connection', 'keep-alive', 'transfer-encoding', 'content-length', 'te', 'trailer', 'upgrade', 'expect'],
  ...['proxy-authorization', 'proxy-connection', 'accept-encoding', 'content-type', 'traceparent'],
]

/** What no input sets. */
export const reservedHeaders: ReadonlySet<string> = new Set([...ours, 'authorization', 'cookie'])

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

function problemOf(
  { path, parameters = [], body, method }: HttpRequestTemplate,
  fixed: readonly string[],
): string | undefined {
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
    const header = name.toLowerCase()
    if (place === 'header' && (!token.test(name) || reservedHeaders.has(header) || fixed.includes(header)))
      return `an input cannot set the header ${quote(name)}`
  }
  return undefined
}

const isDots = (segment: string): boolean => /^(?:\.|%2e){1,2}$/i.test(segment)

import type { Json } from '../../base/canonical.ts'
import { isJsonObject } from '../../base/object.ts'
import { CallEnded } from '../../gateway/ended.ts'
import type { HttpRequestTemplate, ServerAddress } from '../../model/config/upstream.ts'
import { bodyOf } from './body.ts'
import { mediaOf } from './media.ts'
import { foldedName, isMethodName, readsAs } from './names.ts'
import { asPairs, encoded, inPath, isList, type Pair, type PairStyle, type PathStyle, refuse } from './styles.ts'

type Input = Readonly<Record<string, Json>>
type Names = readonly string[]
type Parameter = NonNullable<HttpRequestTemplate['parameters']>[number]

export type FilledRequest = Awaited<ReturnType<typeof fillRequest>>

/** A server as one request sees it: with what is sent to it every time, and with this one. */
export const serverFor = ({ headers, query }: HttpRequestTemplate, server: ServerAddress): ServerAddress => ({
  url: server.url,
  headers: { ...server.headers, ...headers },
  query: { ...server.query, ...query },
})

/**
 * What an input makes of a template: nothing of it can lead to another path, or add a header. The texts of `server` have
 * their secrets in place.
 */
export async function fillRequest(template: HttpRequestTemplate, server: ServerAddress, input: Input) {
  const given = (template.parameters ?? []).flatMap((parameter) => {
    const value = memberOf(input, parameter.from)
    return value === undefined ? [] : [{ parameter, value }]
  })
  const placed = (place: Parameter['in']) => given.filter(({ parameter }) => parameter.in === place)
  const headers = new Headers(server.headers)
  for (const one of placed('header')) headers.set(one.parameter.name, headerOf(one))
  const cookies = pairsIn('cookie', template, placed('cookie'), cookieNames(headers.get('cookie') ?? ''))
  if (cookies.length > 0)
    headers.set('cookie', [headers.get('cookie') ?? [], cookies.map((pair) => pair.join('='))].flat().join('; '))
  const { body } = template
  const value = body && memberOf(input, body.from)
  const url = addressOf(template.path, server, placed('path'), queryOf(template, server, placed('query')))
  if (body === undefined || value === undefined) return { url, headers }
  if (mediaOf(body.type).kind === 'form') checkMembers(value, body.from, Object.keys(server.query ?? {}))
  return { url, headers, body: await bodyOf(value, body) }
}

/** Many servers read the query and the fields of a form as one, and the form first. */
function checkMembers(body: Json, from: string, fixed: readonly string[]): void {
  const isFixed = readsAs(fixed)
  if (isJsonObject(body) && Object.keys(body).some((name) => isFixed(name) || isMethodName(name)))
    refuse(from, 'an object without members that every request has in its query, or a method')
}

const memberOf = (input: Input, name: string): Json | undefined =>
  Object.hasOwn(input, name) ? input[name] : undefined

interface Given {
  readonly parameter: Parameter
  readonly value: Json
}

function addressOf(path: string, server: ServerAddress, given: readonly Given[], query: readonly Pair[]): URL {
  const filled = path.replace(/\{([^{}]*)\}/g, (_, name: string) => {
    const one = given.find(({ parameter }) => parameter.name === name)
    return one ? segmentOf(one) : refuse(name, 'given: the path needs it')
  })
  const whole = server.url.replace(/\/$/, '') + filled
  const url = new URL(query.length === 0 ? whole : `${whole}?${query.map((pair) => pair.join('=')).join('&')}`)
  // A reader of addresses takes away `.` and `..`, however they are written: then this is another path.
  const isSame =
    new URL(server.url).origin === url.origin && url.pathname.split('/').length === pathOf(whole).split('/').length
  if (isSame) return url
  const problem = { effect: 'none', type: 'InvalidRequest' } as const
  throw new CallEnded('request_invalid', 'the input leads to another path', problem)
}

const pathOf = (url: string): string => url.slice(url.indexOf('/', url.indexOf('//') + 2))

function segmentOf({ parameter, value }: Given): string {
  const { name, style = 'simple', explode = false } = parameter
  const text = inPath(style as PathStyle, { name, value, explode, write: (part) => encoded(harmless(part, parameter)) })
  return /^(?:\.|%2e){0,2}$/i.test(text) ? refuse(parameter.from, pathRule) : text
}

const pathRule = 'a value that can stand in a path: not empty, no `/` or `\\`, not `.` or `..`'

/** Refused however often it is encoded: some servers decode more than once. */
function harmless(part: string, { from }: Parameter): string {
  let text = part
  for (let round = 0; round < 4; round++) {
    if (text === '' || /[/\\\p{Cc}]|^\.{1,2}(?:;|$)/u.test(text)) return refuse(from, pathRule)
    text = text.replace(/%[0-9a-f]{2}/gi, (code) => String.fromCharCode(Number.parseInt(code.slice(1), 16)))
  }
  return part
}

function queryOf(template: HttpRequestTemplate, server: ServerAddress, given: readonly Given[]): Pair[] {
  const fixed = Object.entries(server.query ?? {}).map(([name, value]): Pair => [encoded(name), encoded(value)])
  const names = fixed.map(([name]) => name)
  return [...pairsIn('query', template, given, names), ...fixed]
}

/** Members of an object become names of their own: none may be that of another parameter, and nothing that of a fixed one. */
function pairsIn(place: Parameter['in'], template: HttpRequestTemplate, given: readonly Given[], fixed: Names): Pair[] {
  const declared = (template.parameters ?? []).filter((one) => one.in === place).map(({ name }) => name)
  const isFixed = readsAs(fixed)
  return given.flatMap((one) => {
    const { name: own, from } = one.parameter
    const others = declared.filter((name) => name !== own)
    const [exact, isOther] = [new Set(others.map(encoded)), readsAs(others)]
    const isTaken = ([name]: Pair): boolean => {
      if (isFixed(name) || isMethodName(name) || exact.has(name)) return true
      return foldedName(name) !== foldedName(own) && isOther(name)
    }
    const pairs = pairsOf(one)
    return pairs.some(isTaken) ? refuse(from, memberRule) : pairs
  })
}

const memberRule = 'an object without members that are parameters themselves, or a method'

/** The names in the text of a `cookie` header. */
export const cookieNames = (text: string): readonly string[] =>
  text.split(';').map((pair) => pair.split('=', 1)[0]?.trim() ?? '')

function pairsOf({ parameter, value }: Given): Pair[] {
  const { name, style = 'form', explode = style === 'form' } = parameter
  return asPairs(style as PairStyle, { name, value, explode, write: encoded })
}

/** Headers are not encoded, so nothing goes in that could end one, or one of its items. */
function headerOf({ parameter, value }: Given): string {
  const { name, style = 'simple', explode = false, from } = parameter
  const ends = isList(value) ? /,/ : isJsonObject(value) ? /[,=]/ : /(?!)/
  const fits = (text: string): boolean => isHeaderText(text) && (style === 'json' || !ends.test(text))
  const write = (text: string): string => (fits(text) ? text : refuse(from, 'text that can stand in a header'))
  return inPath(style as PathStyle, { name, value, explode, write })
}

export const isHeaderText = (text: string): boolean => /^[\x20-\x7e]*$/.test(text)

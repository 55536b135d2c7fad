import { Failure } from '../base/failure.ts'
import { readJson } from '../base/json.ts'
import { isJsonObject, type JsonObject } from '../base/object.ts'
import { jsonSchemaOf } from '../model/schemas.ts'
import { type Operation, routeOf } from '../operations/operation.ts'
import { collect } from '../runtime/collect.ts'
import type { RouteRequest } from './route.ts'

/** The input of an operation: the members of the path, with the body or the query; none of them twice. */
export async function readInput(request: RouteRequest, operation: Operation): Promise<Record<string, unknown>> {
  const { method, inPath } = routeOf(operation)
  const rest = method === 'POST' ? await readBody(request) : readQuery(request, operation.input)
  const given = Object.fromEntries(inPath.map((name) => [name, request.param(name)]))
  const twice = inPath.find((name) => Object.hasOwn(rest, name))
  if (twice === undefined) return { ...rest, ...given, ...readHeaders(request, operation) }
  throw new Failure('field.invalid', `\`/${twice}\` stands in the path already`, { pointer: `/${twice}` })
}

/** What HTTP says by headers: the id of a request that is made once, and where a reader of a stream goes on. */
function readHeaders({ request: { headers } }: RouteRequest, { input, resumes }: Operation): Record<string, unknown> {
  const key = headers.get('idempotency-key')
  const last = resumes === undefined ? null : headers.get('last-event-id')
  const takesKey = key !== null && 'requestId' in (jsonSchemaOf(input)['properties'] as object)
  return { ...(takesKey && { requestId: key }), ...(last !== null && { since: readValue(last, 'integer') }) }
}

export const queryOf = ({ request }: RouteRequest): URLSearchParams => new URL(request.url).searchParams

/** The members of a query. Numbers and booleans are converted as the schema says; other texts stay as they are. */
export function readQuery(request: RouteRequest, schema: string): Record<string, unknown> {
  const types = (jsonSchemaOf(schema)['properties'] ?? {}) as Readonly<Record<string, { readonly type?: string }>>
  const entries = [...queryOf(request)].map(([name, text]) => [name, readValue(text, types[name]?.type)] as const)
  const query = Object.fromEntries(entries)
  if (Object.keys(query).length === entries.length) return query
  throw new Failure('field.invalid', 'query: a member is given twice', { pointer: '' })
}

function readValue(text: string, type: string | undefined): unknown {
  if (type === 'integer' || type === 'number') return /^\d{1,15}$/.test(text) ? Number(text) : text
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}

/** The body as a JSON object. The rest of one that is too large or too slow stays unread. */
export async function readBody({ request, body }: RouteRequest): Promise<JsonObject> {
  const { bytesMax } = body
  const announced = Number(request.headers.get('content-length') ?? Number.NaN)
  if (announced > bytesMax) throw tooLarge(bytesMax)
  checkType(request.headers.get('content-type'))
  const bytes = await received(request, Number.isNaN(announced), body)
  if (bytes.byteLength > bytesMax) throw tooLarge(bytesMax)
  const value = readJson(bytes, { bytesMax })
  if (!isJsonObject(value)) throw new Failure('field.invalid', 'the body must be an object', { pointer: '' })
  return value
}

/** Only JSON, by name: a page in a browser can send all other types without a preflight. */
function checkType(type: string | null): void {
  if (/^application\/json[ \t]*(?:;[ \t]*charset[ \t]*=[ \t]*"?utf-8"?[ \t]*)?$/i.test(type ?? '')) return
  throw new Failure('media.unsupported', 'the body must be `application/json`')
}

/** A body that arrives too slowly is given up: its request takes a place. Reading fails only when the sender breaks off. */
async function received(request: Request, isOpenEnded: boolean, { bytesMax, ms }: Limits): Promise<Uint8Array> {
  // A body of known length costs far less whole than in parts. If it is late, closing its connection ends the reading.
  const reader = isOpenEnded ? request.body?.getReader() : undefined
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Failure('body.late', `the body took more than ${ms} ms`)), ms)
  const tooMuch = () => tooLarge(bytesMax)
  const reading = reader === undefined ? request.arrayBuffer() : collect(partsOf(reader), bytesMax, tooMuch)
  try {
    return new Uint8Array(await Promise.race([reading, late.promise]))
  } catch (error) {
    if (error instanceof Failure) throw error
    throw new Failure('json.invalid', 'the body ended before it was whole')
  } finally {
    clearTimeout(timer)
    void reader?.cancel().catch(() => undefined)
  }
}

type Limits = RouteRequest['body']

async function* partsOf(reader: ReadableStreamDefaultReader<Uint8Array>): AsyncGenerator<Uint8Array> {
  for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value
}

const tooLarge = (bytesMax: number): Failure =>
  new Failure('payload.too_large', `the body has more than ${bytesMax} bytes`)

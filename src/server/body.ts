import { Failure } from '../base/failure.ts'
import { readJson } from '../base/json.ts'
import { isJsonObject, type JsonObject } from '../base/object.ts'
import { collect } from '../runtime/collect.ts'
import type { Ask } from './route.ts'

/**
 * The body as a JSON object. Its size is judged before it is read and while it is: of one that is too large, or too
 * slow, the rest stays unread.
 */
export async function readBody({ request, deps: { body } }: Ask): Promise<JsonObject> {
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

/** Only JSON, by name: a page in a browser can send everything else without asking first. */
function checkType(type: string | null): void {
  if (/^application\/json[ \t]*(?:;[ \t]*charset[ \t]*=[ \t]*"?utf-8"?[ \t]*)?$/i.test(type ?? '')) return
  throw new Failure('media.unsupported', 'the body must be `application/json`')
}

/**
 * A request that is being sent takes a place: whoever sends no more of it must not keep that, and is read no further. A
 * body that breaks off is the sender's doing: nothing else makes reading it fail.
 */
async function received(request: Request, isOpenEnded: boolean, { bytesMax, ms }: Limits): Promise<Uint8Array> {
  // One of a known length costs far less whole than by its parts. If it is late, its connection ends, and with that its reading.
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

type Limits = Ask['deps']['body']

async function* partsOf(reader: ReadableStreamDefaultReader<Uint8Array>): AsyncGenerator<Uint8Array> {
  for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value
}

const tooLarge = (bytesMax: number): Failure =>
  new Failure('payload.too_large', `the body has more than ${bytesMax} bytes`)

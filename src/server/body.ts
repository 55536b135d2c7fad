import { Failure } from '../base/failure.ts'
import { readJson } from '../base/json.ts'
import { isJsonObject, type JsonObject } from '../base/object.ts'
import { collect } from '../runtime/collect.ts'
import type { Ask } from './route.ts'

/**
 * The body as a JSON object. Its size is judged before it is read and while it is: of one that is too large the rest
 * stays unread.
 */
export async function readBody({ request, deps: { bodyBytesMax } }: Ask): Promise<JsonObject> {
  const announced = Number(request.headers.get('content-length') ?? Number.NaN)
  if (announced > bodyBytesMax) throw tooLarge(bodyBytesMax)
  checkType(request.headers.get('content-type'))
  const bytes = await received(request, Number.isNaN(announced), bodyBytesMax)
  if (bytes.byteLength > bodyBytesMax) throw tooLarge(bodyBytesMax)
  const value = readJson(bytes, { bytesMax: bodyBytesMax })
  if (!isJsonObject(value)) throw new Failure('field.invalid', 'the body must be an object', { pointer: '' })
  return value
}

/** Only JSON, by name: a page in a browser can send everything else without asking first. */
function checkType(type: string | null): void {
  if (/^application\/json[ \t]*(?:;[ \t]*charset[ \t]*=[ \t]*"?utf-8"?[ \t]*)?$/i.test(type ?? '')) return
  throw new Failure('media.unsupported', 'the body must be `application/json`')
}

/** A body that breaks off is the sender's doing: nothing else makes reading it fail. */
async function received(request: Request, isOpenEnded: boolean, bytesMax: number): Promise<Uint8Array> {
  try {
    if (!isOpenEnded) return new Uint8Array(await request.arrayBuffer())
    return await collect(request.body ?? [], bytesMax, () => tooLarge(bytesMax))
  } catch (error) {
    if (error instanceof Failure) throw error
    throw new Failure('json.invalid', 'the body ended before it was whole')
  }
}

const tooLarge = (bytesMax: number): Failure =>
  new Failure('payload.too_large', `the body has more than ${bytesMax} bytes`)

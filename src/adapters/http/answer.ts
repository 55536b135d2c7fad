import { STATUS_CODES } from 'node:http'
import type { Json } from '../../base/canonical.ts'
import { readJson } from '../../base/json.ts'
import { limits } from '../../base/limits.ts'
import { isJsonObject } from '../../base/object.ts'
import { CallEnded, type Effect } from '../../gateway/ended.ts'
import { UpstreamFailed } from '../adapter.ts'
import { mediaOf } from './media.ts'

/** JSON as it is, other text as `{content_type, text}`, bytes as `{content_type, base64}`; null for nothing. */
export async function readAnswer(response: Response, method: string): Promise<Json> {
  if (!response.ok) throw await failureOf(response)
  if (method === 'HEAD') return headOf(response)
  const type = response.headers.get('content-type') ?? 'application/octet-stream'
  const { essence } = mediaOf(type)
  if (endless.includes(essence)) {
    await response.body?.cancel()
    throw unusable('media_refused', `the answer is \`${essence}\`, which has no end`)
  }
  const bytes = await bytesOf(response, limits.answerBytesMax)
  return bytes.byteLength === 0 ? null : dataOf(bytes, type)
}

const endless = ['text/event-stream', 'multipart/x-mixed-replace']

/** What came with success but cannot be used: the effect is there. */
const unusable = (code: string, message: string, effect: Effect = 'done'): CallEnded =>
  new CallEnded(code, message, { effect })

/** What a server tells of something without showing it. */
const headOf = ({ status, headers }: Response): Json => {
  const names = ['content-type', 'content-length', 'etag', 'last-modified'] as const
  const shown = names.flatMap((name) => (headers.has(name) ? [[name.replace('-', '_'), headers.get(name)]] : []))
  return { status, ...Object.fromEntries(shown) }
}

async function bytesOf(response: Response, bytesMax: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    for await (const chunk of response.body ?? []) {
      chunks.push(chunk)
      size += chunk.byteLength
      // Leaving ends the connection: nothing more of it is read.
      if (size > bytesMax) break
    }
  } catch {
    throw unusable('no_answer', 'the answer of the server broke off', 'unknown')
  }
  if (size > bytesMax) throw unusable('answer_too_large', `the answer has more than ${bytesMax} bytes`)
  return Buffer.concat(chunks)
}

function dataOf(bytes: Uint8Array, type: string): Json {
  const { kind, essence, charset } = mediaOf(type)
  if (kind === 'json') return jsonOf(bytes)
  const text = kind === 'text' ? decoded(bytes, charset) : undefined
  return text === undefined
    ? { content_type: essence, base64: Buffer.from(bytes).toString('base64') }
    : { content_type: essence, text }
}

function jsonOf(bytes: Uint8Array): Json {
  try {
    // Some servers begin every text with a byte order mark, which readers may pass over (RFC 8259, 8.1).
    return readJson(new TextDecoder('utf-8', { fatal: true }).decode(bytes), { bytesMax: limits.answerBytesMax })
  } catch (error) {
    throw unusable('answer_invalid', `the answer is no JSON that can be trusted: ${(error as Error).message}`)
  }
}

function decoded(bytes: Uint8Array, charset: string): string | undefined {
  try {
    return new TextDecoder(charset, { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** What the server says of a failure is not shown, but for a code that it gives: a single short word. */
async function failureOf(response: Response): Promise<Error> {
  const { status, headers } = response
  const code = codeIn(await refusalOf(response))
  const seconds = headers.get('retry-after') ?? ''
  const retryAfterS = /^\d{1,5}$/.test(seconds) ? Number(seconds) : 0
  const said = code === undefined ? '' : ` (\`${code}\`)`
  const again = retryAfterS > 0 ? `; it can be tried again in ${retryAfterS} s` : ''
  const message = `the server answered ${status} ${STATUS_CODES[status] ?? ''}`.trimEnd() + said + again
  const isRefusal = status >= 400 && status < 500
  const failed = isRefusal
    ? // That it did nothing is the word of the server.
      new CallEnded(`http_${status}`, message, { effect: 'none', type: 'HttpError', isClaimed: true })
    : new UpstreamFailed(`http_${status}`, message, 'HttpError')
  return Object.assign(failed, { retryAfterS })
}

async function refusalOf(response: Response): Promise<Json> {
  try {
    const bytes = await bytesOf(response, limits.refusalBytesMax)
    return mediaOf(response.headers.get('content-type') ?? '').kind === 'json' ? readJson(bytes) : null
  } catch {
    return null
  }
}

function codeIn(body: Json): string | undefined {
  if (!isJsonObject(body)) return undefined
  const { error = null } = body
  const found = [body['code'], isJsonObject(error) ? (error['code'] ?? error['type']) : error, body['type']]
  return found.find(
    (code) => typeof code === 'string' && /^[A-Za-z0-9]+(?:[_.-][A-Za-z0-9]+){0,3}$/.test(code) && code.length <= 40,
  ) as string | undefined
}

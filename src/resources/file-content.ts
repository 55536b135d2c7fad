import { Failure } from '../base/failure.ts'
import { limits } from '../base/limits.ts'

/** The bytes that a tool was given. */
export function bytesOf(content: string, encoding: 'utf8' | 'base64' = 'utf8'): Buffer {
  const bytes = Buffer.from(content, encoding)
  if (bytes.toString(encoding) === content) return bytes
  throw new Failure('args.invalid', `\`content\` is not ${encoding}`, { member: 'content' })
}

/** Bytes as text where they are text, and how many of them: where more follow, no half character at their end. */
export function showBytes(bytes: Uint8Array, hasMore: boolean) {
  const text = textIn(bytes, hasMore)
  if (text === undefined || (text === '' && bytes.length > 0))
    return { content: Buffer.from(bytes).toString('base64'), encoding: 'base64', taken: bytes.length }
  return { content: text, encoding: 'utf8', taken: Buffer.byteLength(text) }
}

/** The lines of a text that contain these words; none of what is no text. */
export function* linesWith(
  words: string,
  bytes: Uint8Array,
): Generator<{ readonly line: number; readonly text: string }> {
  const wanted = words.toLowerCase()
  for (const [index, line] of (textIn(bytes, false) ?? '').split('\n').entries())
    if (line.toLowerCase().includes(wanted))
      yield { line: index + 1, text: line.trim().slice(0, limits.fileLineCharsMax).toWellFormed() }
}

/** Text of which a result has the size of the bytes: what would have to be written as escapes is none. */
function textIn(bytes: Uint8Array, hasMore: boolean): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes, { stream: hasMore })
    return unprintable.test(text) ? undefined : text
  } catch {
    return undefined
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const unprintable = /[\0-\x08\x0b\x0e-\x1f]/

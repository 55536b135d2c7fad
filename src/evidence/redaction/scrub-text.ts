import { limits } from '../../base/limits.ts'
import { wordFinder } from './find-words.ts'
import { type Unescaped, unescaped } from './unescape.ts'

/**
 * Puts what `hide` gives in the place of every secret, in whatever form; secrets that overlap go as one. Of a very long
 * secret the beginning is looked for, and all that follows it goes. If there is too much to look for, the whole text goes.
 * If asked for the whole, a text goes only if all of it is one secret.
 */
export function scrubber(secrets: readonly string[], hide: () => string): (text: string, whole?: 'whole') => string {
  if (secrets.length === 0) return (text) => text
  const forms = formsOf(secrets)
  if (forms === undefined) return hide
  if (forms.size === 0) return (text) => text
  const find = wordFinder(forms.keys())
  const rangesIn = (text: string): readonly Range[] => {
    const ranges: Range[] = []
    find(text, (form, end) => {
      const start = end - form.length
      if (form.length < partCharsMin && !isWord(text, start, end)) return false
      cover(ranges, { start, end: forms.get(form) === true ? text.length : end })
      return true
    })
    return ranges
  }
  return (text, whole) => {
    if (whole) return forms.has(text) ? hide() : text
    const found = readingsOf(text).flatMap((reading) =>
      [...rangesIn(reading.text), ...passwordsIn(reading.text, rangesIn)].map(
        ({ start, end }): Range => ({ start: reading.placeOf(start), end: reading.placeOf(end) }),
      ),
    )
    return found.length === 0 ? text : replaced(text, joined(found), hide)
  }
}

// Anywhere in a text a short secret would hide parts of other words: below this it must stand as a word.
const partCharsMin = 8

/** A text as it stands, and without the escapes of up to two writers, whether or not one of them escapes by backslashes. */
function readingsOf(text: string): readonly Unescaped[] {
  const whole: Unescaped = { text, placeOf: (at) => at }
  const layers = layersOf(whole, true)
  const hasBackslash = layers.length > 0 && [whole, ...layers].some((reading) => reading.text.includes('\\'))
  return [whole, ...layers, ...(hasBackslash ? layersOf(whole, false) : [])]
}

function layersOf(outer: Unescaped, backslashes: boolean, left = layersMax): readonly Unescaped[] {
  const next = left > 0 ? unescaped(outer.text, backslashes) : undefined
  if (next === undefined) return []
  const layer: Unescaped = { text: next.text, placeOf: (at) => outer.placeOf(next.placeOf(at)) }
  return [layer, ...layersOf(layer, backslashes, left - 1)]
}

const layersMax = 2

/** In base64 no word can be seen, so a name and a short password are read as they were before. */
const passwordsIn = (text: string, rangesIn: (text: string) => readonly Range[]): readonly Range[] =>
  [...text.matchAll(/\bbasic[ +]+([\w+/-]{2,}={0,2})/gi)].flatMap(({ index, 0: all, 1: token = '' }) => {
    const end = index + all.length
    return rangesIn(pairIn(token)).length > 0 ? [{ start: end - token.length, end }] : []
  })

/** A name and a password, with a colon between them, from their base64; empty if it is that of something else. */
function pairIn(token: string): string {
  const plain = Buffer.from(token, 'base64').toString()
  return plain.includes(':') && !/[\p{Cc}\ufffd]/u.test(plain) ? plain : ''
}

/** A secret, and what it holds if it is a name and a password as they are sent. */
function partsOf(secret: string): readonly string[] {
  const [, token = ''] = /^(?:basic +)?([\w+/-]{4,1024}={0,2})$/i.exec(secret) ?? []
  const pair = pairIn(token)
  if (pair === '') return [secret]
  const colon = pair.indexOf(':')
  const [name, password] = [pair.slice(0, colon), pair.slice(colon + 1)]
  // Some take a key for the name, and anything for the password.
  return [secret, token, pair, password.length < 4 && name.length > password.length ? name : password]
}

/** What to look for, and whether it is but the beginning of a secret; undefined if it is too much. */
function formsOf(secrets: readonly string[]): Map<string, boolean> | undefined {
  const forms = new Map<string, boolean>()
  let chars = 0
  for (const secret of secrets.flatMap((one) => partsOf(one.trim())))
    for (const { form, isCut } of formsOfOne(secret)) {
      if (form === '' || forms.get(form) === true) continue
      if (!forms.has(form)) chars += form.length
      if (chars > limits.secretFormsCharsMax) return undefined
      forms.set(form, isCut)
    }
  return forms
}

/** Without blanks, as in headers, and without what looks like escapes: readers of a text take them off a secret too. */
function formsOfOne(secret: string): readonly Form[] {
  const isCut = secret.length > limits.secretFormCharsMax
  const start = secret.slice(0, limits.secretFormCharsMax)
  // The cut may halve an escape, and that of an escape.
  const end = isCut ? -escapeCharsMax * layersMax : undefined
  const bare = readingsOf(start).map(({ text }) => text.slice(0, end).trim())
  const written = [start, start.toWellFormed(), ...bare].flatMap((form) => [form, form.replaceAll(' ', '+')])
  return [...written.map((form) => ({ form, isCut })), ...bytesOf(secret)]
}

const escapeCharsMax = 12

interface Form {
  readonly form: string
  readonly isCut: boolean
}

/** A secret as bytes in hex or inside base64, wherever it begins there: of a long one the beginning, no short ones. */
function bytesOf(secret: string): readonly Form[] {
  const bytes = Buffer.from(secret.slice(0, bytesMax + 1))
  if (bytes.length < bytesMin) return []
  const start = bytes.subarray(0, bytesMax)
  const base64 = [0, 1, 2].flatMap((before) => {
    const text = Buffer.concat([Buffer.alloc(before), start]).toString('base64')
    const form = text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + start.length) * 8) / 6))
    return [form, form.replaceAll('+', '-').replaceAll('/', '_')]
  })
  const hex = start.toString('hex')
  return [...base64, hex, hex.toUpperCase()].map((form) => ({ form, isCut: bytes.length > bytesMax }))
}

const bytesMin = partCharsMin
const bytesMax = 48

function isWord(text: string, start: number, end: number): boolean {
  return (
    !/[\p{L}\p{N}]$/u.test(text.slice(Math.max(0, start - 2), start)) &&
    !/^[\p{L}\p{N}]/u.test(text.slice(end, end + 2))
  )
}

interface Range {
  readonly start: number
  readonly end: number
}

function joined(found: readonly Range[]): readonly Range[] {
  const ranges: Range[] = []
  for (const range of found.toSorted((one, other) => one.start - other.start)) cover(ranges, range)
  return ranges
}

/** Adds a range, and joins it with those that it overlaps. */
function cover(ranges: Range[], range: Range): void {
  let { start, end } = range
  for (let last = ranges.at(-1); last !== undefined && last.end > start; last = ranges.at(-1)) {
    start = Math.min(start, last.start)
    end = Math.max(end, last.end)
    ranges.pop()
  }
  ranges.push({ start, end })
}

function replaced(text: string, ranges: readonly Range[], hide: () => string): string {
  const parts: string[] = []
  let from = 0
  for (const { start, end } of ranges) {
    parts.push(text.slice(from, start), hide())
    from = end
  }
  return [...parts, text.slice(from)].join('')
}

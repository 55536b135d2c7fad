import { limits } from '../base/limits.ts'
import { wordFinder } from './find-words.ts'

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
  return (text, whole) => {
    const ranges: Range[] = []
    find(text, (form, end) => {
      const start = end - form.length
      if (whole ? form !== text : form.length < partCharsMin && !isWord(text, start, end)) return false
      const isCut = forms.get(form) === true
      cover(ranges, { start, end: isCut ? text.length : end })
      return true
    })
    return ranges.length === 0 ? text : replaced(text, ranges, hide)
  }
}

// Anywhere in a text a short secret would hide parts of other words: below this it must stand as a word.
const partCharsMin = 8

const { secretFormCharsMax: formCharsMax } = limits

/** What to look for, and whether it is but the beginning of a secret; undefined if it is too much. */
function formsOf(secrets: readonly string[]): Map<string, boolean> | undefined {
  const forms = new Map<string, boolean>()
  let chars = 0
  for (const secret of secrets)
    for (const { form, isCut } of formsOfOne(secret.trim())) {
      if (form === '' || forms.get(form) === true) continue
      if (!forms.has(form)) chars += form.length
      if (chars > limits.secretFormsCharsMax) return undefined
      forms.set(form, isCut)
    }
  return forms
}

/** Blanks around a secret are gone where it was sent as a header, and tell nothing where they are not. */
function formsOfOne(secret: string): readonly Form[] {
  // One more than is looked for: the cut may halve a character, and then only behind what is looked for.
  const start = secret.slice(0, formCharsMax + 1)
  const json = JSON.stringify(start).slice(1, -1)
  const urls = inUrl(start.toWellFormed())
  const seldom = [...inOtherJson(json), ...inHtml(start), ...urls.map(encodeURIComponent)]
  const usual = [start, json, ...urls]
  const isUsual = (beginning: string): boolean => usual.some((one) => one.startsWith(beginning))
  return [
    ...usual.map((whole) => cut(whole, formCharsMax)),
    ...seldom.map((whole) => cut(whole, isUsual(whole.slice(0, seldomCharsMax)) ? formCharsMax : seldomCharsMax)),
    ...bytesOf(secret),
  ]
}

const cut = (whole: string, charsMax: number): Form => ({
  form: whole.slice(0, charsMax),
  isCut: whole.length > charsMax,
})

// Of forms that are many and hardly ever met less is enough, where it tells them apart.
const seldomCharsMax = 256

/** As writers of JSON do that escape more than ours: slashes, signs of HTML, or all that is not ASCII. */
function inOtherJson(json: string): readonly string[] {
  const unicode = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
  const ascii = json.replace(/[^\0-\x7f]/g, unicode)
  return [json, ascii].flatMap((one) => [one, one.replaceAll('/', '\\/'), one.replace(/[&<>]/g, unicode)])
}

function inHtml(text: string): readonly string[] {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  return [
    ['&quot;', '&#39;'],
    ['&quot;', '&#x27;'],
    ['&#34;', '&#39;'],
  ].map(([double = '', single = '']) => escaped.replaceAll('"', double).replaceAll("'", single))
}

/** As browsers write it, as our own requests do, which escape more, as forms do and as whole addresses are; each also with escapes in lower case. */
function inUrl(text: string): readonly string[] {
  if (/^[\w.-]*$/.test(text)) return []
  const plain = encodeURIComponent(text)
  const strict = plain.replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
  const form = `${new URLSearchParams({ '': text })}`.slice(1)
  const written = [plain, strict].flatMap((one) => [one, one.replaceAll('%20', '+')])
  return [...written, form, encodeURI(text)].flatMap((one) => [one, one.replace(/%../g, (code) => code.toLowerCase())])
}

interface Form {
  readonly form: string
  readonly isCut: boolean
}

/**
 * A secret as bytes in hex, or inside of bytes in base64, wherever in them it begins: what of it depends on nothing around
 * it. What is shorter could be anything, and of what is longer the beginning tells enough.
 */
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

const bytesMin = 10
const bytesMax = 48

/** The last letter or digit of an escape, as in `%20` and `\n`, is none of a word. */
function isWord(text: string, start: number, end: number): boolean {
  const before = text.slice(Math.max(0, start - 6), start)
  const begins = !/[\p{L}\p{N}]$/u.test(before) || /(?:%[\da-f]{2}|\\[bfnrt]|\\u[\da-f]{4})$/i.test(before)
  return begins && !/^[\p{L}\p{N}]/u.test(text.slice(end, end + 2))
}

interface Range {
  readonly start: number
  readonly end: number
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

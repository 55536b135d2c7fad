import { ampersandLike, openerLike } from './fold.ts'
import { lookalikes } from './lookalikes.ts'

export interface Disarmed {
  readonly text: string
  /** How many places looked like one of our elements. */
  readonly disarmed: number
}

/**
 * Text that no reader can take for one of our elements: a bracket that could open one is written `&lt;`, and where it
 * already was a reference its ampersands are written `&amp;`, so that decoding once gives the text as it came.
 * Control characters other than line breaks and tab, and lone surrogates, become U+FFFD. All else stays.
 */
export function disarm(text: string): Disarmed {
  if (text.search(openerLike) < 0) return { text: clean(text), disarmed: 0 }
  const places = new Set<number | undefined>()
  const marked = new Set<number>()
  // An ampersand more can delay a decoding so that another bracket comes to stand before a name: look until none does.
  for (;;) {
    const { out, origins } = write(text, marked)
    const known = marked.size
    for (const { start, end } of lookalikes(out)) {
      places.add(origins.get(start))
      for (let at = start; at < end; at++) {
        const origin = origins.get(at)
        if (origin !== undefined) marked.add(origin)
      }
    }
    if (marked.size === known) return { text: clean(out), disarmed: places.size }
  }
}

/** The text with the marked openers escaped, and where each opener of the outcome stood in the text. */
function write(text: string, marked: ReadonlySet<number>): { out: string; origins: ReadonlyMap<number, number> } {
  const origins = new Map<number, number>()
  let out = ''
  let done = 0
  for (const { 0: char, index } of text.matchAll(openerLike)) {
    out += text.slice(done, index)
    origins.set(out.length, index)
    out += marked.has(index) ? escapeOpener(char) : char
    done = index + 1
  }
  return { out: out + text.slice(done), origins }
}

const escapeOpener = (char: string): string => (char.search(ampersandLike) === 0 ? '&amp;' : '&lt;')

const clean = (text: string): string => text.toWellFormed().replace(control, '\ufffd')

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must go
const control = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g

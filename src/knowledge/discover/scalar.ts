import type { Json } from '../../base/canonical.ts'

/**
 * What a plain YAML scalar means. It becomes a number, a truth value or nothing only where writing that again gives the
 * same text; so a version `1.10`, a date and `TRUE` stay the text they are, and text fields lose nothing.
 */
export function scalarOf(text: string): Json {
  if (nothing.has(text)) return null
  if (text === 'true') return true
  if (text === 'false') return false
  return number.test(text) && String(Number(text)) === text ? Number(text) : text
}

const nothing: ReadonlySet<string> = new Set(['', '~', 'null', 'Null', 'NULL'])
const number = /^-?\d{1,15}(\.\d{1,15})?$/

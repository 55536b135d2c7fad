import { quote } from './failure.ts'

/** A number with the word for it: `1 policy`, `2 policies`. */
export const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`

const typeNames: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  integer: 'an integer',
  int: 'an integer',
  boolean: 'a boolean',
  object: 'an object',
  record: 'an object',
  array: 'an array',
}

/** The types that a value may have, each once. */
export const typesText = (types: readonly unknown[]): string =>
  [...new Set(types.map((type) => typeNames[String(type)] ?? String(type)))].join(' or ')

/** The values that are allowed, as many of them as a reader takes in. */
export function valuesText(values: readonly unknown[]): string {
  const shown = values
    .slice(0, 8)
    .map((value) => shortQuote(typeof value === 'string' ? value : String(JSON.stringify(value))))
  if (values.length === 1) return shown.join('')
  const more = values.length - shown.length
  return `one of ${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

const sizeNouns: Readonly<Record<string, string>> = { string: 'character', array: 'item', object: 'member' }

/** What is asked of the size of a string, an array or an object, or of a number itself. */
export const boundText = (type: string, relation: string, limit: number | bigint): string =>
  sizeNouns[type] === undefined
    ? `must be ${relation} ${limit}`
    : `must have ${relation} ${counted(Number(limit), sizeNouns[type])}`

/** A name or a value out of a schema, or a name that a caller sent: foreign text, so it is kept short. */
export const shortQuote = (text: string): string => quote(shortened(text, 40))

/** The text, or its beginning with a sign that it goes on. */
export const shortened = (text: string, charsMax: number): string =>
  text.length <= charsMax ? text : `${text.slice(0, Math.max(charsMax - 1, 0)).toWellFormed()}…`

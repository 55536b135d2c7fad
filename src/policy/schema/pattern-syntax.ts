import { Failure, quote } from '../../base/failure.ts'

/** A regular expression as a tree. `char` is the source of what takes one character, `place` that of what takes none. */
export type PatternPart =
  | { readonly kind: 'char'; readonly source: string }
  | { readonly kind: 'place'; readonly source: '^' | '$' | '\\b' | '\\B' }
  | { readonly kind: 'all'; readonly parts: readonly PatternPart[] }
  | { readonly kind: 'any'; readonly parts: readonly PatternPart[] }
  | { readonly kind: 'repeat'; readonly part: PatternPart; readonly min: number; readonly max: number }
  | { readonly kind: 'look'; readonly part: PatternPart; readonly isBehind: boolean; readonly isWanted: boolean }

const hex = '[\\da-fA-F]'
const escaped = `\\\\(?:u\\{${hex}+\\}|u[dD][89abAB]${hex}{2}\\\\u[dD][c-fC-F]${hex}{2}|u${hex}{4}|x${hex}{2}|c[A-Za-z]|[pP]\\{[^}]*\\}|.)`
const group = '\\((?:\\?(?:[:=!]|<[=!]|<[^>]*>))?'
const count = '[*+?]\\??|\\{\\d+(?:,\\d*)?\\}\\??'
const tokens = new RegExp(`${escaped}|\\[(?:\\\\.|[^\\]\\\\])*\\]|${group}|${count}|.`, 'gsu')

/** Reads a regular expression of ECMAScript with the flag `u`; throws if it is none, or refers back to what it found. */
export function readPattern(source: string): PatternPart {
  try {
    // What follows takes it for well formed.
    new RegExp(source, 'u')
  } catch {
    throw refused(source, 'is no regular expression')
  }
  return readChoice({ source, tokens: source.match(tokens) ?? [], at: 0 })
}

const refused = (source: string, why: string): Failure =>
  new Failure('field.invalid', `the pattern ${quote(source)} ${why}`)

interface Reader {
  readonly source: string
  readonly tokens: readonly string[]
  at: number
}

function readChoice(reader: Reader): PatternPart {
  const first = readSequence(reader)
  if (reader.tokens[reader.at] !== '|') return first
  const parts = [first]
  while (reader.tokens[reader.at] === '|') {
    reader.at++
    parts.push(readSequence(reader))
  }
  return { kind: 'any', parts }
}

function readSequence(reader: Reader): PatternPart {
  const parts: PatternPart[] = []
  for (let token = reader.tokens[reader.at]; token !== undefined; token = reader.tokens[reader.at]) {
    if (token === '|' || token === ')') break
    reader.at++
    parts.push(repeated(reader, readOne(reader, token)))
  }
  return { kind: 'all', parts }
}

function readOne(reader: Reader, token: string): PatternPart {
  if (token === '^' || token === '$' || token === '\\b' || token === '\\B') return { kind: 'place', source: token }
  if (/^\\[1-9k]/.test(token)) throw refused(reader.source, 'refers back to what it found')
  if (!token.startsWith('(')) {
    if (isCount(token)) throw refused(reader.source, 'has a group of a kind that is not known')
    return { kind: 'char', source: token }
  }
  const part = readChoice(reader)
  reader.at++
  if (!/^\(\?<?[=!]$/.test(token)) return part
  return { kind: 'look', part, isBehind: token.includes('<'), isWanted: token.endsWith('=') }
}

const isCount = (token: string | undefined): token is string => token !== undefined && /^(?:[*+?]|\{\d)/.test(token)

function repeated(reader: Reader, part: PatternPart): PatternPart {
  const token = reader.tokens[reader.at]
  if (!isCount(token)) return part
  reader.at++
  const [, least, comma, most] = /^\{(\d+)(,?)(\d*)/.exec(token) ?? []
  const min = Number(least ?? (token.startsWith('+') ? 1 : 0))
  if (least === undefined)
    return { kind: 'repeat', part, min, max: token.startsWith('?') ? 1 : Number.POSITIVE_INFINITY }
  return { kind: 'repeat', part, min, max: comma === '' ? min : most ? Number(most) : Number.POSITIVE_INFINITY }
}

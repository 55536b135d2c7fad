/** A line of a `.gitignore` that can leave out folders. */
export interface IgnoreRule {
  /** Takes back what rules before it left out. */
  readonly negated: boolean
  /** By segments; a pattern without a slash inside fits at any depth. */
  readonly pattern: readonly (readonly Token[] | typeof star)[]
}

type Token = typeof star | typeof anyChar | Class | string
const star = Symbol('any number')
const anyChar = Symbol('any one')

interface Class {
  readonly negated: boolean
  readonly ranges: readonly (readonly [string, string])[]
}

/** The first rules of a file; more than so many are not looked at. */
export const readIgnoreRules = (text: string): readonly IgnoreRule[] =>
  text
    .split(/\r\n?|\n/)
    .flatMap(readRule)
    .slice(0, rulesMax)

const rulesMax = 1_000

/** What the rules of one file say of a folder, by its segments from that file on; the last rule that fits decides. */
export function ignores(rules: readonly IgnoreRule[], segments: readonly string[]): boolean | undefined {
  const rule = rules.findLast(({ pattern }) => matches(pattern, segments, matchesName))
  return rule === undefined ? undefined : !rule.negated
}

function readRule(line: string): IgnoreRule[] {
  const written = withoutEnd(line)
  const negated = written.startsWith('!')
  const body = (negated ? written.slice(1) : written).replace(/(?<!\/)\/+$/, '')
  if (body === '' || written.startsWith('#')) return []
  const parts = body.replace(/^\/+/, '').split('/')
  const pattern = parts.map((part) => (part === '**' ? star : tokensOf(part)))
  const inside = pattern.at(-1) === star ? [[star]] : []
  const anywhere = body.includes('/') ? [] : [star]
  return [{ negated, pattern: [...anywhere, ...pattern, ...inside] as IgnoreRule['pattern'] }]
}

/** Blanks at the end do not count; one behind a backslash does. */
function withoutEnd(line: string): string {
  let end = line.length
  while (line[end - 1] === ' ') end--
  return line.slice(0, line[end - 1] === '\\' ? end + 1 : end)
}

function tokensOf(part: string): readonly Token[] {
  const tokens: Token[] = []
  for (const { 0: written, groups } of part.matchAll(token)) {
    if (groups?.['set'] !== undefined) tokens.push(classOf(groups['set']))
    else if (/^\*+$/.test(written)) tokens.push(star)
    else if (written === '?') tokens.push(anyChar)
    else tokens.push(written.length > 1 && written.startsWith('\\') ? written.slice(1) : written)
  }
  return tokens
}

const token = /\*+|\?|\[(?<set>[!^]?\]?[^\]]*)\]|\\.|./gsu

function classOf(set: string): Class {
  const negated = /^[!^]/.test(set)
  const ranges = [...set.slice(negated ? 1 : 0).matchAll(/(.)-(.)|\\?(.)/gsu)].map(
    ([, from, to, one = '']) => [from ?? one, to ?? one] as const,
  )
  return { negated, ranges }
}

const matchesName = (pattern: readonly Token[], name: string): boolean => matches(pattern, [...name], matchesChar)

function matchesChar(wanted: Exclude<Token, typeof star>, char: string): boolean {
  if (typeof wanted === 'string') return wanted === char
  if (wanted === anyChar) return true
  return wanted.ranges.some(([from, to]) => from <= char && char <= to) !== wanted.negated
}

/** Wildcard matching that goes back to the last star alone, so no pattern can make it slow. */
function matches<P, I>(
  pattern: readonly (P | typeof star)[],
  items: readonly I[],
  fits: (wanted: Exclude<P, typeof star>, item: I) => boolean,
): boolean {
  let [at, item, lastStar, resume] = [0, 0, -1, 0]
  while (item < items.length) {
    const wanted = pattern[at]
    if (at < pattern.length && wanted === star) {
      ;[lastStar, resume] = [at++, item]
    } else if (at < pattern.length && fits(wanted as Exclude<P, typeof star>, items[item] as I)) {
      at++
      item++
    } else if (lastStar >= 0) {
      at = lastStar + 1
      item = ++resume
    } else return false
  }
  return pattern.slice(at).every((rest) => rest === star)
}

import { CST, isMap, isScalar, isSeq, Lexer, parseDocument } from 'yaml'
import type { Json } from '../../base/canonical.ts'
import { limits } from '../../base/limits.ts'
import type { Trouble } from './frontmatter.ts'
import { scalarOf } from './scalar.ts'

export type YamlMap = { readonly [key: string]: Json }

/** How much of it is read, and what it is called in refusals. */
export interface YamlBounds {
  readonly what: string
  readonly depthMax: number
  readonly nodesMax: number
  readonly linesMax: number
}

const frontmatter: YamlBounds = {
  what: 'the frontmatter',
  depthMax: limits.knowledgeYamlDepthMax,
  nodesMax: limits.knowledgeYamlNodesMax,
  linesMax: limits.knowledgeYamlLinesMax,
}

/**
 * A map in YAML 1.2 as plain data. What can expand, alias, overwrite or choose its own type is refused before a tree is
 * built; `__proto__` and the like are keys as any other.
 */
export function readYaml(text: string, bounds: YamlBounds = frontmatter): { readonly map: YamlMap } | Trouble {
  const { what } = bounds
  const feature = refusedFeature(text, bounds)
  if (feature !== undefined) return refused(feature, what)
  try {
    return readDocument(text, bounds)
  } catch (error) {
    if (error instanceof Refusal) return refused(error.message, what)
    if (error instanceof RangeError) return refused('nesting this deep', what)
    throw error
  }
}

function readDocument(text: string, bounds: YamlBounds): { readonly map: YamlMap } | Trouble {
  const { what } = bounds
  const document = parseDocument(text, options)
  const [error] = document.errors
  if (error?.code === 'DUPLICATE_KEY')
    return refused(`a key that occurs twice (line ${lineOf(text, error.pos[0])})`, what)
  if (error !== undefined) return invalid(`not YAML (${error.code}) in line ${lineOf(text, error.pos[0])}`, what)
  if (!isMap(document.contents)) return invalid('not a map of keys and values', what)
  return { map: toMap(document.contents.items, { nodes: 0, ...bounds }, 1) }
}

// Every scalar is text here: what a plain one means is decided in one place, for both readers.
const options = {
  version: '1.2',
  schema: 'failsafe',
  strict: true,
  uniqueKeys: true,
  stringKeys: true,
  prettyErrors: false,
  logLevel: 'silent',
} as const

/** The first token that is refused; also when there are more of them than the allowed number of nodes can have. */
function refusedFeature(text: string, { linesMax, nodesMax }: YamlBounds): string | undefined {
  if (lineOf(text, text.length) > linesMax) return `more than ${linesMax} lines`
  let tokens = 0
  for (const lexeme of new Lexer().lex(text)) {
    const kind = CST.tokenType(lexeme)
    if (kind === null) continue
    if (Object.hasOwn(features, kind)) return features[kind]
    if (structure.has(kind)) tokens++
    // No node takes more than two of these tokens.
    if (tokens > 2 * nodesMax) return tooMany(nodesMax)
  }
  return undefined
}

const tooMany = (most: number): string => `more than ${most} nodes`

const features: Readonly<Record<string, string>> = {
  anchor: 'an anchor',
  alias: 'an alias',
  tag: 'a tag',
  'directive-line': 'a directive',
  'doc-start': 'a second document',
  'doc-end': 'a second document',
}

const structure: ReadonlySet<string> = new Set(
  `scalar single-quoted-scalar double-quoted-scalar block-scalar-header
  flow-map-start flow-seq-start seq-item-ind explicit-key-ind map-value-ind`.split(/\s+/),
)

class Refusal extends Error {}

interface Count extends Pick<YamlBounds, 'nodesMax' | 'depthMax'> {
  nodes: number
}

function toMap(pairs: readonly { key: unknown; value: unknown }[], count: Count, depth: number): YamlMap {
  enter(count, depth)
  return Object.fromEntries(pairs.map(({ key, value }) => [toKey(key, count), toJson(value, count, depth)]))
}

function toKey(key: unknown, count: Count): string {
  enter(count, 0)
  if (!isScalar(key)) return ''
  if (key.value === '<<' && key.type === 'PLAIN') throw new Refusal('a merge key')
  return String(key.value).toWellFormed()
}

function toJson(node: unknown, count: Count, depth: number): Json {
  if (isMap(node)) return toMap(node.items, count, depth + 1)
  enter(count, isSeq(node) ? depth + 1 : depth)
  if (isSeq(node)) return node.items.map((item) => toJson(item, count, depth + 1))
  if (!isScalar(node) || typeof node.value !== 'string') return null
  return node.type === 'PLAIN' ? scalarOf(node.value) : node.value.toWellFormed()
}

function enter(count: Count, depth: number): void {
  count.nodes++
  if (count.nodes > count.nodesMax) throw new Refusal(tooMany(count.nodesMax))
  if (depth > count.depthMax) throw new Refusal(`nesting deeper than ${count.depthMax}`)
}

const lineOf = (text: string, at: number): number => text.slice(0, at).split('\n').length

const refused = (feature: string, what: string): Trouble => ({
  trouble: 'yaml-refused',
  why: `${feature} is not accepted in ${what.replace(/^the /, '')}`,
})

const invalid = (how: string, what: string): Trouble => ({ trouble: 'yaml-invalid', why: `${what} is ${how}` })

import type { Json } from '../base/canonical.ts'
import { limits } from '../base/limits.ts'
import { compilePath, type Facts, Fault, type Read } from './conditions/values.ts'
import { noHistory, truncatedList } from './history.ts'

/** A fact that nothing else on record says: it is put there with its value, so that the call can be decided again. */
export interface KeptFact {
  readonly path: string
  readonly read: Read
}

/** Of all that rules read, the facts of the capability and of the run, by member; and of the history all, for rules to come. */
export const keptFactsOf = (reads: readonly string[]): readonly KeptFact[] =>
  [...new Set(reads.flatMap(keptPath))].sort().map((path) => ({ path, read: compilePath(path) }))

const keptRoots: ReadonlySet<string> = new Set(['history', 'capability', 'run', 'user', 'agent'])

function keptPath(path: string): readonly string[] {
  const [root, member] = path.split('.')
  if (member === undefined || !keptRoots.has(root ?? '')) return []
  if (root === 'history') return [...Object.keys(noHistory), member].map((name) => `history.${name}`)
  const isSaid = root === 'capability' && (member === 'id' || member === 'version')
  return isSaid ? [] : [`${root}.${member}`]
}

/** Their values by path, null for what is absent; left out is what is open or too long. Undefined where nothing is left. */
export function valuesOf(kept: readonly KeptFact[], facts: Facts): Record<string, Json> | undefined {
  if (kept.length === 0) return undefined
  const entries = kept.flatMap(({ path, read }) => {
    const found = read(facts) ?? null
    const value = found instanceof Fault ? truncatedList : found
    if (typeof value === 'symbol' || JSON.stringify(value).length > limits.recordedFactCharsMax) return []
    return [[path, value] as const]
  })
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

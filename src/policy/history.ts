import type { Json } from '../base/canonical.ts'
import { limits } from '../base/limits.ts'
import { isObject } from '../base/object.ts'
import type { CapabilityDescriptor } from '../model/capability.ts'
import { compilePath, type Facts, Fault, type Read } from './conditions/values.ts'

const listed = ['capabilities', 'classes', 'origins'] as const
type Listed = (typeof listed)[number]

/** What the same caller did before: how many calls it started, of which capabilities, and what their results carry. */
export interface History extends Readonly<Record<Listed, readonly string[]>> {
  readonly calls: number
  /** The lists that have left something out. */
  readonly truncated: readonly Listed[]
}

export const noHistory: History = { calls: 0, capabilities: [], classes: [], origins: [], truncated: [] }

export interface Remembered {
  readonly capability: string
  readonly class: string | undefined
  readonly origin: string
}

/** What a capability declares of its results: a class in small letters if it has one, and where they come from. */
export const rememberedOf = ({ id, policy, metadata }: CapabilityDescriptor): Remembered => ({
  capability: id,
  class: policy?.data_classification?.toLowerCase(),
  origin: metadata?.origin ?? 'internal',
})

/** The history with one call more. Lists hold each entry once, and are bounded. */
export function withCall(history: History, { capability, class: dataClass, origin }: Remembered): History {
  const truncated = new Set(history.truncated)
  const added = (list: Listed, entry: string | undefined): readonly string[] => {
    const entries = history[list]
    if (entry === undefined || entries.includes(entry)) return entries
    if (entries.length < limits.historyEntriesMax) return [...entries, entry]
    truncated.add(list)
    return entries
  }
  return {
    calls: history.calls + 1,
    capabilities: added('capabilities', capability),
    classes: added('classes', dataClass),
    origins: added('origins', origin),
    truncated: [...truncated],
  }
}

export const historyFacts = (history: History): Json =>
  withoutAnswer({ ...history, truncated: false }, history.truncated)

/** How a list that has left something out is written down. */
const truncatedList = { truncated: true } as const

/** What rules read of facts whose history is written down. `truncated` alone is said of every list. */
export function readWritten(facts: Facts): Facts {
  const { history } = facts
  if (!isObject(history)) return facts
  const marked = listed.filter((name) => Object(history[name]).truncated === true)
  const areAll = marked.length === 0 && history['truncated'] === true
  return { ...facts, history: withoutAnswer(history, areAll ? listed : marked) }
}

/** A list that has left something out answers no question: a rule that asks it denies. */
function withoutAnswer(history: object, names: readonly Listed[]): Json {
  const faults = Object.fromEntries(names.map((name) => [name, tooLong(name)]))
  return { ...history, ...faults, ...(names.length > 0 && truncatedList) } as Json
}

const tooLong = (name: Listed): Fault =>
  new Fault(`there are more \`history.${name}\` than the ${limits.historyEntriesMax} that are kept`)

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

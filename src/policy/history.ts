import type { Json } from '../base/canonical.ts'
import { limits } from '../base/limits.ts'
import { isObject } from '../base/object.ts'
import type { CapabilityDescriptor } from '../model/capability.ts'
import { type Facts, Fault } from './conditions/values.ts'

const listed = ['capabilities', 'classes', 'origins'] as const
type Listed = (typeof listed)[number]

/** What the same caller did before: how many calls it started, of which capabilities, and what their results carry. */
export interface History extends Readonly<Record<Listed, readonly string[]>> {
  readonly calls: number
  /** The lists that have left something out. */
  readonly truncated: readonly Listed[]
}

export const noHistory: History = { calls: 0, capabilities: [], classes: [], origins: [], truncated: [] }

/** A call as it is remembered. */
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

/** What rules read of it. */
export const historyFacts = (history: History): Json =>
  withoutAnswer({ ...history, truncated: false }, history.truncated)

/** How a list that has left something out is written down. */
export const truncatedList = { truncated: true } as const

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

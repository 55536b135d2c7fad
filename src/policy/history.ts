import type { Json } from '../base/canonical.ts'
import { limits } from '../base/limits.ts'
import type { CapabilityDescriptor } from '../model/capability.ts'
import { Fault } from './values.ts'

type Listed = 'capabilities' | 'classes' | 'origins'

/** What a session did before: how many calls it started, of which capabilities, and what their results carry. */
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

/** What rules read of it. A list that has left something out answers no question: a rule that asks it denies. */
export function historyFacts(history: History): Json {
  const { calls, truncated } = history
  const list = (name: Listed): unknown => (truncated.includes(name) ? tooLong(name) : history[name])
  return {
    calls,
    capabilities: list('capabilities'),
    classes: list('classes'),
    origins: list('origins'),
    truncated: truncated.length > 0,
  } as Json
}

const tooLong = (name: Listed): Fault =>
  new Fault(`the session has more \`history.${name}\` than the ${limits.historyEntriesMax} that are kept`)

/** Which class of a provider's tools may exist in a run. */
export type ResourceMode = 'read' | 'read-write'

/** The highest resource mode descendants may hold; `none` hides the kind from them. */
export type Ceiling = 'none' | ResourceMode

/** By kind. A kind that is absent has no ceiling. */
export type Ceilings = Readonly<Record<string, Ceiling>>

export interface ModeFacts {
  readonly kind: string
  /** As the manifest says, if it does. */
  readonly declared?: ResourceMode
  readonly provider: { readonly defaultMode?: ResourceMode; readonly maxMode: ResourceMode }
  readonly ceilings: Ceilings
}

/** The resource mode a run gets: the lowest of what it declares, what the provider can and what its ancestors left. */
export const effectiveMode = ({ kind, declared, provider, ceilings }: ModeFacts): Ceiling =>
  lowest(declared ?? provider.defaultMode ?? 'read', provider.maxMode, ceilingOf(ceilings, kind))

/** A resource of an agent: its effective mode, and what the manifest lets children hold of it. */
export interface HeldResource {
  readonly kind: string
  readonly mode: Ceiling
  readonly delegate?: Ceiling
}

/** The ceilings of a run's children: its own, lowered for each kind it declares, and untouched for all others. */
export function ceilingsBelow(inherited: Ceilings, resources: readonly HeldResource[]): Ceilings {
  const handedOn = new Map(Object.entries(inherited))
  for (const { kind, mode, delegate = mode } of resources) {
    handedOn.set(kind, lowest(handedOn.get(kind) ?? highest, mode, delegate))
  }
  return Object.freeze(Object.fromEntries(handedOn))
}

const ascending: readonly Ceiling[] = ['none', 'read', 'read-write']
const highest: Ceiling = 'read-write'

/** A word that is no ceiling counts as the lowest. */
const lowest = (...ceilings: readonly Ceiling[]): Ceiling =>
  ascending[Math.min(...ceilings.map((ceiling) => ascending.indexOf(ceiling)))] ?? 'none'

/** A kind may be named like a member that every object has. */
const ceilingOf = (ceilings: Ceilings, kind: string): Ceiling =>
  Object.hasOwn(ceilings, kind) ? (ceilings[kind] ?? 'none') : highest

/** A section that may be taken. */
export interface Offer {
  readonly pack: string
  readonly score: number
  /** All that it costs: its text and the element around it. */
  readonly tokens: number
}

/** A pack that may be opened, with its offers from the best score down. */
export interface PackOffers<O extends Offer> {
  readonly pack: string
  readonly persona: boolean
  /** What the first section of the pack costs besides: the wrapper, its warnings, the constraints that come along. */
  readonly opening: number
  readonly offers: readonly O[]
}

export interface Filling<O extends Offer> {
  /** In the order they were taken. */
  readonly taken: readonly O[]
  readonly tokens: number
}

/**
 * Fills the budget: the best section of each pack that fits, packs in their order; then the best of what is left.
 * By score per token many short sections that hardly fit would come before a longer one that answers. Personas get a third at most, unless room is left when all others are done; what they do not use, others may.
 */
export function fill<O extends Offer>(packs: readonly PackOffers<O>[], budget: number): Filling<O> {
  const personas = packs.filter(({ persona }) => persona)
  const others = packs.filter(({ persona }) => !persona)
  const state: State<O> = { taken: new Set(), opened: new Set(), tokens: 0 }
  const third = Math.floor(budget / 3)
  open(state, personas, third)
  const ofPersonas = state.tokens
  open(state, others, budget)
  add(state, personas, Math.min(budget, state.tokens - ofPersonas + third))
  add(state, others, budget)
  open(state, personas, budget)
  add(state, personas, budget)
  return { taken: [...state.taken], tokens: state.tokens }
}

interface State<O> {
  readonly taken: Set<O>
  readonly opened: Set<string>
  tokens: number
}

/** Opens each pack with its best section that fits below the ceiling. */
function open<O extends Offer>(state: State<O>, packs: readonly PackOffers<O>[], ceiling: number): void {
  for (const { pack, opening, offers } of packs) {
    if (state.opened.has(pack)) continue
    const best = offers.find(({ tokens }) => state.tokens + opening + tokens <= ceiling)
    if (best === undefined) continue
    state.opened.add(pack)
    state.tokens += opening
    take(state, best)
  }
}

/** Adds to opened packs from the best score down, as long as all stays below the ceiling. */
function add<O extends Offer>(state: State<O>, packs: readonly PackOffers<O>[], ceiling: number): void {
  const open = packs.filter(({ pack }) => state.opened.has(pack)).flatMap(({ offers }) => offers)
  const left = open.filter((offer) => !state.taken.has(offer))
  // Sorting keeps the order of equal scores.
  for (const offer of left.sort((a, b) => b.score - a.score)) {
    if (state.tokens + offer.tokens <= ceiling) take(state, offer)
  }
}

function take<O extends Offer>(state: State<O>, offer: O): void {
  state.taken.add(offer)
  state.tokens += offer.tokens
}

import type { PackActivation } from '../model/knowledge/knowledge.ts'
import { type Diagnostic, diagnostic } from './diagnostic.ts'
import { isEnabled, type Permissions, refusalOf, statusWarning, type Use } from './gates.ts'
import type { Pack, QuarantinedPack } from './pack.ts'
import { byPrecedence, type Winner, winners } from './precedence.ts'

export interface ActivationRequest {
  /** Packs that the user or the program names: by name, id or path. */
  readonly select?: readonly string[] | undefined
  /** Packs that a ranker outside of Ambit chose, best first. */
  readonly ranked?: readonly string[] | undefined
  /** False to use what is named and nothing else. */
  readonly implicit?: boolean | undefined
  readonly permissions: Permissions
}

/** A pack from which text may be taken for this question. */
export interface ActivatedPack {
  readonly pack: Pack
  readonly activation: PackActivation
  readonly warnings: readonly Diagnostic[]
}

/** A pack that somebody named and that cannot be used. */
export interface RefusedPack {
  readonly named: string
  readonly diagnostics: readonly Diagnostic[]
}

export interface Activation<Decision> {
  readonly activated: readonly ActivatedPack[]
  readonly refused: readonly RefusedPack[]
  /** What the question was held against, and what came of it; missing where nothing was to be found. */
  readonly decision?: Decision | undefined
}

/** How packs are found that fit the question. */
export type Route<Decision> = (packs: readonly Pack[]) => {
  readonly ids: readonly string[]
  readonly decision: Decision
}

/**
 * Which packs are used. A pack that holds data and was named answers the question by itself; otherwise those are added
 * that fit it clearly. Every way leads through the same gates.
 */
export function activate<Decision>(
  { packs, quarantined }: { readonly packs: readonly Pack[]; readonly quarantined: readonly QuarantinedPack[] },
  request: ActivationRequest,
  route: Route<Decision>,
): Activation<Decision> {
  const { select = [], ranked = [], implicit = true } = request
  const named = select.map((name) => useNamed(name, packs, quarantined, request.permissions))
  const chosen = named.filter((one) => 'pack' in one).map((winner) => activated(winner, 'explicit'))
  const refused = named.filter((one) => 'named' in one)
  const found = usable(packs, 'found', request.permissions)
  chosen.push(...ranked.flatMap((name) => matching(found, name).map((winner) => activated(winner, 'resolver-driven'))))
  const answered = chosen.some(({ pack }) => pack.header.mode === 'data') || (select.length > 0 && chosen.length === 0)
  if (answered || !implicit || found.length === 0) return { activated: once(chosen), refused }
  const { ids, decision } = route(found.map(({ pack }) => pack))
  const fitting = ids.flatMap((id) => found.filter(({ pack }) => pack.id === id))
  chosen.push(...fitting.map((winner) => activated(winner, 'implicit')))
  return { activated: once(chosen), refused, decision }
}

/** The packs that fit a question may be found among: one for each name, by name. */
export const usable = (packs: readonly Pack[], use: Use, permissions: Permissions): readonly Winner[] =>
  winners(
    packs.filter((pack) => refusalOf(pack, use, permissions) === undefined),
    use,
  )

/** What is to be said about packs of one name, whether or not a question comes. */
export function collisionsIn(packs: readonly Pack[], permissions: Permissions): readonly Diagnostic[] {
  const enabled = packs.filter((pack) => isEnabled(pack, permissions))
  const found = usable(enabled, 'named', permissions)
  const names = new Set(found.map(({ pack }) => pack.header.name))
  // Where none of a name may be used, the one that would come first speaks for them.
  const others = winners(
    enabled.filter(({ header }) => !names.has(header.name)),
    'named',
  )
  return [...found, ...others].flatMap(({ warnings }) => warnings)
}

function useNamed(
  named: string,
  packs: readonly Pack[],
  quarantined: readonly QuarantinedPack[],
  permissions: Permissions,
): Winner | RefusedPack {
  const meant = meantBy(named, packs)
  const [winner] = usable(meant, 'named', permissions)
  if (winner !== undefined) return winner
  const refusals = meant.toSorted(byPrecedence).flatMap((pack) => refusalOf(pack, 'named', permissions) ?? [])
  if (refusals.length > 0) return { named, diagnostics: refusals }
  const broken = quarantined.filter(({ id, name, path }) => [id, name, path].includes(named))
  const missing = diagnostic('entry-missing', named, `no knowledge pack is called \`${named}\``)
  return { named, diagnostics: broken.length > 0 ? broken.flatMap(({ diagnostics }) => diagnostics) : [missing] }
}

/** A word may be the id of one pack, the name of others and the path of more: it is taken in this order. */
function meantBy(named: string, packs: readonly Pack[]): readonly Pack[] {
  const ways = [
    packs.filter(({ id }) => id === named),
    packs.filter(({ header }) => header.name === named),
    packs.filter(({ path }) => path === named),
  ]
  return ways.find((meant) => meant.length > 0) ?? []
}

function matching(found: readonly Winner[], named: string): readonly Winner[] {
  const [meant] = meantBy(
    named,
    found.map(({ pack }) => pack),
  )
  return found.filter(({ pack }) => pack === meant)
}

function activated({ pack, warnings }: Winner, activation: PackActivation): ActivatedPack {
  const status = statusWarning(pack)
  return { pack, activation, warnings: [...(status === undefined ? [] : [status]), ...warnings] }
}

const once = (chosen: readonly ActivatedPack[]): readonly ActivatedPack[] =>
  chosen.filter(({ pack }, at) => chosen.findIndex((other) => other.pack.id === pack.id) === at)

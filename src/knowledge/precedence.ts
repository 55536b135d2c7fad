import { byUnit } from '../base/canonical.ts'
import { rootScope } from '../model/knowledge/knowledge.ts'
import { type Diagnostic, diagnostic } from './diagnostic.ts'
import type { Use } from './gates.ts'
import { type Pack, trustRank } from './pack.ts'

/** The pack that a name stands for, and what its use has to say about the others of that name. */
export interface Winner {
  readonly pack: Pack
  readonly warnings: readonly Diagnostic[]
}

/** One pack for each name, of packs that may all be used: one that may not cannot hide one that may. Sorted by name. */
export function winners(usable: readonly Pack[], use: Use): readonly Winner[] {
  const groups = Map.groupBy(usable.toSorted(byPrecedence), ({ header }) => header.name)
  return [...groups.values()].map((group) => winnerOf(group, use)).sort((a, b) => byUnit(nameOf(a), nameOf(b)))
}

/** Scope, then order of the roots, then path. */
export const byPrecedence = (left: Pack, right: Pack): number =>
  scopeRank(left) - scopeRank(right) || left.order - right.order || byUnit(left.path, right.path)

const scopeRank = ({ scope }: Pack): number => rootScope.options.indexOf(scope)
const nameOf = ({ pack }: Winner): string => pack.header.name

/** A stale pack gives way to a newer one that is ready, unless somebody named it. */
function winnerOf(group: readonly Pack[], use: Use): Winner {
  const [first, ...others] = group as [Pack, ...Pack[]]
  const replaces = (other: Pack): boolean => other.header.status === 'ready' && isNewer(other, first)
  const newer = use === 'found' && first.header.status === 'stale' ? others.find(replaces) : undefined
  const pack = newer ?? first
  const warnings = group.filter((other) => other !== pack).flatMap((loser) => warningsAbout(loser, pack))
  return { pack, warnings }
}

function warningsAbout(loser: Pack, winner: Pack): readonly Diagnostic[] {
  const { name } = winner.header
  const say = (code: Diagnostic['code'], message: string) => diagnostic(code, '', message, { pack: winner.id })
  const replaced = loser.header.status === 'stale' && byPrecedence(loser, winner) < 0
  const collision = replaced
    ? say('collision', `\`${loser.id}\` would come first, but is stale: the newer \`${name}\` is used`)
    : say('collision', `\`${loser.id}\` has the name \`${name}\` too, and is not used`)
  if (trustRank(loser.trust) <= trustRank(winner.trust)) return [collision]
  const hidden = `\`${loser.id}\` is ${loser.trust}, and hidden by this pack, which is ${winner.trust}`
  return [collision, say('shadow-lower-trust', hidden)]
}

/** By version where both have one, else by date. */
function isNewer(left: Pack, right: Pack): boolean {
  const [a, b] = [left.header, right.header]
  if (a.version !== undefined && b.version !== undefined) return compareVersions(a.version, b.version) > 0
  return a.updated !== undefined && b.updated !== undefined && a.updated > b.updated
}

/** The numbers of two versions one after the other; what is no number counts as 0, and a pre-release is not looked at. */
function compareVersions(left: string, right: string): number {
  const [a, b] = [numbersOf(left), numbersOf(right)]
  for (let index = 0; index < Math.max(a.length, b.length); index++) {
    const difference = (a[index] ?? 0) - (b[index] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

const numbersOf = (version: string): readonly number[] =>
  (version.replace(/^v/, '').split(/[-+]/)[0] ?? '')
    .split('.')
    .map((part) => (/^\d{1,15}$/.test(part) ? Number(part) : 0))

import type { Pack } from '../pack.ts'
import { makeOrigins, type Origins } from './anchors.ts'
import { type Candidates, candidatesOf } from './candidates.ts'
import { standsIn } from './entries.ts'
import { type JoinedFiles, makeJoiner } from './joined-files.ts'
import { kept } from './kept.ts'
import type { FileIndex } from './section.ts'
import { uncovered } from './section-rank.ts'
import type { PackFacts } from './selection.ts'

/** A pack, opened as far as the query needs. */
export interface OpenedPack {
  readonly facts: PackFacts
  readonly candidates: Candidates
  readonly origins: Origins
  /** The files that were opened, tier by tier; records of ontology and answers count as the first. */
  readonly groups: readonly { readonly files: JoinedFiles; readonly tier: number }[]
  /** Of these some sections matter in any case, whatever was asked. */
  readonly standIns: ReadonlySet<string>
  /** Files of the next tier that have no index yet. */
  readonly wanted: readonly string[]
}

/** Opens one tier after the other until the query is answered by what is open. */
export function openPack(facts: PackFacts, terms: readonly string[]): OpenedPack {
  const { pack, paths: all, guide, configured, sourceMap, runs, records = [] } = facts
  const prepared = prepare(all, pack, guide, configured, sourceMap, runs)
  const { tiers } = prepared.candidates
  const groups = records.length === 0 ? [] : [{ files: join(records, records), tier: 0 }]
  for (const [tier, paths] of tiers.entries()) {
    if (tier > 0 && suffices(pack, groups, terms, prepared.origins)) break
    const wanted = paths.filter((path) => !facts.files.has(path) && facts.unreadable?.has(path) !== true)
    if (wanted.length > 0) return { facts, ...prepared, groups, wanted }
    const files = paths.map((path) => facts.files.get(path)).filter((file) => file !== undefined)
    groups.push({ files: join(paths, files), tier })
  }
  return { facts, ...prepared, groups, wanted: [] }
}

const join = makeJoiner()

/** A pack of thousands of files is sorted once, not for every question. */
const prepare = kept(
  (
    paths: readonly string[],
    pack: Pack,
    guide: string,
    configured: readonly string[] | undefined,
    sourceMap: PackFacts['sourceMap'],
    runs: PackFacts['runs'],
  ) => {
    const candidates = candidatesOf(pack, { paths, guide, configured, sourceMap, runs })
    return {
      candidates,
      origins: makeOrigins(pack.id, sourceMap, new Set(paths), candidates.splits),
      standIns: new Set(candidates.tiers.flat().filter((path) => standsIn(pack.header.mode, path))),
    }
  },
)

/**
 * Views of a wiki suffice when one of them has all that was asked, and nothing in it is stale or disputed; otherwise
 * pages must be joined. Of documents it is enough that nothing asked is left uncovered.
 */
function suffices({ header }: Pack, groups: OpenedPack['groups'], terms: readonly string[], origins: Origins): boolean {
  const opened = groups.map(({ files }) => files)
  if (uncovered(opened, terms).length > 0) return false
  const hasAll = ({ path, terms: own }: FileIndex): boolean =>
    terms.every((term) => own.postings.has(term)) && !origins.isFlagged(path)
  return header.profile !== 'wiki-first' || opened.some(({ files }) => files.some(hasAll))
}

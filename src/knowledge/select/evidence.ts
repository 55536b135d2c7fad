import { diagnostic } from '../diagnostic.ts'
import { pathOf } from './anchors.ts'
import { placeOf } from './layout.ts'
import { elementTokens } from './offers.ts'
import { anchorExists } from './places.ts'
import type { FileIndex, Section } from './section.ts'
import type { ChosenSection } from './selection.ts'
import type { OpenedPack } from './tiers.ts'

export interface Evidence {
  /** For each pack its chosen sections, and behind them what they rest on. */
  readonly sections: readonly (readonly ChosenSection[])[]
  readonly wanted: readonly { readonly pack: string; readonly paths: readonly string[] }[]
}

/**
 * Excerpts of the sources that chosen sections point at, if they are asked for or a chosen section is disputed. No other
 * source is ever opened. They take what the facts left of the budget.
 *
 * Only here is an anchor looked up in its file. Elsewhere it is enough that the file is there: sources stay closed while
 * views answer, and a finding that depended on what happens to be open would come and go.
 */
export function evidenceFor(
  packs: readonly OpenedPack[],
  chosen: readonly (readonly ChosenSection[])[],
  tokens: number,
  asked: boolean,
): Evidence {
  let left = tokens
  const wanted: { pack: string; paths: readonly string[] }[] = []
  const sections = packs.map((opened, at) => {
    const anchors = anchorsOf(opened, chosen[at] ?? [], asked)
    const { pack, files, unreadable } = opened.facts
    const missing = new Set(anchors.map(pathOf).filter((path) => !files.has(path) && unreadable?.has(path) !== true))
    if (missing.size > 0) wanted.push({ pack: pack.id, paths: [...missing].sort() })
    const dead = new Set(anchors.filter((anchor) => isDead(files, anchor)))
    const live = anchors.filter((anchor) => !dead.has(anchor))
    const found = excerpts(opened, live, chosen[at] ?? []).filter(({ section, path }) => {
      const cost = section.tokens + elementTokens(path, section)
      const fits = cost <= left
      if (fits) left -= cost
      return fits
    })
    return [...(chosen[at] ?? []).map((section) => without(dead, section)), ...found]
  })
  return { sections, wanted }
}

function isDead(files: ReadonlyMap<string, FileIndex>, anchor: string): boolean {
  const path = pathOf(anchor)
  const file = files.get(path)
  return file !== undefined && !anchorExists(file.places, anchor.slice(path.length + 1))
}

function without(dead: ReadonlySet<string>, chosen: ChosenSection): ChosenSection {
  const { pack, path, anchors, warnings } = chosen
  const found = anchors.filter((anchor) => dead.has(anchor))
  if (found.length === 0) return chosen
  const told = found.map((anchor) =>
    diagnostic('anchor-missing', path, `\`${anchor}\` names a place that the file does not have`, { pack }),
  )
  return { ...chosen, anchors: anchors.filter((anchor) => !dead.has(anchor)), warnings: [...warnings, ...told] }
}

function anchorsOf({ facts }: OpenedPack, chosen: readonly ChosenSection[], asked: boolean): readonly string[] {
  const all = asked || facts.pack.header.status === 'disputed'
  const doubtful = chosen.filter(({ warnings }) => all || warnings.some(({ code }) => code === 'claim-disputed'))
  const anchors = new Set(doubtful.flatMap((one) => one.anchors))
  return [...anchors].filter((anchor) => placeOf(pathOf(anchor)) === 'source')
}

function excerpts(
  { facts }: OpenedPack,
  anchors: readonly string[],
  chosen: readonly ChosenSection[],
): readonly ChosenSection[] {
  const seen = new Set(chosen.map(({ section }) => section.digest))
  const out: ChosenSection[] = []
  for (const anchor of anchors) {
    const path = pathOf(anchor)
    const file = facts.files.get(path)
    const section = file === undefined ? undefined : sectionAt(file, anchor.slice(path.length + 1))
    if (file === undefined || section === undefined || seen.has(section.digest)) continue
    seen.add(section.digest)
    const reason = { tier: evidenceTier, place: 'source', matched: [], score: 0, rank: out.length + 1 } as const
    const from = { pack: facts.pack.id, path, section, fileDigest: file.digest }
    out.push({ ...reason, ...from, role: 'evidence', anchors: [anchor], warnings: [] })
  }
  return out
}

const evidenceTier = 3

/** The section that an anchor points at: a line (`L31`), or a heading. Pages and times of other media have none. */
function sectionAt({ sections }: FileIndex, fragment: string): Section | undefined {
  const line = /^L(\d+)/.exec(fragment)?.[1]
  if (line !== undefined) return sections.find(({ firstLine, lastLine }) => firstLine <= +line && +line <= lastLine)
  return fragment === '' ? sections[0] : sections.find(({ slug }) => slug === fragment.toLowerCase())
}

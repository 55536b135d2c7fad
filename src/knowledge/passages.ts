import assert from 'node:assert/strict'
import { warningsOf } from './select/choose.ts'
import { placeOf } from './select/layout.ts'
import { candidateOf } from './select/offers.ts'
import type { Choice, ChosenPack, ChosenSection, PackFacts } from './select/selection.ts'
import { openPack } from './select/tiers.ts'
import type { WrappedPack } from './select/wrap.ts'

/** A section in a fence of its own. */
export interface Passage {
  /** Names the section for as long as it is there. */
  readonly ref: string
  readonly pack: string
  readonly path: string
  /** The first of its sources, or its own place. */
  readonly anchor: string
  readonly sourceAnchors: readonly string[]
  readonly text: string
  /** SHA-256 of what was selected, before it was made safe for the fence. */
  readonly hash: string
  readonly truncated: boolean
}

/** A choice of which each section is wrapped by itself; what limits those of a pack goes along with its first. */
export function divideChoice(choice: Choice, max: number): Choice {
  const packs = choice.packs.flatMap((pack): ChosenPack[] => {
    const others = pack.sections.filter((section) => !isFact(section))
    return pack.sections
      .filter(isFact)
      .map((fact, at) => ({ ...pack, sections: at === 0 ? [...others, fact] : [fact] }))
  })
  return { ...choice, packs: packs.slice(0, max) }
}

const isFact = ({ role }: ChosenSection): boolean => role === 'fact' || role === 'overview'

export function passageOf({ pack, text, sections, anchors }: WrappedPack): Passage {
  const section = sections.find(isFact)
  assert(section !== undefined, 'what is wrapped holds a fact')
  const { path, digest: hash, cut: truncated } = section
  const { id, firstLine } = section.section
  const ref = [pack.id, path, id].map((part) => part.replace(/[%#]/g, encodeURIComponent)).join('#')
  const anchor = anchors[0] ?? `${path}#L${firstLine}`
  return { ref, pack: pack.header.name, path, anchor, sourceAnchors: anchors, text, hash, truncated }
}

export interface PassageRef {
  readonly pack: string
  readonly path: string
  readonly section: string
}

/** Undefined for a text that is no ref of a passage. */
export function readRef(ref: string): PassageRef | undefined {
  const [pack, path, section, ...more] = ref.split('#').map((part) => part.replace(/%2[35]/g, decodeURIComponent))
  return pack && path && section && more.length === 0 ? { pack, path, section } : undefined
}

/** The one section that a ref names, if the pack has it and it is of a file that facts are taken from. */
export function chooseSection(facts: PackFacts | undefined, { path, section: id }: PassageRef): Choice {
  const choice = { wanted: [], packs: [], dropped: [], missing: [], diagnostics: [] }
  if (facts === undefined) return choice
  const { pack, activation, records = [], files, unreadable } = facts
  const opened = openPack(facts, [])
  const isThere = opened.candidates.tiers.some((paths) => paths.includes(path)) && !unreadable?.has(path)
  if (isThere && !files.has(path)) return { ...choice, wanted: [{ pack: pack.id, paths: [path] }] }
  const file = isThere ? files.get(path) : records.find((one) => one.path === path)
  const section = file?.sections.find((one) => one.id === id)
  if (file === undefined || section === undefined) return choice
  const place = placeOf(path) ?? 'view'
  const entry = { opened, file, section, tier: 0, place, score: 0, matched: [], role: 'fact' } as const
  const sections = [candidateOf(entry, 1, [entry])]
  const warnings = warningsOf(opened, sections)
  const diagnostics = [...warnings, ...sections.flatMap((one) => one.warnings)]
  return { ...choice, packs: [{ pack, activation, sections, warnings }], diagnostics }
}

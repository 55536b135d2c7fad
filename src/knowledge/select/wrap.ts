import { sha256 } from '../../base/hash.ts'
import { limits } from '../../base/limits.ts'
import { counted } from '../../base/words.ts'
import type { PackPart } from '../../fence/fence.ts'
import { type Diagnostic, diagnostic, distinct } from '../diagnostic.ts'
import { type Draft, type DraftSection, draftOf, hasFacts, shortened, type TextOf, textOfDraft } from './drafts.ts'
import type { CountTokens } from './section.ts'
import type { Choice, ChosenPack, ChosenSection } from './selection.ts'
import { noRoomFor, writeWrapper } from './warnings.ts'

export interface WrapRequest {
  readonly choice: Choice
  readonly textOf: TextOf
  /** The secret of the run, at least 128 random bits. */
  readonly seed: Uint8Array
  /** Tokens of everything that is emitted: never exceeded. */
  readonly budget: number
  readonly count: CountTokens
}

export interface WrappedSection extends ChosenSection {
  /** SHA-256 of what was selected, before it was made safe for the fence. */
  readonly digest: string
  /** Only its first paragraphs fit. */
  readonly cut: boolean
}

export interface WrappedPack extends Pick<ChosenPack, 'pack' | 'activation'> {
  readonly text: string
  readonly tokens: number
  readonly boundary: string
  /** That text was taken from. */
  readonly files: readonly string[]
  readonly sections: readonly WrappedSection[]
  readonly anchors: readonly string[]
  readonly warnings: readonly Diagnostic[]
}

export interface Wrapped {
  /** All wrappers, a blank line between them; empty when nothing fits. */
  readonly text: string
  readonly tokens: number
  /** Personas first, then data by rank. */
  readonly packs: readonly WrappedPack[]
  /** What the budget cost: `truncated`, `budget-too-small`; and `file-changed` for texts that are gone. */
  readonly diagnostics: readonly Diagnostic[]
}

/** Writes what was chosen as one fence for each pack. What exceeds the budget is left out from the end. */
export function wrap({ choice, textOf, seed, budget, count }: WrapRequest): Wrapped {
  const read = choice.packs.map((pack) => draftOf(pack, textOf))
  const drafts = read.map(({ draft }) => draft).filter(hasFacts)
  const write = makeWriter(seed, count)
  let kept: readonly Draft[] = drafts
  let written = write(kept)
  while (kept.length > 0 && written.tokens > budget) {
    kept = shortened(kept, written.tokens - budget, count)
    written = write(kept)
  }
  const left = drafts.slice(kept.length).map(({ chosen }) => noRoomFor(chosen.pack))
  const lost = read.flatMap((one) => one.lost)
  return { ...written, diagnostics: [...lost, ...written.diagnostics, ...left, ...tooSmall(drafts, kept)] }
}

/** Writes drafts, each once: shortening changes the last one only. */
function makeWriter(seed: Uint8Array, count: CountTokens): (drafts: readonly Draft[]) => Wrapped {
  const done = new Map<Draft, WrappedPack>()
  return (drafts) => {
    const packs = drafts.map((draft) => {
      const pack = done.get(draft) ?? writePack(draft, seed, count)
      done.set(draft, pack)
      return pack
    })
    const text = packs.map((pack) => pack.text).join('\n\n')
    const diagnostics = packs.flatMap(({ warnings }) => warnings.filter(({ code }) => ours.has(code)))
    return { text, tokens: text === '' ? 0 : count(text), packs, diagnostics }
  }
}

const ours = new Set(['truncated', 'fence-disarmed'])

function writePack(draft: Draft, seed: Uint8Array, count: CountTokens): WrappedPack {
  const { chosen, sections, truncated } = draft
  const { id } = chosen.pack
  const cut = truncated
    ? [diagnostic('truncated', '', 'the budget did not hold all that was chosen', { pack: id })]
    : []
  const known = [...cut, ...distinct([...chosen.warnings, ...sections.flatMap((one) => one.chosen.warnings)])]
  const disarmed = (places: number) => `${counted(places, 'place')} that looked like markup of ours`
  const { text, boundary, warnings } = writeWrapper(chosen.pack, sections.map(partOf), known, { seed, disarmed })
  return {
    pack: chosen.pack,
    activation: chosen.activation,
    text,
    tokens: count(text),
    boundary,
    files: [...new Set(sections.map((section) => section.chosen.path))],
    sections: sections.map((section) => ({
      ...section.chosen,
      digest: sha256(textOfDraft(section)),
      cut: section.cut,
    })),
    anchors: [...new Set(sections.flatMap((section) => section.chosen.anchors))],
    warnings,
  }
}

function partOf(draft: DraftSection): PackPart {
  const { path, section, anchors } = draft.chosen
  const text = textOfDraft(draft)
  const shown = anchors.length === 0 ? undefined : joinedWithin(anchors, limits.fenceAttributeCharsMax)
  return { element: 'knowledge_section', path, section: section.id, anchors: shown, text }
}

/** Half an anchor would point at something else. */
function joinedWithin(texts: readonly string[], charsMax: number): string {
  let out = ''
  for (const text of texts) {
    const next = out === '' ? text : `${out} ${text}`
    if (next.length > charsMax) break
    out = next
  }
  return out
}

const tooSmall = (drafts: readonly Draft[], packs: readonly Draft[]): readonly Diagnostic[] =>
  drafts.length > 0 && packs.length === 0
    ? [diagnostic('budget-too-small', '', 'not one paragraph fits into the budget')]
    : []

import { type Diagnostic, diagnostic } from '../diagnostic.ts'
import { paragraphs } from './divide.ts'
import { type CountTokens, withHeadings } from './section.ts'
import type { ChosenPack, ChosenSection } from './selection.ts'

/** The bytes of the file that a section names, as text; undefined if they are gone. */
export type TextOf = (section: ChosenSection) => string | undefined

/** What is to be written of a pack. */
export interface Draft {
  readonly chosen: ChosenPack
  readonly sections: readonly DraftSection[]
  readonly truncated: boolean
}

export interface DraftSection {
  readonly chosen: ChosenSection
  readonly headings: readonly string[]
  readonly body: string
  readonly cut: boolean
}

export function draftOf(
  chosen: ChosenPack,
  textOf: TextOf,
): { readonly draft: Draft; readonly lost: readonly Diagnostic[] } {
  const lost: Diagnostic[] = []
  const sections = chosen.sections.flatMap((one): readonly DraftSection[] => {
    const { text, headings } = one.section
    if (text !== undefined) return [{ chosen: one, headings: [], body: text, cut: false }]
    const body = textOf(one)
    if (body !== undefined) return [{ chosen: one, headings, body, cut: false }]
    lost.push(diagnostic('file-changed', one.path, 'the file changed after it was indexed', { pack: one.pack }))
    return []
  })
  return { draft: { chosen, sections, truncated: false }, lost }
}

export const textOfDraft = ({ headings, body }: DraftSection): string => withHeadings(headings, body)

/** Limits and evidence alone are no answer. */
export const hasFacts = ({ sections }: Draft): boolean =>
  sections.some(({ chosen }) => chosen.role === 'fact' || chosen.role === 'overview')

/** Without what stands last: paragraphs of the last section until enough is saved, then the section, then the pack. */
export function shortened(drafts: readonly Draft[], excess: number, count: CountTokens): readonly Draft[] {
  const before = drafts.slice(0, -1)
  const last = drafts.at(-1)
  const section = last?.sections.at(-1)
  if (last === undefined || section === undefined) return before
  const body = withoutEnd(section.body, excess, count)
  const kept = body === '' ? [] : [{ ...section, body, cut: true }]
  const draft = { ...last, sections: [...last.sections.slice(0, -1), ...kept], truncated: true }
  return hasFacts(draft) ? [...before, draft] : before
}

/** Without the last paragraphs, as many as have `excess` tokens together. */
function withoutEnd(text: string, excess: number, count: CountTokens): string {
  const all = [...paragraphs(text)]
  let saved = 0
  while (all.length > 0 && saved < excess) {
    const end = all.pop()
    if (end !== undefined) saved += count(text.slice(end.from, end.to))
  }
  return text.slice(0, all.at(-1)?.to ?? 0).trim()
}

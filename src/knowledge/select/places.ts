import { slugOf } from './file-index.ts'
import type { Places } from './section.ts'

/** Whether there is such a place. Pages and times of other media cannot be looked up: they count as there. */
export function anchorExists({ lines, headings }: Places, anchor: string): boolean {
  if (anchor === '' || /^(?:page|t)=/.test(anchor)) return true
  const range = /^L(\d{1,9})(?:-L?(\d{1,9}))?$/.exec(anchor)
  if (range === null) return headings?.has(slugOf(decoded(anchor))) ?? true
  const [from, to] = [Number(range[1]), Number(range[2] ?? range[1])]
  return from >= 1 && from <= to && to <= lines
}

/** A text with its percent signs resolved, or as it is. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

import { slugOf } from '../select/file-index.ts'
import { outlineOf } from '../select/headings.ts'
import { lineCount } from './lines.ts'
import type { PackText } from './pack-content.ts'
import { documentSections } from './sections.ts'

/** A pointer into a file of the pack, such as `sources/a.md#L31`, in its two parts. */
export function splitAnchor(pointer: string): { readonly path: string; readonly anchor: string } {
  const at = pointer.indexOf('#')
  return at < 0 ? { path: pointer, anchor: '' } : { path: pointer.slice(0, at), anchor: pointer.slice(at + 1) }
}

/** The places of a text that anchors can name. */
export interface Places {
  readonly lines: number
  readonly headings: ReadonlySet<string>
}

export const placesOf = (file: PackText): Places => ({
  lines: lineCount(file.text),
  headings: new Set([
    ...outlineOf(file.text).headings.map(({ title }) => slugOf(title)),
    ...documentSections(file).map(({ id }) => id),
  ]),
})

/** Whether there is such a place. Pages and times of other media cannot be looked up: they count as there. */
export function anchorExists(places: Places, anchor: string): boolean {
  if (anchor === '' || /^(?:page|t)=/.test(anchor)) return true
  const range = /^L(\d{1,9})(?:-L?(\d{1,9}))?$/.exec(anchor)
  if (range === null) return places.headings.has(slugOf(decoded(anchor)))
  const [from, to] = [Number(range[1]), Number(range[2] ?? range[1])]
  return from >= 1 && from <= to && to <= places.lines
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

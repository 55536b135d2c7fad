import { indexFile } from '../select/file-index.ts'
import { stemOf } from '../select/layout.ts'
import type { PackText } from './pack-content.ts'

/** What stands under one heading of a document, whole, named as selection names it. */
export interface DocumentSection {
  /** The slug of its heading, unique in the document. */
  readonly id: string
  /** Of a text without a heading, the name of the document. */
  readonly title: string
  /** From the outermost heading to its own. */
  readonly headings: readonly string[]
  /** Of its first line, from 1. */
  readonly line: number
  /** Without the heading. */
  readonly body: string
  /** Estimated. */
  readonly tokens: number
}

/** The sections of a document that say something, in order. */
export function documentSections({ path, text }: PackText): readonly DocumentSection[] {
  const bytes = Buffer.from(text)
  const parts = Map.groupBy(indexFile(path, text).sections, ({ slug }) => slug)
  return [...parts].flatMap(([id, [first, ...rest]]) => {
    if (first === undefined) return []
    const { headings, from, firstLine: line } = first
    const title = headings.at(-1) ?? stemOf(path)
    const body = bytes.toString('utf8', from, (rest.at(-1) ?? first).to)
    const tokens = [first, ...rest].reduce((sum, part) => sum + part.tokens, 0)
    return [{ id, title, headings, line, body, tokens }]
  })
}

import type { Diagnostic } from '../diagnostic.ts'

/** Counts the tokens of a text, or estimates them. */
export type CountTokens = (text: string) => number

/** What is selected: the text under one heading, or a part of it where that is long. */
export interface Section {
  /** Unique in its file; parts of one section are `limits`, `limits.2`, … */
  readonly id: string
  /** Of its heading, unique in the file: what anchors and source maps name. */
  readonly slug: string
  /** From the outermost heading to its own. */
  readonly headings: readonly string[]
  /** Bytes of the text as UTF-8, without the heading. */
  readonly from: number
  readonly to: number
  /** Lines of the file from 1, with the heading. */
  readonly firstLine: number
  readonly lastLine: number
  /** Of the text as it is sent, with its headings. */
  readonly tokens: number
  /** From `sectionDigest`: equal for the same section in two places. */
  readonly digest: string
  /** Places of evidence that the text itself names. */
  readonly marks: readonly string[]
  /** The text as it is sent, where it is no part of a file. */
  readonly text?: string | undefined
  /** What must be said with the text, where it is sent. */
  readonly findings?: readonly SectionFinding[] | undefined
  /** What must be said as well, if none of its places of evidence is there. */
  readonly unanchored?: SectionFinding | undefined
}

export type SectionFinding = Pick<Diagnostic, 'code' | 'message'>

/** The places of a text that anchors can name. */
export interface Places {
  readonly lines: number
  /** Slugs, also of headings with nothing under them; undefined where there are too many to keep. */
  readonly headings: ReadonlySet<string> | undefined
}

/** A file, divided and made searchable once; all that is needed to choose from it without its text. */
export interface FileIndex {
  readonly path: string
  /** SHA-256 of the text as UTF-8. */
  readonly digest: string
  readonly sections: readonly Section[]
  readonly terms: SectionTerms
  readonly places: Places
  /** There were more sections than are kept of a file. */
  readonly cut?: boolean | undefined
}

/** Which terms the sections of one file have. */
export interface SectionTerms {
  /** For each term triples: the section, how often it stands in its headings, how often in its text. */
  readonly postings: ReadonlyMap<string, readonly number[]>
  /** For each section how many terms its headings have, and its text. */
  readonly headingLengths: readonly number[]
  readonly bodyLengths: readonly number[]
}

/** The text that is sent for a section: the path of its headings, so that a part is not read out of place, and the text. */
export const withHeadings = (headings: readonly string[], body: string): string =>
  headings.length === 0 ? body.trim() : `${headings.join(' > ')}\n\n${body.trim()}`

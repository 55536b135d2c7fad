import type { FileIndex, SectionTerms } from './section.ts'

/** Files as if their sections stood in one: a pack of thousands of small files is searched like one of few large ones. */
export interface JoinedFiles {
  readonly files: readonly FileIndex[]
  /** The number of the first section of each file. */
  readonly starts: readonly number[]
  readonly sections: number
  readonly terms: SectionTerms
}

export function joinFiles(files: readonly FileIndex[]): JoinedFiles {
  const starts: number[] = []
  let sections = 0
  for (const file of files) {
    starts.push(sections)
    sections += file.sections.length
  }
  return { files, starts, sections, terms: joinTerms(files, starts) }
}

/** Joined anew only when one of the files is another. `key` is what the files were found by. */
export function makeJoiner(): (key: object, files: readonly FileIndex[]) => JoinedFiles {
  const known = new WeakMap<object, JoinedFiles>()
  return (key, files) => {
    const last = known.get(key)
    if (last?.files.length === files.length && last.files.every((file, at) => file === files[at])) return last
    const joined = joinFiles(files)
    known.set(key, joined)
    return joined
  }
}

/** The file that a section stands in, and its place there. */
export function fileAt(
  { files, starts }: JoinedFiles,
  section: number,
): { readonly file: FileIndex; readonly at: number } {
  let low = 0
  let high = starts.length - 1
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if ((starts[middle] ?? 0) <= section) low = middle
    else high = middle - 1
  }
  return { file: files[low] as FileIndex, at: section - (starts[low] ?? 0) }
}

function joinTerms(files: readonly FileIndex[], starts: readonly number[]): SectionTerms {
  const [only] = files
  if (only !== undefined && files.length === 1) return only.terms
  const postings = new Map<string, number[]>()
  for (const [number, { terms }] of files.entries()) {
    const start = starts[number] ?? 0
    for (const [term, list] of terms.postings) {
      const all = postings.get(term) ?? []
      if (all.length === 0) postings.set(term, all)
      for (let at = 0; at < list.length; at += 3)
        all.push(start + (list[at] ?? 0), list[at + 1] ?? 0, list[at + 2] ?? 0)
    }
  }
  return {
    postings,
    headingLengths: files.flatMap(({ terms }) => terms.headingLengths),
    bodyLengths: files.flatMap(({ terms }) => terms.bodyLengths),
  }
}

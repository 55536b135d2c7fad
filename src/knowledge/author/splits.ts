import { quote } from '../../base/failure.ts'
import { type Diagnostic, diagnostic } from '../diagnostic.ts'
import { sectionDigest } from '../select/file-index.ts'
import { splitSources } from '../select/layout.ts'
import { sourceMapOf } from './grounding.ts'
import type { PackContent, PackText } from './pack-content.ts'
import { documentSections } from './sections.ts'

/** Splits that do not say what their document says: text and heading, whatever the layout. */
export function checkSplits({ paths, files }: PackContent): readonly Diagnostic[] {
  const readable = new Map(files.map((file) => [file.path, file]))
  const known = new Map<string, ReadonlySet<string>>()
  return [...splitSources(paths, sourceMapOf(files))].flatMap(([path, { document }]) => {
    const [split, source] = [readable.get(path), readable.get(document)]
    if (split === undefined || source === undefined) return []
    const there = known.get(document) ?? digestsOf(source)
    known.set(document, there)
    if (digestsOf(split).isSubsetOf(there)) return []
    const message = `differs from ${quote(document)}, which is used in its place: run \`ambit knowledge refresh\``
    return [diagnostic('split-outdated', path, message)]
  })
}

/** The sections of a file, each as one digest. */
const digestsOf = (file: PackText): ReadonlySet<string> =>
  new Set(documentSections(file).map(({ headings, body }) => sectionDigest(headings, body)))

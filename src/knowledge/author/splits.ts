import { quote } from '../../base/failure.ts'
import { type Diagnostic, diagnostic } from '../diagnostic.ts'
import { packPath } from '../pack-path.ts'
import { placeOf, splitsOf, stemOf } from '../select/layout.ts'
import { sourceMapOf } from './grounding.ts'
import type { PackContent, PackText } from './pack-content.ts'
import { documentSections } from './sections.ts'

/** Splits that no longer say what their document says, by comparing the texts. */
export function checkSplits(pack: PackContent): readonly Diagnostic[] {
  const documents = pack.files.filter(({ path }) => path.startsWith('documents/'))
  const byPath = new Map(documents.map((file) => [file.path, file]))
  const byFolder = new Map(documents.map((file) => [splitsOf(file.path), file]))
  const origins = originsOf(pack)
  const known = new Map<string, Document>()
  return pack.files
    .filter(({ path }) => placeOf(path) === 'split')
    .flatMap((split) => {
      // As the source map says, else the one its folder is named after.
      const file = byPath.get(origins.get(split.path) ?? '') ?? byFolder.get(split.path.split('/', 3).join('/'))
      if (file === undefined) return []
      const document = known.get(file.path) ?? opened(file)
      known.set(file.path, document)
      return outdated(split, document)
    })
}

interface Document {
  readonly path: string
  /** The words of each section, by its id. */
  readonly sections: ReadonlyMap<string, string>
  readonly words: string
}

const opened = (file: PackText): Document => ({
  path: file.path,
  sections: new Map(documentSections(file).map(({ id, body }) => [id, oneLine(body)])),
  words: wordsOf(file),
})

function outdated(split: PackText, { path, sections, words }: Document): readonly Diagnostic[] {
  const section = sections.get(stemOf(split.path))
  const body = wordsOf(split)
  // Equal sections first: to look through the whole document for every split would take long.
  if (body === section || words.includes(body)) return []
  const why = section === undefined ? 'its text is no longer in' : 'its text differs from the section in'
  return [diagnostic('split-outdated', split.path, `${why} ${quote(path)}: make the split again`)]
}

/** The document that each split was made from, as far as the source map says. */
function originsOf(pack: PackContent): ReadonlyMap<string, string> {
  const sections = sourceMapOf(pack.files)?.document_sections ?? []
  return new Map(
    sections.flatMap(({ document, compiled_into = [] }) =>
      compiled_into.map((path) => [packPath(path) ?? path, packPath(document) ?? document] as const),
    ),
  )
}

/** The words alone: without frontmatter, headings and differences of layout. */
const wordsOf = (file: PackText): string =>
  oneLine(
    documentSections(file)
      .map(({ body }) => body)
      .join('\n'),
  )

const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim()

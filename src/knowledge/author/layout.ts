import { quote } from '../../base/failure.ts'
import { type Diagnostic, type DiagnosticCode, diagnostic } from '../diagnostic.ts'
import { entryName } from '../discover/header.ts'
import { leadsOut, packPath } from '../pack-path.ts'
import { outlineOf } from '../select/headings.ts'
import { isContext, saysWhereItStops } from '../select/layout.ts'
import type { PackContent } from './pack-content.ts'

/** What the frontmatter promises of the files. */
export const checkLayout = (pack: PackContent): readonly Diagnostic[] => [
  ...checkDocument(pack),
  ...checkPart(pack, 'ontology', pack.header.primaryOntology),
  ...checkPart(pack, 'answers', pack.header.primaryAnswers),
  ...checkPersona(pack),
]

function checkDocument({ header, paths }: PackContent): readonly Diagnostic[] {
  const missing = (message: string) => [diagnostic('primary-missing', entryName, message)]
  if (header.primaryDocument !== undefined)
    return checkNamed('metadata.primaryDocument', header.primaryDocument, paths, missing)
  if (header.profile !== 'document-first') return []
  return missing(
    has(paths, 'documents/')
      ? 'the profile is document-first, and no `metadata.primaryDocument` says where to begin'
      : 'the profile is document-first, and there is no document: add `documents/` and `metadata.primaryDocument`',
  )
}

/** `ontology/` or `answers/`: the folder and the key that names its main file belong together. */
function checkPart({ header, paths }: PackContent, part: 'ontology' | 'answers', path?: string): readonly Diagnostic[] {
  const key = part === 'ontology' ? 'metadata.primaryOntology' : 'metadata.primaryAnswers'
  const code: DiagnosticCode = `${part}-missing`
  const missing = (message: string) => [diagnostic(code, entryName, message, { severity: 'error' })]
  if (path !== undefined) return checkNamed(key, path, paths, missing)
  if (has(paths, `${part}/`))
    return [diagnostic(code, entryName, `there is \`${part}/\`, and no \`${key}\` names its main file`)]
  return part === 'ontology' && header.type === 'content-ontology'
    ? missing('the type is content-ontology, and there is no `ontology/`')
    : []
}

/** The file that a key of the frontmatter names. */
function checkNamed(
  key: string,
  path: string,
  paths: readonly string[],
  missing: (message: string) => readonly Diagnostic[],
): readonly Diagnostic[] {
  const inside = packPath(path)
  if (inside === undefined) return [diagnostic('path-escape', entryName, leadsOut(key, path))]
  return paths.includes(inside) ? [] : missing(`\`${key}\` names ${quote(path)}, which is not there`)
}

const has = (paths: readonly string[], folder: string): boolean => paths.some((path) => path.startsWith(folder))

function checkPersona({ header, paths, files }: PackContent): readonly Diagnostic[] {
  if (header.mode !== 'persona') return []
  const titles = files
    .filter(({ path }) => path === entryName || isContext(path))
    .flatMap(({ text }) => outlineOf(text).headings.map(({ title }) => title))
  if (saysWhereItStops(paths, titles)) return []
  const message = 'a persona without guidance on its boundaries: add `compiled/boundaries.md`, or a heading for them'
  return [diagnostic('persona-boundaries', entryName, message)]
}

import { quote } from '../../base/failure.ts'
import type { SourceMap } from '../../model/knowledge/records.ts'
import { type Diagnostic, type DiagnosticCode, diagnostic } from '../diagnostic.ts'
import { packPath } from '../pack-path.ts'
import { readSourceMap, sourceMapPath } from '../read-records.ts'
import { pathOf } from '../select/anchors.ts'
import { indexFile } from '../select/file-index.ts'
import { anchorExists } from '../select/places.ts'
import type { Places } from '../select/section.ts'
import type { PackContent } from './pack-content.ts'

/** The source map: its shape, and whether everything it points at is there. */
export function checkAnchors(pack: PackContent): readonly Diagnostic[] {
  const file = pack.files.find(({ path }) => path === sourceMapPath)
  if (file === undefined) return []
  const reading = readSourceMap(file.text)
  if ('problem' in reading) return [reading.problem]
  const look = looker(pack)
  return [...claimsOf(reading.value, look), ...sectionsOf(reading.value, look)]
}

type Look = (who: string, pointer: string, gone: 'source-missing' | 'anchor-missing') => readonly Diagnostic[]

const claimsOf = ({ claims }: SourceMap, look: Look): readonly Diagnostic[] =>
  claims.flatMap(({ claim_id, source, status, document, compiled_into = [] }) => {
    const who = `claim ${quote(claim_id)}`
    const pointer = source.anchor === undefined ? source.path : `${source.path}#${source.anchor.replace(/^#/, '')}`
    return [
      // A claim that says itself that its source is missing is no news.
      ...(status === 'missing' || status === 'source-required' ? [] : look(who, pointer, 'source-missing')),
      ...[...(document === undefined ? [] : [document]), ...compiled_into].flatMap((path) =>
        look(who, path, 'anchor-missing'),
      ),
    ]
  })

const sectionsOf = ({ document_sections = [] }: SourceMap, look: Look): readonly Diagnostic[] =>
  document_sections.flatMap(({ document, section_id, source_anchors = [], compiled_into = [] }) =>
    [document, ...source_anchors, ...compiled_into].flatMap((pointer) =>
      look(`section ${quote(section_id)}`, pointer, 'anchor-missing'),
    ),
  )

/** Divides each file once: a map names the same places again and again. */
function looker({ paths, files }: PackContent): Look {
  const there = new Set(paths)
  const readable = new Map(files.map((file) => [file.path, file]))
  const places = new Map<string, Places>()
  return (who, pointer, gone) => {
    const found = (code: DiagnosticCode, what: string) => [diagnostic(code, sourceMapPath, `${who} ${what}`)]
    const path = pathOf(pointer)
    const anchor = pointer.slice(path.length + 1)
    const inside = packPath(path)
    if (inside === undefined) return found('path-escape', `leads out of the pack: ${quote(pointer)}`)
    if (!there.has(inside)) return found(gone, `names ${quote(pointer)}, which is not there`)
    const file = readable.get(inside)
    if (file === undefined || anchor === '') return []
    const known = places.get(inside) ?? indexFile(inside, file.text).places
    places.set(inside, known)
    return anchorExists(known, anchor)
      ? []
      : found('anchor-missing', `names a place that ${quote(pointer)} does not have`)
  }
}

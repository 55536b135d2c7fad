import { quote } from '../../base/failure.ts'
import { isObject } from '../../base/object.ts'
import { type Diagnostic, diagnostic } from '../diagnostic.ts'
import { packPath } from '../pack-path.ts'
import { readPackJson, readRun } from '../read-records.ts'
import type { PackContent, PackText } from './pack-content.ts'

/** Records of runs, and JSON that must at least be JSON. */
export const checkRecords = ({ files }: PackContent): readonly Diagnostic[] =>
  files.filter(({ path }) => /^(?:runs|ontology|answers)\/.*\.json$/i.test(path)).flatMap(checkRecord)

function checkRecord({ path, text }: PackText): readonly Diagnostic[] {
  const reading = path.startsWith('runs/') ? readRun(path, text) : readPackJson(path, text)
  if ('problem' in reading) return [reading.problem]
  return path.startsWith('runs/') ? outwards(path, reading.value) : []
}

/** Paths in a record that lead out of the pack. Whoever follows one would read what the pack has no business with. */
const outwards = (path: string, record: unknown): readonly Diagnostic[] => {
  const bad = [...new Set(pathsIn(record).filter((each) => packPath(each) === undefined))]
  return bad
    .slice(0, 10)
    .map((each) => diagnostic('path-escape', path, `names ${quote(each)}, which leads out of the pack`))
}

const pathLists = ['selected_files', 'selected_documents', 'selected_splits', 'source_anchors']

function pathsIn(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(pathsIn)
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([key, inner]) => {
    if (typeof inner === 'string' && (key === 'path' || key === 'document' || key === 'primary_document'))
      return [inner]
    if (pathLists.includes(key) && Array.isArray(inner)) return inner.filter((each) => typeof each === 'string')
    return pathsIn(inner)
  })
}

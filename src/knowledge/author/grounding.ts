import { quote } from '../../base/failure.ts'
import type { SourceMap } from '../../model/knowledge/records.ts'
import { type Diagnostic, diagnostic } from '../diagnostic.ts'
import { isCompileRun, readCompileRun, readSourceMap, sourceMapPath } from '../read-records.ts'
import type { RecordedRun } from '../select/run-findings.ts'
import type { PackContent } from './pack-content.ts'

/** Claims that are in doubt, and claims and sections that do not say where exactly they come from, though the pack could. */
export function checkGrounding({ header, files }: PackContent): readonly Diagnostic[] {
  const map = sourceMapOf(files)
  if (map === undefined)
    return header.grounding === 'required'
      ? [unanchored('grounding is required, and there is no source map that can be read')]
      : []
  return [
    ...map.claims.flatMap(({ claim_id, status }) => {
      if (status === 'confirmed' || status === 'inferred') return []
      const message = `claim ${quote(claim_id)} is ${status}: check it, or take it out`
      return [diagnostic(`claim-${status}`, sourceMapPath, message)]
    }),
    ...map.claims
      .filter(({ status, source }) => status !== 'missing' && source.anchor === undefined && !source.path.includes('#'))
      .map(({ claim_id }) => unanchored(`claim ${quote(claim_id)} names a file and no place in it`)),
    ...(map.document_sections ?? [])
      .filter(({ source_anchors = [] }) => header.grounding !== 'none' && source_anchors.length === 0)
      .map(({ section_id, document }) =>
        unanchored(`section ${quote(section_id)} of ${quote(document)} has no anchor`),
      ),
  ]
}

export function sourceMapOf(files: PackContent['files']): SourceMap | undefined {
  const file = files.find(({ path }) => path === sourceMapPath)
  const reading = file === undefined ? undefined : readSourceMap(file.text)
  return reading !== undefined && 'value' in reading ? reading.value : undefined
}

export function runsOf(files: PackContent['files']): readonly RecordedRun[] {
  const newest = files.findLast(({ path }) => isCompileRun(path))
  const reading = newest && readCompileRun(newest.path, newest.text)
  return newest && reading && 'value' in reading ? [{ path: newest.path, run: reading.value }] : []
}

const unanchored = (message: string): Diagnostic => diagnostic('claim-unanchored', sourceMapPath, message)

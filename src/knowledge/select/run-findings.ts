import type { CompileRun } from '../../model/knowledge/records.ts'
import { type Diagnostic, diagnostic } from '../diagnostic.ts'
import { packPath } from '../pack-path.ts'

export interface RecordedRun {
  /** Where it lies: names of runs begin with the time, so the last by name is the newest. */
  readonly path: string
  readonly run: CompileRun
}

/** What the newest compile run found in the chosen files. Older runs are history. */
export function runFindings(
  pack: string,
  runs: readonly RecordedRun[],
  files: ReadonlySet<string>,
): readonly Diagnostic[] {
  const newest = runs.toSorted((a, b) => (a.path < b.path ? -1 : 1)).at(-1)
  if (newest === undefined) return []
  const { path, run } = newest
  const finding = (at: string, message: string): Diagnostic => diagnostic('run-finding', at, message, { pack })
  const isChosen = (place = ''): boolean => files.has(packPath(place) ?? '')
  const found = (run.diagnostics ?? []).filter((one) => one.severity !== 'info' && isChosen(one.path))
  const chapters = (run.chapters ?? []).filter(
    ({ coverage, path: file, document }) => coverage !== 'full' && (isChosen(file) || isChosen(document)),
  )
  return [
    ...(run.status === 'passed' ? [] : [finding(path, `the last compile run ended as ${run.status}`)]),
    ...(run.review?.required === true ? [finding(path, 'the last compile run asks for a review')] : []),
    ...found.map((one) => finding(packPath(one.path) ?? '', `the last compile run reports: ${one.message}`)),
    ...chapters.map(({ id, coverage, path: file, document }) =>
      finding(file ?? document ?? path, `chapter \`${id}\` has coverage ${coverage}`),
    ),
  ]
}

import type { Diagnostic } from '../diagnostic.ts'
import { type Reading, readAnswerSuite, readPackJson, readSelectionSuite } from '../read-records.ts'
import { readSuite } from '../route/suite.ts'
import type { PackContent, PackText } from './pack-content.ts'

/** Suites of the pack: their shape, and that they are about this pack. */
export const checkSuites = ({ header, files }: PackContent): readonly Diagnostic[] =>
  files.filter(({ path }) => /^evals\/[^/]+\.json$/i.test(path)).flatMap((file) => checkSuite(file, header.name))

function checkSuite({ path, text }: PackText, pack: string): readonly Diagnostic[] {
  if (/^evals\/answer-quality[^/]*\.json$/.test(path)) return problemsOf(readAnswerSuite(path, text))
  const json = readPackJson(path, text)
  if ('problem' in json || !/^evals\/discovery[^/]*\.json$/.test(path)) return problemsOf(json)
  const { suite, diagnostics } = readSuite(json.value, { path, pack })
  // What is no suite at all is told again, with the place where it goes wrong.
  const wrong = suite === undefined ? problemsOf(readSelectionSuite(path, text)) : []
  return wrong.length > 0 ? wrong : diagnostics
}

const problemsOf = (reading: Reading<unknown>): readonly Diagnostic[] => ('problem' in reading ? [reading.problem] : [])

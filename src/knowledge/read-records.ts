import type { Json } from '../base/canonical.ts'
import { Failure } from '../base/failure.ts'
import { readJson } from '../base/json.ts'
import { limits } from '../base/limits.ts'
import {
  type AnswerSuite,
  answerSuite,
  type CompileRun,
  compileRun,
  contextResolution,
  type SelectionSuite,
  type SourceMap,
  selectionResult,
  selectionSuite,
  sourceMap,
} from '../model/knowledge-records.ts'
import { parseAs } from '../model/parse.ts'
import { type Diagnostic, diagnostic } from './diagnostic.ts'

/** What a file of a pack says, or why it cannot be used. */
export type Reading<T> = { readonly value: T } | { readonly problem: Diagnostic }

export const sourceMapPath = 'indexes/source-map.json'

/** A file of any shape, read strictly. */
export const readPackJson = (path: string, text: string): Reading<Json> => reading(path, text, (json) => json)

export const readSourceMap = (text: string): Reading<SourceMap> =>
  reading(sourceMapPath, text, (json) => parseAs(sourceMap, json, 'the source map'))

export const readCompileRun = (path: string, text: string): Reading<CompileRun> =>
  reading(path, text, (json) => parseAs(compileRun, json, 'the compile run'))

export const readSelectionSuite = (path: string, text: string): Reading<SelectionSuite> =>
  reading(path, text, (json) => parseAs(selectionSuite, json, 'the suite'))

export const readAnswerSuite = (path: string, text: string): Reading<AnswerSuite> =>
  reading(path, text, (json) => parseAs(answerSuite, json, 'the suite'))

/** A file of `runs/`: its kind follows from how its name begins, never from a word somewhere in it. */
export function readRun(path: string, text: string): Reading<unknown> {
  const name = path.slice(path.lastIndexOf('/') + 1)
  if (name.startsWith('compile-')) return readCompileRun(path, text)
  if (name.startsWith('context-')) return reading(path, text, (json) => parseAs(contextResolution, json, 'the record'))
  if (name.startsWith('eval-discovery-'))
    return reading(path, text, (json) => parseAs(selectionResult, json, 'the result'))
  return readPackJson(path, text)
}

function reading<T>(path: string, text: string, shape: (json: Json) => T): Reading<T> {
  try {
    return { value: shape(readJson(text, { bytesMax: limits.knowledgeFileBytesMax })) }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return { problem: diagnostic('record-invalid', path, error.message) }
  }
}

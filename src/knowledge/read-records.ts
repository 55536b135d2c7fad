import type { Json } from '../base/canonical.ts'
import { Failure } from '../base/failure.ts'
import { readJson } from '../base/json.ts'
import { limits } from '../base/limits.ts'
import {
  answerSuite,
  compileRun,
  contextResolution,
  selectionResult,
  selectionSuite,
  sourceMap,
} from '../model/knowledge/records.ts'
import { parseAs } from '../model/parse.ts'
import { type Diagnostic, diagnostic } from './diagnostic.ts'

/** What a file of a pack says, or why it cannot be used. */
export type Reading<T> = { readonly value: T } | { readonly problem: Diagnostic }

export const sourceMapPath = 'indexes/source-map.json'

/** A file of any shape, read strictly. */
export const readPackJson = (path: string, text: string): Reading<Json> => reading(path, text, (json) => json)

/** Names of compile runs begin with the time: only the last by name counts. */
export const isCompileRun = (path: string): boolean => /^runs\/compile-[^/]+\.json$/.test(path)

export const readCompileRun = readerOf(compileRun, 'the compile run')
export const readSelectionSuite = readerOf(selectionSuite, 'the suite')
export const readAnswerSuite = readerOf(answerSuite, 'the suite')
export const readSourceMap = (text: string) => readMap(sourceMapPath, text)

const readMap = readerOf(sourceMap, 'the source map')
const readResolution = readerOf(contextResolution, 'the record')
const readResult = readerOf(selectionResult, 'the result')

/** A file of `runs/`: its kind follows from how its name begins, never from a word somewhere in it. */
export function readRun(path: string, text: string): Reading<unknown> {
  const name = path.slice(path.lastIndexOf('/') + 1)
  if (name.startsWith('compile-')) return readCompileRun(path, text)
  if (name.startsWith('context-')) return readResolution(path, text)
  return name.startsWith('eval-discovery-') ? readResult(path, text) : readPackJson(path, text)
}

function readerOf<S extends Parameters<typeof parseAs>[0]>(schema: S, what: string) {
  return (path: string, text: string) => reading(path, text, (json) => parseAs(schema, json, what))
}

function reading<T>(path: string, text: string, shape: (json: Json) => T): Reading<T> {
  try {
    return { value: shape(readJson(text, { bytesMax: limits.knowledgeFileBytesMax })) }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return { problem: diagnostic('record-invalid', path, error.message) }
  }
}

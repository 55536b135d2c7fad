import { limits } from '../../base/limits.ts'
import { recent } from '../../base/recent.ts'
import type { Diagnostic } from '../../knowledge/diagnostic.ts'
import { entryName } from '../../knowledge/discover/header.ts'
import type { Pack } from '../../knowledge/pack.ts'
import { readAnswerSuite, readPackJson } from '../../knowledge/read-records.ts'
import { type ReadSuite, readSuite } from '../../knowledge/route/suite.ts'
import type { AnswerSuite } from '../../model/knowledge/records.ts'
import type { Library } from './library.ts'
import type { PackFiles } from './pack-files.ts'

type SuiteRole = 'train' | 'validation'

/** The suite of each pack by what it is for, or one from elsewhere by its file, for the pack that it names. */
export type SuiteName = SuiteRole | { readonly file: string; readonly value: unknown }

export const trainSuite = 'evals/discovery.train.json'

// Routing learns from the first that is there; the old form knows no second suite.
const places: Readonly<Record<SuiteRole, readonly string[]>> = {
  train: [trainSuite, 'evals/discovery.json'],
  validation: ['evals/discovery.validation.json'],
}

export interface SuiteReader {
  /** The suite of a pack, or undefined where it has none. */
  selection(pack: Pack, name: SuiteRole): Promise<ReadSuite | undefined>
  answers(pack: Pack): Promise<AnswerSuite | Diagnostic | undefined>
}

export function makeSuiteReader(library: Library): SuiteReader {
  const known = recent<string, PackFiles>(limits.knowledgeSuitesKeptMin)
  const open = async (pack: Pack): Promise<PackFiles> => {
    const files = await library.files(pack)
    // A pack that was away for a moment is looked for again.
    if (files.find(entryName) !== undefined) known.set(pack.id, files)
    return files
  }
  const read = async <T>(pack: Pack, path: string, make: (text: string) => T): Promise<T | Diagnostic | undefined> => {
    const files = known.get(pack.id) ?? (await open(pack))
    const file = files.find(path)
    return file && library.of(pack, files, file, 'suite', make)
  }
  return {
    selection: async (pack, name) => {
      for (const path of places[name]) {
        const found = await read(pack, path, (text) => selectionFrom(path, text, pack))
        if (found !== undefined) return 'code' in found ? { diagnostics: [found] } : found
      }
      return undefined
    },
    answers: async (pack) => {
      const path = 'evals/answer-quality.json'
      const found = await read(pack, path, (text) => readAnswerSuite(path, text))
      if (found === undefined || 'code' in found) return found
      return 'problem' in found ? found.problem : found.value
    },
  }
}

function selectionFrom(path: string, text: string, { header }: Pack): ReadSuite {
  const json = readPackJson(path, text)
  return 'problem' in json ? { diagnostics: [json.problem] } : readSuite(json.value, { path, pack: header.name })
}

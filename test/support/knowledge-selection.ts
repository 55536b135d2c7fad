import type { Pack } from '../../src/knowledge/pack.ts'
import { choose } from '../../src/knowledge/select/choose.ts'
import type { TextOf } from '../../src/knowledge/select/drafts.ts'
import { estimateTokens } from '../../src/knowledge/select/estimate.ts'
import { indexFile } from '../../src/knowledge/select/file-index.ts'
import type { Choice, ChosenSection, PackFacts, SelectionRequest } from '../../src/knowledge/select/selection.ts'
import { type Wrapped, wrap } from '../../src/knowledge/select/wrap.ts'
import type { PackHeader } from '../../src/model/knowledge/knowledge.ts'

/** Files of a pack by path. */
export type Files = Readonly<Record<string, string>>

export function makePack(header: Partial<PackHeader> = {}): Pack {
  const name = header.name ?? 'pumps'
  return {
    id: `workspace:${name}`,
    root: 'workspace',
    scope: 'workspace',
    order: 0,
    path: name,
    at: '',
    header: {
      name,
      description: 'Pumps and their limits.',
      type: 'domain-reference',
      status: 'ready',
      profile: 'document-first',
      mode: 'data',
      trust: 'official',
      grounding: 'none',
      maintainers: [],
      ...header,
    },
    trust: 'official',
    digest: '0'.repeat(64),
    extra: {},
    diagnostics: [],
  }
}

const makeFacts = (pack: Pack, files: Files, more: Partial<PackFacts> = {}): PackFacts => ({
  pack,
  activation: 'explicit',
  paths: Object.keys(files),
  guide: '',
  files: new Map(),
  ...more,
})

export interface World {
  readonly facts: PackFacts
  readonly files: Files
}

export const world = (header: Partial<PackHeader>, files: Files, more: Partial<PackFacts> = {}): World => ({
  facts: makeFacts(makePack(header), files, more),
  files,
})

/** Chooses, indexing what is wanted until the choice stands; also says what was opened. */
export function chooseFrom(
  worlds: readonly World[],
  request: Partial<SelectionRequest> & { readonly query: string },
): { readonly choice: Choice; readonly opened: readonly string[] } {
  let packs = worlds.map(({ facts }) => facts)
  const opened: string[] = []
  for (let round = 0; round < 10; round++) {
    const choice = choose({ budget: 2_000, ...request, packs })
    if (choice.wanted.length === 0) return { choice, opened }
    packs = packs.map((facts, at) => {
      const paths = choice.wanted.find(({ pack }) => pack === facts.pack.id)?.paths ?? []
      opened.push(...paths)
      const indexed = paths.map((path) => [path, indexFile(path, worlds[at]?.files[path] ?? '')] as const)
      return { ...facts, files: new Map([...facts.files, ...indexed]) }
    })
  }
  throw new Error('the choice never stands')
}

export const textFrom =
  (worlds: readonly World[]): TextOf =>
  ({ pack, path, section }: ChosenSection) => {
    const text = worlds.find(({ facts }) => facts.pack.id === pack)?.files[path]
    return text === undefined ? undefined : Buffer.from(text).subarray(section.from, section.to).toString()
  }

export const seed = Uint8Array.from({ length: 16 }, (_, index) => index)

/** Chooses and wraps. */
export function resolve(
  worlds: readonly World[],
  request: Partial<SelectionRequest> & { readonly query: string },
): Wrapped & { readonly choice: Choice } {
  const { choice } = chooseFrom(worlds, request)
  const budget = request.budget ?? 2_000
  return { ...wrap({ choice, textOf: textFrom(worlds), seed, budget, count: estimateTokens }), choice }
}

/** `path#section` of everything chosen, in order. */
export const chosenIn = ({ packs }: Choice): readonly string[] =>
  packs.flatMap(({ sections }) => sections.map(({ path, section }) => `${path}#${section.id}`))

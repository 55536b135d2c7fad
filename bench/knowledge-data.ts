import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Routable } from '../src/knowledge/route/route.ts'

/** A question and the text that answers it. It belongs to the pack it lies in. */
export interface Asked {
  readonly question: string
  readonly answer: string
}

export interface LabelledPack {
  readonly name: string
  readonly description: string
  readonly asked: readonly Asked[]
}

/** The packs below `folder`, by name; none when there is no such folder. */
export function readLabelledPacks(folder: string): readonly LabelledPack[] {
  const packs = join(folder, 'packs')
  if (!existsSync(packs)) return []
  return readdirSync(packs)
    .filter((name) => existsSync(join(packs, name, 'questions.jsonl')))
    .sort()
    .map((name) => {
      const manifest = JSON.parse(readFileSync(join(packs, name, 'manifest.json'), 'utf8'))
      const lines = readFileSync(join(packs, name, 'questions.jsonl'), 'utf8').split('\n')
      const asked = lines.filter((line) => line.trim() !== '').map((line) => JSON.parse(line))
      return { name: manifest.name, description: manifest.description, asked }
    })
}

export const routable = (pack: LabelledPack, prompts: readonly Asked[] = []): Routable => ({
  id: pack.name,
  name: pack.name,
  description: pack.description,
  select: prompts.map(({ question }) => question),
  reject: [],
})

/** The same order for the same start value, on every machine. */
export function shuffled<Value>(values: readonly Value[], seed: number): readonly Value[] {
  const random = makeRandom(seed)
  const keyed = values.map((value) => ({ value, key: random() }))
  return keyed.sort((a, b) => a.key - b.key).map(({ value }) => value)
}

function makeRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

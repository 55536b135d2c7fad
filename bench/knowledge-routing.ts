import { join } from 'node:path'
import MiniSearch from 'minisearch'
import { makeRouter } from '../src/knowledge/route/route.ts'
import { choose } from '../src/knowledge/select/choose.ts'
import { indexFile } from '../src/knowledge/select/file-index.ts'
import { countTokens } from '../src/tokens/count.ts'
import { makePack } from '../test/support/knowledge-selection.ts'
import { type Asked, type LabelledPack, readLabelledPacks, routable, shuffled } from './knowledge-data.ts'
import type { Bench, Row } from './measure.ts'

const start = 20_250
const rounds = 4

/** Which pack answers a question, which section, and when none does: beside a search library on the same data. */
const bench: Bench = async () => {
  const folder = dataFolder()
  const packs = folder === undefined ? [] : readLabelledPacks(folder)
  if (packs.length === 0) {
    process.stderr.write('skipped: set AMBIT_DATA to a folder that holds kgpacks-dev, or give --data <folder> … ')
    return []
  }
  process.stderr.write(`${rounds} start values from ${start}, ${packs.length} packs … `)
  return [
    ...rankingRows(packs, 0),
    ...rankingRows(packs, 8),
    ...rankingRows(packs, 33),
    ...decisionRows('a sixth of packs gone', packs, 0),
    ...decisionRows('a sixth gone, 8 prompts', packs, 8),
    ...sectionRows(packs),
  ]
}
export default bench

function dataFolder(): string | undefined {
  const at = process.argv.indexOf('--data')
  if (at >= 0) return process.argv[at + 1]
  const { AMBIT_DATA } = process.env
  return AMBIT_DATA === undefined ? undefined : join(AMBIT_DATA, 'kgpacks-dev')
}

type Rank = (query: string) => readonly { readonly id: string; readonly score: number }[]

interface Split {
  readonly pack: LabelledPack
  readonly prompts: readonly Asked[]
  readonly test: readonly Asked[]
}

/** Prompts come from six tenths of the questions of a pack, the test is the rest; without prompts all are the test. */
function split(packs: readonly LabelledPack[], prompts: number, round: number): readonly Split[] {
  return packs.map((pack, at) => {
    const asked = shuffled(pack.asked, start + round * 1000 + at)
    const border = prompts === 0 ? 0 : Math.round(asked.length * 0.6)
    return { pack, prompts: asked.slice(0, Math.min(prompts, border)), test: asked.slice(border) }
  })
}

const oursOf = (splits: readonly Split[]) => makeRouter(splits.map(({ pack, prompts }) => routable(pack, prompts)))

function peerOf(splits: readonly Split[]): Rank {
  const search = new MiniSearch({ fields: ['name', 'description', 'prompts'], searchOptions: { boost: { name: 2 } } })
  search.addAll(
    splits.map(({ pack, prompts }) => ({
      id: pack.name,
      name: pack.name,
      description: pack.description,
      prompts: prompts.map(({ question }) => question).join('\n'),
    })),
  )
  return (query) => search.search(query).map(({ id, score }) => ({ id, score }))
}

/** With every question asked of the catalog alone nothing is drawn by lot, so one round is all there is. */
function rankingRows(packs: readonly LabelledPack[], prompts: number): readonly Row[] {
  const all = Array.from({ length: prompts === 0 ? 1 : rounds }, (_, round) => split(packs, prompts, round))
  const judged = all.map((splits) => judge(oursOf(splits).rank, splits))
  const ours = mean(judged)
  const peer = mean(all.map((splits) => judge(peerOf(splits), splits)))
  const used = Math.round(promptsPerPack(all))
  const name = prompts === 0 ? 'catalog only' : `${used} prompts a pack`
  const least = { 0: 0.7, 8: 0.76 }[prompts] ?? 0.87
  const first = row(`hit@1, ${name}${spread(judged.map((one) => one.first))}`, 'share', ours.first, peer.first, least)
  const unproven = { goal: `≥ ${least} with ${promptsMin} prompts a pack: too few in this data`, met: false }
  return [
    prompts > promptsMin && used < promptsMin ? { ...first, ...unproven } : first,
    row(`hit@3, ${name}`, 'share', ours.third, peer.third),
    row(`mean reciprocal rank, ${name}`, 'share', ours.reciprocal, peer.reciprocal),
    { ...row(`query, ${name}`, 'ms', ours.ms, peer.ms), ratio: peer.ms / ours.ms, goal: '< 1 ms', met: ours.ms < 1 },
  ]
}

/** So many make the goal for many prompts a fair one. */
const promptsMin = 30

/** The least and the most over the start values. */
const spread = (values: readonly number[]): string =>
  values.length < 2 ? '' : ` (${Math.min(...values).toFixed(3)}–${Math.max(...values).toFixed(3)})`

const promptsPerPack = (all: readonly (readonly Split[])[]): number =>
  all.flat().reduce((sum, { prompts }) => sum + prompts.length, 0) / Math.max(1, all.flat().length)

function judge(rank: Rank, splits: readonly Split[]) {
  const asked = splits.flatMap(({ pack, test }) => test.map(({ question }) => ({ question, name: pack.name })))
  for (const { question } of asked.slice(0, 200)) rank(question)
  const begin = performance.now()
  const places = asked.map(({ question, name }) => rank(question).findIndex(({ id }) => id === name))
  const ms = (performance.now() - begin) / asked.length
  const share = (right: (place: number) => boolean) => places.filter(right).length / places.length
  return {
    first: share((place) => place === 0),
    third: share((place) => place >= 0 && place < 3),
    reciprocal: places.reduce((sum, place) => sum + (place < 0 ? 0 : 1 / (place + 1)), 0) / places.length,
    ms,
  }
}

interface Decided {
  readonly right: boolean
  readonly score: number
}

/** The library has no threshold: it is given the one that takes as many right packs as ours, known afterwards. */
function decisionRows(name: string, packs: readonly LabelledPack[], prompts: number): readonly Row[] {
  const figures = Array.from({ length: rounds }, (_, round) => {
    const gone = new Set(shuffled(packs, start + round).slice(0, Math.round(packs.length / 6)))
    const splits = split(packs, prompts, round)
    const kept = splits.filter(({ pack }) => !gone.has(pack))
    const router = oursOf(kept)
    const peer = peerOf(kept)
    const asked = splits.flatMap(({ pack, test }) => test.map(({ question }) => ({ question, name: pack.name })))
    const ours = asked.flatMap(({ question, name: own }) =>
      router.decide(question).activated.map(({ id, score }) => ({ right: id === own, score })),
    )
    const theirs = asked.flatMap(({ question, name: own }) =>
      peer(question)
        .slice(0, 1)
        .map(({ id, score }) => ({ right: id === own, score })),
    )
    const right = ours.filter((one) => one.right).length
    const answerable = kept.reduce((sum, { test }) => sum + test.length, 0)
    return {
      precision: right / ours.length,
      recall: right / answerable,
      peerPrecision: precisionAt(theirs, right),
      peerRecall: recallAt(theirs, 0.85) / answerable,
    }
  })
  const { precision, recall, peerPrecision, peerRecall } = mean(figures)
  const [precise, recalled] = [figures.map((one) => one.precision), figures.map((one) => one.recall)].map(spread)
  return [
    row(`precision, ${name}${precise} (peer at our recall)`, 'share', precision, peerPrecision, 0.85),
    row(`recall, ${name}${recalled} (peer at precision 0.85)`, 'share', recall, peerRecall, 0.6),
  ]
}

const byScore = (decided: readonly Decided[]) => decided.toSorted((a, b) => b.score - a.score)

function precisionAt(decided: readonly Decided[], wanted: number): number {
  let right = 0
  for (const [at, one] of byScore(decided).entries()) {
    right += Number(one.right)
    if (right >= wanted) return right / (at + 1)
  }
  return right / Math.max(1, decided.length)
}

function recallAt(decided: readonly Decided[], precision: number): number {
  let right = 0
  let most = 0
  for (const [at, one] of byScore(decided).entries()) {
    right += Number(one.right)
    if (right / (at + 1) >= precision) most = right
  }
  return most
}

/** The answers of a pack stand for its sections: is the right one among those that fit into the budget? */
function sectionRows(packs: readonly LabelledPack[]): readonly Row[] {
  const budgets = [250, 500, 1000]
  const ours = budgets.map(() => 0)
  const peer = budgets.map(() => 0)
  for (const { asked } of packs) {
    const tokens = asked.map(({ answer }) => countTokens(answer))
    const chosen = chooser(asked.map(({ answer }) => answer))
    const search = new MiniSearch({ fields: ['text'] })
    search.addAll(asked.map(({ answer }, id) => ({ id, text: answer })))
    for (const [own, { question }] of asked.entries()) {
      const left = chosen(question)
      const right = search.search(question).map(({ id }) => Number(id))
      for (const [at, budget] of budgets.entries()) {
        ours[at] = (ours[at] ?? 0) + Number(fits(left, tokens, budget).includes(own))
        peer[at] = (peer[at] ?? 0) + Number(fits(right, tokens, budget).includes(own))
      }
    }
  }
  const all = packs.reduce((sum, { asked }) => sum + asked.length, 0)
  return budgets.map((budget, at) =>
    row(
      `section recall in ${budget} tokens`,
      'share',
      (ours[at] ?? 0) / all,
      (peer[at] ?? 0) / all,
      budget === 500 ? 0.95 : undefined,
    ),
  )
}

/** Chooses as a resolution does, from a pack in which every text is a split of its own. */
function chooser(texts: readonly string[]): (query: string) => readonly number[] {
  const paths = texts.map((_, at) => `compiled/splits/all/${at}.md`)
  const files = new Map(texts.map((text, at) => [paths[at] ?? '', indexFile(paths[at] ?? '', text, countTokens)]))
  const facts = { pack: makePack(), activation: 'explicit' as const, paths, guide: '', files }
  return (query) => {
    const { packs } = choose({ query, packs: [facts], budget: 10_000, count: countTokens })
    return [...new Set(packs.flatMap(({ sections }) => sections.map(({ path }) => paths.indexOf(path))))]
  }
}

function fits(ranked: readonly number[], tokens: readonly number[], budget: number): readonly number[] {
  let left = budget
  return ranked.filter((at) => {
    const fit = (tokens[at] ?? 0) <= left
    if (fit) left -= tokens[at] ?? 0
    return fit
  })
}

function row(name: string, unit: string, ours: number, peer: number, least?: number): Row {
  const goal = least === undefined ? 'above the peer' : `≥ ${least}`
  const met = least === undefined ? ours >= peer : ours >= least
  return { name, unit, ours, peer, peerName: 'MiniSearch', ratio: ours / peer, goal, met }
}

function mean<Key extends string>(all: readonly Readonly<Record<Key, number>>[]): Record<Key, number> {
  const keys = Object.keys(all[0] ?? {}) as Key[]
  return Object.fromEntries(
    keys.map((key) => [key, all.reduce((sum, one) => sum + one[key], 0) / all.length]),
  ) as Record<Key, number>
}

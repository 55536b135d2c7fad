// Fits the confidence and the threshold of routing, and prints them with what they reach on packs they were not fitted on.
//   node scripts/calibrate-knowledge.ts <folder>
// <folder>/packs/<name>/ has manifest.json {name, description} and questions.jsonl {id, question, answer}.

import { type LabelledPack, readLabelledPacks, routable, shuffled } from '../bench/knowledge-data.ts'
import { calibration } from '../src/knowledge/route/calibration.ts'
import { makeRouter, type Ranked } from '../src/knowledge/route/route.ts'

/** What the threshold has to reach where it is fitted: more than it must reach elsewhere. */
const precisionAim = 0.895
const folds = 5
const seeds = [1, 2, 3, 4]
const promptCounts = [0, 8, 18]

interface Sample {
  /** Empty when nothing speaks for any pack. */
  readonly evidence: readonly number[]
  readonly right: boolean
  readonly best: boolean
  /** The pack of the question, and whether it is in the catalog. */
  readonly owner: string
  readonly answerable: boolean
  readonly seed: number
  readonly prompts: number
}

const packs = readLabelledPacks(process.argv[2] ?? '')
if (packs.length === 0) {
  process.stderr.write('no packs there: give the folder that holds packs/<name>/manifest.json and questions.jsonl\n')
  process.exit(2)
}
const samples = seeds.flatMap((seed) => promptCounts.flatMap((prompts) => sample(seed, prompts)))
for (const prompts of promptCounts) report(prompts)
const weights = regress(samples)
print(
  `confidence ${JSON.stringify(weights.map((weight) => Number(weight.toFixed(2))))} (base words share margin named agreement)`,
)
print(`threshold ${thresholdOf(samples, weights).toFixed(2)}`)

/** A sixth of the packs are taken out; what they were asked has no pack then. */
function sample(seed: number, prompts: number): readonly Sample[] {
  const gone = new Set(shuffled(packs, seed).slice(0, Math.round(packs.length / 6)))
  const split = new Map(packs.map((pack, at) => [pack, shuffled(pack.asked, seed * 1000 + at)]))
  const trained = (pack: LabelledPack) => Math.min(prompts, Math.round(pack.asked.length * 0.6))
  const kept = packs.filter((pack) => !gone.has(pack))
  const router = makeRouter(kept.map((pack) => routable(pack, split.get(pack)?.slice(0, trained(pack)))))
  return packs.flatMap((pack) =>
    (split.get(pack) ?? []).slice(trained(pack)).flatMap(({ question }) => {
      const common = { owner: pack.name, answerable: !gone.has(pack), seed, prompts }
      const ranked = router.rank(question).slice(0, 3)
      if (ranked.length === 0) return [{ ...common, evidence: [], right: false, best: true }]
      return ranked.map((one, at) => ({
        ...common,
        evidence: evidenceOf(one),
        right: one.id === pack.name,
        best: at === 0,
      }))
    }),
  )
}

function evidenceOf(one: Ranked): readonly number[] {
  return [1, Math.log1p(one.byWords), one.share, one.margin, Number(one.named), one.agreement]
}

/** Each fold of packs is judged by what was fitted on the questions of the others. */
function report(prompts: number): void {
  const owners = shuffled(packs, 7).map(({ name }) => name)
  const foldOf = (one: Sample) => owners.indexOf(one.owner) % folds
  const fitted = Array.from({ length: folds }, (_, fold) => {
    const train = samples.filter((one) => foldOf(one) !== fold)
    const weights = regress(train)
    return { weights, threshold: thresholdOf(train, weights) }
  })
  const figures = seeds.map((seed) => {
    const asked = samples.filter((one) => one.seed === seed && one.prompts === prompts && one.best)
    const taken = asked.filter((one) => {
      const { weights, threshold } = fitted[foldOf(one)] ?? { weights: [], threshold: 1 }
      return confidenceOf(one, weights) >= threshold
    })
    const right = taken.filter((one) => one.right).length
    return [right / taken.length, right / asked.filter((one) => one.answerable).length]
  })
  const column = (at: number) => spread(figures.map((pair) => pair[at] ?? Number.NaN))
  print(`${prompts} prompts a pack, ${folds} folds by pack: precision ${column(0)}, recall ${column(1)}`)
}

function spread(values: readonly number[]): string {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  return `${mean.toFixed(3)} (${Math.min(...values).toFixed(3)}-${Math.max(...values).toFixed(3)})`
}

function confidenceOf(one: Sample, weights: readonly number[]): number {
  if (one.evidence.length === 0) return 0
  return 1 / (1 + Math.exp(-one.evidence.reduce((sum, value, at) => sum + value * (weights[at] ?? 0), 0)))
}

/** Logistic regression by gradient steps of falling size. What speaks for a pack never counts against it. */
function regress(all: readonly Sample[]): readonly number[] {
  const train = all.filter((one) => one.evidence.length > 0)
  let weights = (train[0]?.evidence ?? []).map(() => 0)
  for (let step = 0; step < 400; step++) {
    const slope = weights.map(() => 0)
    for (const one of train) {
      const off = Number(one.right) - confidenceOf(one, weights)
      for (const [at, value] of one.evidence.entries()) slope[at] = (slope[at] ?? 0) + off * value
    }
    const size = 8 / (1 + step / 100) / train.length
    weights = weights.map((weight, at) => Math.max(at === 0 ? -Infinity : 0, weight + size * (slope[at] ?? 0)))
  }
  return weights
}

/** The lowest confidence above which the aim is reached, over all numbers of prompts alike. */
function thresholdOf(all: readonly Sample[], weights: readonly number[]): number {
  const best = all
    .filter((one) => one.best && one.evidence.length > 0)
    .map((one) => ({ right: one.right, confidence: confidenceOf(one, weights) }))
    .sort((a, b) => b.confidence - a.confidence)
  let right = 0
  let threshold = 1
  for (const [at, one] of best.entries()) {
    right += Number(one.right)
    if (right / (at + 1) >= precisionAim) threshold = one.confidence
  }
  return threshold
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

print(`fitted for version ${calibration.version} of the weights`)

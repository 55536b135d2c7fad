import { byUnit } from '../base/canonical.ts'
import { Failure, quote } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import { escapeValue } from '../fence/elements.ts'
import { fence } from '../fence/fence.ts'
import type { Omission } from '../model/contract/compiled.ts'
import { type Allocation, type Bucket, bucketNames } from '../model/contract/context.ts'
import { joinParts, leftOut, type Source } from './facts.ts'

/** Text as a fence would hold it, with its tokens. */
export interface Measured {
  readonly body: string
  readonly tokens: number
}
/** Disarms and counts; `count` is for text that is ours. */
export type Measure = ((text: string) => Measured) & { readonly count: (text: string) => number }

/** A source that was chosen: with the text that stands in its block. */
export interface Chosen {
  readonly source: Source
  readonly body: string
  readonly tokens: number
  readonly truncated: boolean
  /** How many of its newest parts stand in it, where it has any. */
  readonly parts: number
}

export interface Filled {
  readonly chosen: readonly Chosen[]
  readonly used: Allocation
  readonly omissions: readonly Omission[]
}

/** Text that is always there, by the bucket it is charged to. */
export type Mandatory = readonly { readonly bucket: Bucket; readonly text: string }[]

/**
 * Fills the buckets: what is mandatory, then by priority and id whatever fits whole, or can be cut at the end of a line.
 * No token moves from one bucket to another.
 */
export function fillBuckets(
  allocation: Allocation,
  { mandatory, sources, measure }: { mandatory: Mandatory; sources: readonly Source[]; measure: Measure },
): Filled {
  const byBucket = Map.groupBy(sources, ({ bucket }) => bucket)
  const charge = wrapperCharge(measure.count)
  const filled = bucketNames.map((bucket) => {
    const must = mandatory.filter((each) => each.bucket === bucket).map(({ text }) => measure(text).tokens)
    const taken = must.reduce((sum, tokens) => sum + tokens, 0)
    if (taken > allocation[bucket]) throw overBudget(bucket, taken, allocation[bucket])
    return { bucket, ...fill(byBucket.get(bucket) ?? [], { taken, most: allocation[bucket], measure, charge }) }
  })
  return {
    chosen: filled.flatMap(({ chosen }) => chosen),
    used: Object.fromEntries(filled.map(({ bucket, used }) => [bucket, used])) as Allocation,
    omissions: filled.flatMap(({ omissions }) => omissions),
  }
}

interface Room {
  readonly taken: number
  readonly most: number
  readonly measure: Measure
  readonly charge: ReturnType<typeof wrapperCharge>
}

function fill(sources: readonly Source[], { taken, most, measure, charge }: Room) {
  const chosen: Chosen[] = []
  const omissions: Omission[] = []
  let used = taken
  for (const source of sources.toSorted(byPriority)) {
    const { body, tokens: own } = measure(source.text)
    const wrapper = charge(source)
    const tokens = own + wrapper
    const left = most - used
    const fits = tokens <= left
    const cut = fits
      ? { body, tokens: own, parts: source.parts?.length ?? 0 }
      : shorten(source, left - wrapper, measure)
    if (!fits) omissions.push(leftOut(source, cut === undefined ? 'over_budget' : 'cut', tokens))
    if (cut === undefined) continue
    chosen.push({ source, ...cut, tokens: cut.tokens + wrapper, truncated: !fits })
    used += cut.tokens + wrapper
  }
  return { chosen, used, omissions }
}

const byPriority = (a: Source, b: Source): number => b.priority - a.priority || byUnit(a.block_id, b.block_id)

/**
 * What fences add at most, whatever their boundaries are: of those only the length counts, and of the name, which no token
 * is shorter than a byte of, only the bytes.
 */
export function wrapperCharge(count: (text: string) => number): (source: Pick<Source, 'fenced'>) => number {
  const { text, boundary } = fence({ element: 'ambit_data', origin: 'scratchpad', name: '', text: '', seed: anySeed })
  const empty = count(text.replaceAll(boundary, '')) + 2 * boundary.length + limits.fenceJointsMax
  return ({ fenced }) => (fenced === 'already' ? 0 : empty + Buffer.byteLength(escapeValue(fenced.name)))
}

const anySeed = new Uint8Array(16)

type Shortened = Pick<Chosen, 'body' | 'tokens' | 'parts'>

/** As much of a source as fits, if it may be shortened. */
function shorten({ text, parts, splittable }: Source, left: number, measure: Measure): Shortened | undefined {
  if (parts !== undefined) return newestParts(parts, left, measure)
  const cut = splittable ? cutToFit(measure(text).body, left, measure) : undefined
  return cut && { ...cut, parts: 0 }
}

/** The newest parts that fit together, without a gap. */
function newestParts(parts: NonNullable<Source['parts']>, left: number, measure: Measure): Shortened | undefined {
  const suffix = (count: number): Measured => measure(joinParts(parts.slice(parts.length - count)))
  let [low, high] = [0, parts.length]
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (suffix(middle).tokens <= left) low = middle
    else high = middle - 1
  }
  return low === 0 ? undefined : { ...suffix(low), parts: low }
}

/** The longest beginning that ends with a line and fits. */
function cutToFit(body: string, left: number, measure: Measure): Measured | undefined {
  if (left < limits.splitTokensMin) return undefined
  const ends = [...body.matchAll(/\n/g)].map(({ index }) => index)
  let [low, high] = [0, ends.length]
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (measure(body.slice(0, ends[middle - 1])).tokens <= left) low = middle
    else high = middle - 1
  }
  return low === 0 ? undefined : measure(body.slice(0, ends[low - 1]))
}

const overBudget = (bucket: Bucket, tokens: number, most: number): Failure =>
  new Failure(
    'mandatory.block_over_budget',
    `what must stand in bucket ${quote(bucket)} has ${tokens} tokens of ${most}`,
    { bucket, tokens, limit: most },
    'shorten it, or give the bucket more of the budget',
  )

import { byUnit } from '../base/canonical.ts'
import type { ResolutionTrace } from '../model/knowledge/trace.ts'

/** A question that no pack answered, or only a stale one, and how often it was asked. */
export interface Gap {
  /** The question as it was asked last; missing where it was withheld. */
  readonly query?: string | undefined
  readonly digest: string
  readonly asked: number
  readonly last: string
  readonly why: 'nothing' | 'only-stale' | 'refused' | 'missing'
  /** The packs that came nearest, or the stale one that answered. */
  readonly nearest: readonly string[]
  readonly missing: readonly string[]
}

/** The gaps that recorded resolutions show: by how often they were asked, then the newest first. */
export function gapsIn(traces: readonly ResolutionTrace[]): readonly Gap[] {
  const groups = Map.groupBy(traces, ({ query_digest }) => query_digest)
  return [...groups.values()]
    .map((asked) => gapOf(asked.toSorted((left, right) => byUnit(left.at, right.at))))
    .filter((gap) => gap !== undefined)
    .sort(
      (left, right) => right.asked - left.asked || byUnit(right.last, left.last) || byUnit(left.digest, right.digest),
    )
}

/** What was asked last counts: a question that is answered by now is no gap. */
function gapOf(asked: readonly ResolutionTrace[]): Gap | undefined {
  const last = asked.at(-1)
  if (last === undefined) return undefined
  // A question that an answer does not repeat word for word is not a gap by that alone.
  const missing = last.missing.filter((fact) => fact !== last.query && fact !== withheld(last))
  const why = last.outcome !== 'answered' ? last.outcome : missing.length > 0 ? 'missing' : 'failed'
  // What went wrong for another reason, such as a budget too small, says nothing about the packs.
  if (why === 'failed') return undefined
  const near = why === 'nothing' || why === 'refused' ? last.considered : last.activated
  return {
    ...(last.query !== undefined && { query: last.query }),
    digest: last.query_digest,
    asked: asked.length,
    last: last.at,
    why,
    nearest: near.slice(0, 3).map(({ id }) => id),
    missing,
  }
}

const withheld = ({ query_digest }: ResolutionTrace): string => `sha256:${query_digest}`

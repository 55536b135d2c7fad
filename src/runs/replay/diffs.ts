import { canonical, type Json } from '../../base/canonical.ts'
import { differencesOf } from '../../compile/diff.ts'

export type DiffKind = 'evidence' | 'policy' | 'tool_transcript' | 'compiled_context' | 'scorecard' | 'tamper'

/** A place in which a replay comes to something else than what is on record. */
export interface ReplayDiff {
  readonly kind: DiffKind
  /** A stage of the compile; `plan`, `verify`, `call`, `result`, `score` or `end` of the loop; `facts` or `record`. */
  readonly stage: string
  readonly step?: string
  readonly event_id?: number
  /** Within what the stage has written. */
  readonly pointer: string
  readonly recorded: Json
  readonly replayed: Json
}

export type ReplayResult =
  | { readonly status: 'replay_equal'; readonly diffs: readonly [] }
  | { readonly status: 'replay_mismatch'; readonly diffs: readonly ReplayDiff[] }

const diffsMax = 100

/** The first of the differences is the one to look at: those after it may follow from it. */
export const resultOf = (diffs: readonly ReplayDiff[]): ReplayResult =>
  diffs.length === 0
    ? { status: 'replay_equal', diffs: [] }
    : { status: 'replay_mismatch', diffs: diffs.slice(0, diffsMax) }

type Place = Pick<ReplayDiff, 'stage' | 'step' | 'event_id'>

/** The differences of two documents, each of the kind that its place is of. */
export function compare(
  recorded: unknown,
  replayed: unknown,
  place: Place,
  kindOf: DiffKind | ((pointer: string) => DiffKind),
): readonly ReplayDiff[] {
  if (canonical((recorded ?? null) as Json) === canonical((replayed ?? null) as Json)) return []
  return differencesOf(plain(recorded), plain(replayed)).map(({ pointer, from = null, to = null }) => ({
    ...{ kind: typeof kindOf === 'string' ? kindOf : kindOf(pointer), ...place },
    ...{ pointer, recorded: from, replayed: to },
  }))
}

const plain = (value: unknown): Json => JSON.parse(JSON.stringify(value ?? null))

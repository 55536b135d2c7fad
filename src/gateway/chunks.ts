import type { Json } from '../base/canonical.ts'
import { limits } from '../base/limits.ts'
import { digestChunks } from '../evidence/digests.ts'

/** What a stream has given so far. */
export interface Chunks {
  take(chunk: Json): void
  readonly count: number
  /** Those that a repeat is given again: all of them, or none once they are too many. */
  readonly kept: readonly Json[]
  digest(): string
}

/** Those of a call that is no stream. */
export const noChunks: Chunks = openChunks(() => undefined)

/** Counts and digests chunks as they come: a stream may be longer than what anybody wants to hold. */
export function openChunks(onChunk: (chunk: Json) => void): Chunks {
  let digest: ReturnType<typeof digestChunks> | undefined
  let kept: Json[] = []
  let bytes = 0
  let count = 0
  return {
    take: (chunk) => {
      count++
      digest ??= digestChunks()
      bytes += digest.add(chunk)
      if (count <= limits.chunksKeptMax && bytes <= limits.recordedBytesMax) kept.push(chunk)
      else kept = []
      try {
        onChunk(chunk)
      } catch {
        // Whoever watched has left; the call goes on.
      }
    },
    get count() {
      return count
    },
    get kept() {
      return kept
    },
    digest: () => (digest ?? digestChunks()).end(),
  }
}

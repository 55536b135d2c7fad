import type { Effect } from './ended.ts'

/** What this process knows of calls that are over here, though the record may not say so yet: by record key. */
export interface Endings {
  add(key: string, effect: Effect, now: number): void
  get(key: string): Effect | undefined
  delete(key: string): void
}

// A commit of which nobody knew may still land.
const keptMs = 3_600_000

export function openEndings(): Endings {
  const known = new Map<string, { readonly effect: Effect; readonly since: number }>()
  return {
    add: (key, effect, now) => {
      for (const [old, { since }] of known) {
        if (since > now - keptMs) break
        known.delete(old)
      }
      known.delete(key)
      known.set(key, { effect, since: now })
    },
    get: (key) => known.get(key)?.effect,
    delete: (key) => void known.delete(key),
  }
}

import { z } from 'zod'
import { limits } from '../base/limits.ts'
import type { Entry, EntryQuery, EntryStore } from './entry-store.ts'

export const shownLimit = z
  .int()
  .min(1)
  .max(limits.memoryReadMax)
  .optional()
  .describe('How many at most; 20 unless said otherwise.')

/** Entries as a tool shows them: fewer than are asked for, where more would be too large for a result. */
export async function findShown<T>(
  store: EntryStore,
  query: EntryQuery & { readonly limit: number },
  show: (entry: Entry) => T,
): Promise<{ readonly shown: T[]; readonly next?: string }> {
  for (let { limit } = query; ; limit >>= 1) {
    const { entries, ...more } = await store.find({ ...query, limit })
    const shown = entries.map(show)
    if (limit === 1 || Buffer.byteLength(JSON.stringify(shown)) < limits.providerResultBytesMax / 2)
      return { shown, ...more }
  }
}

import { limits } from '../base/limits.ts'
import type { Entry, EntryQuery, EntryStore } from './entry-store.ts'

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

import type { Ids } from '../../base/ids.ts'
import { limits } from '../../base/limits.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import type { StoredEntry } from '../../model/requests.ts'
import type { Change, Work } from '../work.ts'
import { bucketCollection as collection, insertEntry, type NewEntry } from './entries.ts'
import { findEntries } from './entry-index.ts'

/** The newest texts of a bucket, oldest first. */
export function* readBucket(tenant: TenantId, contextId: string): Work<readonly StoredEntry[]> {
  const search = { areas: [{ scope: contextId, below: false }], nowMs: 0 }
  const newest = yield* findEntries(tenant, collection, search, { limit: limits.scratchpadEntriesShownMax })
  return newest.items.toReversed()
}

/** Adds a text to a bucket and answers its id; of one that is too long the beginning. */
export const appendBucket = (
  contextId: string,
  text: Pick<NewEntry, 'agent_id' | 'run_id' | 'content' | 'created_at'>,
  ids: Ids,
): Change<string> =>
  function* (tenant) {
    const { agent_id, run_id, created_at: at } = text
    const log = { content_hash: null, topics: [], body: {}, expires_at_ms: null }
    for (;;) {
      const entry = { ...text, ...log, collection, scope: contextId, entry_id: ids.next('mem') }
      const step = { action: 'stored' as const, at, agent_id, run_id }
      if (yield* insertEntry(tenant, { ...entry, content: beginningOf(text.content) }, step)) return entry.entry_id
    }
  }

/** A letter that is cut in two at the end goes as a whole. */
function beginningOf(content: string): string {
  const bytes = Buffer.from(content)
  if (bytes.length <= limits.scratchpadEntryBytesMax) return content
  return bytes
    .subarray(0, limits.scratchpadEntryBytesMax)
    .toString()
    .replace(/(?<!\ufffd)\ufffd+$/, '')
}

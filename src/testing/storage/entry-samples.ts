import { sha256 } from '../../base/hash.ts'
import { formatTime } from '../../base/time.ts'
import type { EntryStep, NewEntry } from '../../storage/entries/entries.ts'
import { countingIds } from '../ports.ts'

export const sampleIds = countingIds()
export const at = formatTime(0)

/** An entry like those of a provider, with what a test is about. */
export const sampleEntry = (content: string, given: Partial<NewEntry> = {}): NewEntry => ({
  collection: 'memory',
  entry_id: sampleIds.next('mem'),
  scope: 'a',
  content,
  content_hash: sha256(content),
  topics: ['general'],
  body: { type: 'fact' },
  agent_id: 'desk',
  run_id: 'run_0000000000000001',
  created_at: at,
  expires_at_ms: null,
  ...given,
})

export const sampleStep = (action: EntryStep['action'] = 'stored'): EntryStep => ({ action, at, agent_id: 'desk' })

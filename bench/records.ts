import type { Json } from '../src/base/canonical.ts'
import type { EventDraft } from '../src/model/evidence.ts'

type Payload = { readonly [key: string]: Json }

/** A payload whose JSON has about this many bytes, shaped like what capabilities report: short members, some nested. */
export function payloadOf(bytes: number): Payload {
  const items: Json[] = []
  const payload = { note: 'batch released after review', attempt: 1, ok: true, items }
  for (let count = 0; JSON.stringify(payload).length < bytes; count++) {
    items.push({
      name: `field_${count}`,
      source: `payload:/field_${count}`,
      state: 'present',
      sensitive: count % 2 === 0,
    })
  }
  return payload
}

// The call record, which every event carries inside its payload, has about this size on its own.
const recordBytes = 330

let made = 0

/** A draft whose sealed payload has about `bytes`, call record included. */
export function draftOf(bytes: number, correlations: number): EventDraft {
  const number = ++made
  return {
    event_id: `evt_${number.toString().padStart(26, '0')}`,
    event_type: 'execution_completed',
    invocation_id: `inv_${number.toString().padStart(26, '0')}`,
    capability_id: 'depot.release_batch',
    timestamp: '2026-06-16T15:00:00.000Z',
    outcome: 'success',
    correlation: { correlation_id: `cor_${(number % correlations).toString().padStart(26, '0')}` },
    payload: bytes > recordBytes + 100 ? payloadOf(bytes - recordBytes) : {},
    subject: { id: 'stock-planner', type: 'api_key', verified: true, tenant: 'northlight' },
    actor: { id: 'agent://stock-planner', type: 'agent' },
    capability_version: '2.1.0',
    denial: null,
    error: null,
    redacted: true,
  }
}

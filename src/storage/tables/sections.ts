import { type Recent, recent } from '../../base/recent.ts'
import type { SealedEvent } from '../../model/evidence.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import { counted, number, rows, type Statement, type Work } from '../work.ts'

/** So many events in a row are a section of a chain. What is stored was divided by it, so it cannot change. */
export const sectionEvents = 64

/** The section of an event, named by the number of events before it. */
const sectionOf = (sequence: number): number => sequence - 1 - ((sequence - 1) % sectionEvents)

type Field = 'capability_id' | 'subject_id' | 'event_type' | 'outcome' | 'timestamp'

/** What occurs in the sections of a chain: the newest section known to have a value, and what is to be stored next. */
export interface Sections {
  readonly newest: Readonly<Record<Field, Recent<string, number>>>
  rows: (readonly [field: Field, value: string, section: number])[]
}

const valuesMin = 256

export const noSections = (): Sections => ({
  newest: {
    capability_id: recent(valuesMin),
    subject_id: recent(valuesMin),
    event_type: recent(valuesMin),
    outcome: recent(valuesMin),
    timestamp: recent(1),
  },
  rows: [],
})

/** Notes what searches look for in a section: an index with a row for each event would cost more than the event. */
export function noteEvent(sections: Sections, event: SealedEvent): void {
  const section = sectionOf(event.sequence)
  note(sections, section, 'capability_id', event.capabilityId)
  note(sections, section, 'subject_id', event.subjectId)
  note(sections, section, 'event_type', event.eventType)
  note(sections, section, 'outcome', event.outcome)
  if (event.sequence === section + 1) note(sections, section, 'timestamp', event.timestamp)
}

function note({ newest, rows }: Sections, section: number, field: Field, value: string | null): void {
  if (value === null || newest[field].get(value) === section) return
  newest[field].set(value, section)
  rows.push([field, value, section])
}

// What this process does not remember may be stored already.
const add = `INSERT INTO event_sections (tenant_id, field, value, section) VALUES (?, ?, ?, ?)
  ON CONFLICT (tenant_id, field, value, section) DO NOTHING`

export const addSection = (tenant: TenantId, row: Sections['rows'][number]): Statement => counted(add, tenant, ...row)

/** What is to be done once the events of a correlation are gone: values that no event of their section has go as well. */
export function* withoutEvents(tenant: TenantId, correlation: string): Work<readonly Statement[]> {
  const select = `SELECT sequence, ${fields.join(', ')} FROM events WHERE tenant_id = ? AND correlation_id = ?`
  const gone = noSections()
  for (const found of yield* rows(select, tenant, correlation))
    for (const field of fields) note(gone, sectionOf(number(found, 'sequence')), field, found[field] as string | null)
  return gone.rows.map(([field, value, section]) => {
    const left = `SELECT 1 FROM events WHERE tenant_id = ? AND sequence > ? AND sequence <= ? AND ${field} = ?`
    const drop = `DELETE FROM event_sections WHERE tenant_id = ? AND field = ? AND value = ? AND section = ? AND NOT EXISTS (${left})`
    return counted(drop, tenant, field, value, section, tenant, section, section + sectionEvents, value)
  })
}

const fields = ['capability_id', 'subject_id', 'event_type', 'outcome'] as const

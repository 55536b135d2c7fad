import type { EvidenceEvent } from '../../model/evidence.ts'
import { recordIn } from './trace.ts'

type Cell = string | number | null | undefined

const columns: Readonly<Record<string, (event: EvidenceEvent) => Cell>> = {
  sequence: (event) => event.sequence,
  timestamp: (event) => event.timestamp,
  subject: (event) => event.subject?.id,
  event_type: (event) => event.event_type,
  capability_id: (event) => event.capability_id,
  outcome: (event) => event.outcome,
  correlation_id: (event) => event.correlation.correlation_id,
  invocation_id: (event) => event.invocation_id,
  event_id: (event) => event.event_id,
  content_hash: (event) => event.content_hash,
  rule: (event) => recordIn(event)?.basis?.at(-1)?.rule,
  denial_code: (event) => event.denial?.code,
  approver: (event) =>
    recordIn(event)
      ?.approval?.approvers.map(({ name }) => name)
      .join(' '),
}

/** A table of events for spreadsheets. */
export function csv(events: readonly EvidenceEvent[]): string {
  const rows = events.map((event) => Object.values(columns).map((cell) => cell(event)))
  return [Object.keys(columns), ...rows].map((row) => `${row.map(csvCell).join(',')}\r\n`).join('')
}

/** RFC 4180; text that a spreadsheet would run as a formula is made plain with a leading apostrophe. */
function csvCell(value: Cell): string {
  if (typeof value === 'number') return String(value)
  const text = /^[=+\-@\t\r]/.test(value ?? '') ? `'${value}` : (value ?? '')
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Where the present comes from. Pure code takes `now` as an argument instead. */
export interface Clock {
  /** Milliseconds since the epoch. May step back; nothing may order records by it. */
  now(): number
}

const rfc3339 = /^(\d{4})-(\d{2})-(\d{2})T([01]\d|2[0-3]):(\d{2}):(\d{2})(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/

/** The one form we write: UTC with three decimals, always 24 characters, so that text order is time order. */
export function formatTime(ms: number): string {
  const whole = Math.trunc(ms)
  const second = Math.floor(whole / 1000)
  // Much is written within one second.
  if (second !== last.second) last = { second, text: new Date(second * 1000).toISOString().slice(0, -4) }
  return `${last.text}${String(whole - second * 1000).padStart(3, '0')}Z`
}

let last = { second: 0, text: '1970-01-01T00:00:00.' }

/** The instant an RFC 3339 text names, in milliseconds, or undefined. Any precision and offset is read. */
export function parseTime(text: string): number | undefined {
  const match = rfc3339.exec(text)
  if (match === null) return undefined
  const ms = Date.parse(text)
  if (Number.isNaN(ms)) return undefined
  // `Date.parse` rolls 31 February over into March; a date that does not come back unchanged is refused.
  const calendar = new Date(Date.UTC(Number(match[1]), Number(match[2]) - 1, Number(match[3])))
  return calendar.getUTCDate() === Number(match[3]) && calendar.getUTCMonth() === Number(match[2]) - 1 ? ms : undefined
}

const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** `90d`, `12h`, `30m`, `45s` in milliseconds; undefined for any other text. */
export function parseDuration(text: string): number | undefined {
  const [, count, unit] = /^([1-9][0-9]{0,5})([smhd])$/.exec(text) ?? []
  return count === undefined ? undefined : Number(count) * unitMs[unit as keyof typeof unitMs]
}

/** A time that was written out, or as an age such as `7d`, in the one form we write; undefined for any other text. */
export function parseInstant(text: string, now: number): string | undefined {
  const age = parseDuration(text)
  const ms = age === undefined ? parseTime(text) : now - age
  return ms === undefined ? undefined : formatTime(ms)
}

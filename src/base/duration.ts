import { formatTime, parseTime } from './time.ts'

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

import { InvalidArgumentError } from 'commander'
import { formatTime, parseTime } from '../../base/time.ts'

const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

const form = /^([1-9][0-9]{0,5})([smhd])$/

/** `90d`, `12h`, `30m`, `45s` in milliseconds. */
export function duration(text: string): number {
  const [, count, unit] = form.exec(text) ?? []
  if (count === undefined) throw new InvalidArgumentError('write a number and s, m, h or d, such as 90d.')
  return Number(count) * unitMs[unit as keyof typeof unitMs]
}

/** A time that was written out, or as an age such as `7d`, in the one form we write. */
export function instant(text: string): string {
  const time = parseTime(text)
  if (time !== undefined) return formatTime(time)
  if (form.test(text)) return formatTime(Date.now() - duration(text))
  throw new InvalidArgumentError('write a time such as 2026-01-31T08:00:00Z, or an age such as 7d.')
}

import { InvalidArgumentError } from 'commander'
import { formatTime, parseTime } from '../base/time.ts'

const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** `90d`, `12h`, `30m`, `45s` in milliseconds. */
export function duration(text: string): number {
  const [, count, unit] = /^([1-9][0-9]{0,5})([smhd])$/.exec(text) ?? []
  if (count === undefined) throw new InvalidArgumentError('write a number and s, m, h or d, such as 90d.')
  return Number(count) * unitMs[unit as keyof typeof unitMs]
}

/** A time that was written out, or as an age such as `7d`, in the one form we write. */
export const instant = (text: string): string => formatTime(parseTime(text) ?? Date.now() - duration(text))

import { InvalidArgumentError } from 'commander'
import { parseDuration, parseInstant } from '../../base/time.ts'

/** `90d`, `12h`, `30m`, `45s` in milliseconds. */
export function duration(text: string): number {
  const ms = parseDuration(text)
  if (ms === undefined) throw new InvalidArgumentError('write a number and s, m, h or d, such as 90d.')
  return ms
}

/** A time that was written out, or as an age such as `7d`, in the one form we write. */
export function instant(text: string): string {
  const time = parseInstant(text, Date.now())
  if (time === undefined)
    throw new InvalidArgumentError('write a time such as 2026-01-31T08:00:00Z, or an age such as 7d.')
  return time
}

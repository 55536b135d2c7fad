import { InvalidArgumentError } from 'commander'
import { parseInstant } from '../../base/time.ts'

/** A time that was written out, or as an age such as `7d`, in the one form we write. */
export function instant(text: string): string {
  const time = parseInstant(text, Date.now())
  if (time === undefined)
    throw new InvalidArgumentError('write a time such as 2026-01-31T08:00:00Z, or an age such as 7d.')
  return time
}

import { InvalidArgumentError } from 'commander'
import { parseInstant } from '../../base/time.ts'

/** For an option that may be given several times; one value each, so that it never swallows an argument behind it. */
export const several = (value: string, before: readonly string[] | undefined): readonly string[] => [
  ...(before ?? []),
  value,
]

/** A reader of whole numbers that are not negative. */
export const wholeNumber =
  (minimum = 0, maximum = Number.MAX_SAFE_INTEGER) =>
  (text: string): number => {
    const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    if (number >= minimum && number <= maximum) return number
    throw new InvalidArgumentError(`write a number from ${minimum} to ${maximum}.`)
  }

/** A time that was written out, or as an age such as `7d`, in the one form we write. */
export function instant(text: string): string {
  const time = parseInstant(text, Date.now())
  if (time !== undefined) return time
  throw new InvalidArgumentError('write a time such as 2026-01-31T08:00:00Z, or an age such as 7d.')
}

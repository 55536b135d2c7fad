import { Failure } from './failure.ts'
import { escapedKey } from './pointer.ts'

/** Decimal text, or a whole number, as millionths; beyond that precision it is rounded up or down. */
export function micro(amount: number | string, beyond: 'up' | 'down'): number {
  const [whole = '0', fraction = ''] = String(amount).split('.')
  const more = beyond === 'up' && /[1-9]/.test(fraction.slice(6)) ? 1 : 0
  const exact = Number(whole) * 1_000_000 + Number(fraction.padEnd(6, '0').slice(0, 6)) + more
  return Math.min(exact, Number.MAX_SAFE_INTEGER)
}

/** The shortest decimal text of so many millionths. */
export function microText(millionths: number): string {
  const digits = String(millionths).padStart(7, '0')
  return `${digits.slice(0, -6)}.${digits.slice(-6)}`.replace(/\.?0+$/, '')
}

/** Members that hold money in cents: hashed as whole millionths of a cent. */
export const moneyMembers: ReadonlySet<string> = new Set(['max_cost_cents', 'cost_cents', 'cost_usd_cents'])

/** A number as millionths; undefined for one with a finer part, and for one that is too large to be exact. */
export function exactMicro(amount: number): number | undefined {
  const micro = Math.round(amount * 1_000_000)
  return Number.isSafeInteger(micro) && micro / 1_000_000 === amount ? micro : undefined
}

/** An integer that may have been rounded, or no number at all. */
export const isUnsafe = (value: number): boolean =>
  !Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))

export const unsafeNumber = (pointer?: string): Failure =>
  new Failure(
    'number.unsafe',
    `${pointer === undefined ? 'a number' : `\`${pointer}\``} is beyond 2^53 − 1, or has more than six decimals of a cent`,
    pointer === undefined ? {} : { pointer },
    'send it as text, or with fewer digits',
  )

/** The place of the first number of a value that no hash would take. */
export function unsafeNumberIn(value: unknown, pointer = '', key = ''): string | undefined {
  if (typeof value === 'number')
    return isUnsafe(value) || (moneyMembers.has(key) && exactMicro(value) === undefined) ? pointer : undefined
  if (typeof value !== 'object' || value === null) return undefined
  for (const [name, inner] of Object.entries(value)) {
    const found = unsafeNumberIn(inner, `${pointer}/${escapedKey(name)}`, name)
    if (found !== undefined) return found
  }
  return undefined
}

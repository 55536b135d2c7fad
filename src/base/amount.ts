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

import { micro } from '../base/amount.ts'
import type { Turn } from '../runs/turn.ts'

/** Cents for a million tokens, as decimal text or a number. */
export type ModelPrice = Readonly<Record<'input' | 'output', number | string>>

/** In millionths of a cent, rounded up. Undefined without a price, and where the provider did not count. */
export function costMicroCents({ inputTokens, outputTokens }: Turn['usage'], price?: ModelPrice): number | undefined {
  if (price === undefined || inputTokens === undefined || outputTokens === undefined) return undefined
  const part = (tokens: number, cents: number | string) => BigInt(tokens) * BigInt(micro(cents, 'up'))
  return Number((part(inputTokens, price.input) + part(outputTokens, price.output) + 999_999n) / 1_000_000n)
}

import { z } from 'zod'
import { amount } from '../capability.ts'
import { capabilityScope, id } from '../text.ts'

/** What a budget counts. Cost is in units of its own, kept as millionths. */
export const measures = ['calls', 'time_ms', 'cost', 'bytes'] as const
export type Measure = (typeof measures)[number]
/** So much of each measure; what is left out is not counted. */
export type Amounts = Readonly<Partial<Record<Measure, number>>>

const share = z.enum(['tenant', 'principal', 'history', 'capability'])
const whole = z.int().min(1)

/**
 * How much calls may take in a while, together: `per` says whose calls share one budget. A while is an hour, a day or a
 * month of UTC, or so many seconds. Closed.
 */
export const budget = z.strictObject({
  name: id,
  per: z.union([share, z.array(share).min(1)]),
  applies_to: z.array(capabilityScope).min(1),
  calls: whole.optional(),
  time_ms: whole.optional(),
  cost: amount.optional(),
  bytes: whole.optional(),
  every: z.union([
    z.enum(['hour', 'day', 'month']),
    z
      .int()
      .min(1)
      .max(366 * 86_400),
  ]),
})

export type Budget = z.infer<typeof budget>
export type BudgetShare = z.infer<typeof share>

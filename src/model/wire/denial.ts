import { z } from 'zod'

/** What we add stands in `details`. */
export const denial = z.strictObject({
  code: z.string().min(1),
  message: z.string(),
  retryable: z.boolean(),
  invariant_id: z.string().nullable().optional(),
  details: z.looseObject({}).optional(),
})

export type Denial = z.infer<typeof denial>

/** What is known about the effect of a call that did not succeed. */
const callEffect = z.enum(['none', 'unknown', 'done'])

/** Open: an adapter may add what its protocol reports, such as a status. */
export const callError = z.looseObject({
  type: z.string().min(1),
  message: z.string(),
  code: z.string().nullable().optional(),
  effect: callEffect.optional(),
})

export type CallError = z.infer<typeof callError>

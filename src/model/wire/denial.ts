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

/** Open: an adapter may add what its protocol reports, such as a status. */
export const callError = z.looseObject({
  type: z.string().min(1),
  message: z.string(),
  code: z.string().nullable().optional(),
  /** What is known about it, as the call did not succeed. */
  effect: z.enum(['none', 'unknown', 'done']).optional(),
})

export type CallError = z.infer<typeof callError>

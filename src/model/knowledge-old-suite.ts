import { z } from 'zod'
import { form } from './text.ts'

const said = form(/\S/u, 'a text that is not blank')

/** `evals/discovery.json`, the form of selection suites before `discovery.train.json`. Other keys are passed over. */
export const oldSelectionSuite = z.object({
  pack_name: z.string().optional(),
  queries: z
    .array(
      z.object({
        id: z.string().optional(),
        query: said,
        should_select: z.boolean(),
        reason: z.string().optional(),
      }),
    )
    .min(1),
})
export type OldSelectionSuite = z.infer<typeof oldSelectionSuite>

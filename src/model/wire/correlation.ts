import { z } from 'zod'
import { limits } from '../../base/limits.ts'
import { form } from '../text.ts'

/** An id on the wire. Control characters would blur the lines of a store head. */
export const wireId = form(
  new RegExp(`^\\P{Cc}{1,${limits.wireIdCharsMax}}$`, 'u'),
  `1 to ${limits.wireIdCharsMax} characters without control characters`,
)

export const environment = z.enum(['dev', 'test', 'pilot', 'prod'])

/** A member that is absent and one that is null say the same. */
export const correlation = z.strictObject({
  correlation_id: wireId,
  causation_id: z.string().nullable().optional(),
  parent_correlation_id: z.string().nullable().optional(),
  trace_id: z.string().nullable().optional(),
  baggage: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])).optional(),
  environment: environment.optional(),
})

/** The same as a caller may give it: every event of the call repeats it. */
export const givenCorrelation = correlation.extend({
  causation_id: wireId.nullable().optional(),
  parent_correlation_id: wireId.nullable().optional(),
  trace_id: wireId.nullable().optional(),
})

export type Correlation = z.infer<typeof correlation>

/** True for a correlation that the runtime alone writes in: no call or caller adds to it, and it is never purged. */
export const isOwnCorrelation = (id: string): boolean => /^(?:ambit-admin|host-identity)-/.test(id)

/** True for the id of a call that a run makes: the same call made elsewhere would be taken for the run's. */
export const isRunCall = (id: string): boolean => /^tool_[0-9a-f]{16}/.test(id)

import { z } from 'zod'
import { form } from './text.ts'

export const runId = form(/^run_[0-9a-f]{16}$/u, '`run_` and 16 hex digits')
/** A session or a bucket of the scratchpad, as its caller names it. */
export const callerName = form(/^[A-Za-z0-9._:-]{1,128}$/u, '1 to 128 letters, digits and . _ : -')
export const traceId = form(/^(?!0{32})[0-9a-f]{32}$/u, '32 hex digits, not all zero').meta({
  examples: ['4bf92f3577b34da6a3ce929d0e0e4736'],
})

export const runError = z.strictObject({
  code: z.string().describe('Stable, for programs.'),
  message: z.string().describe('For people.'),
})
export type RunError = z.infer<typeof runError>

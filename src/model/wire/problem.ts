import { z } from 'zod'
import { jsonObject } from '../json.ts'
import { form } from '../text.ts'

/** The body of every error answer of ours, `application/problem+json`; `problem()` of the base writes it. Closed. */
export const problem = z.strictObject({
  type: form(/^urn:ambit:problem:[a-z_]+$/u, '`urn:ambit:problem:` and a code'),
  title: z.string(),
  status: z.int().min(400).max(599),
  code: form(/^[a-z_]+$/u, 'a code: lower-case words joined by `_`'),
  detail: z.string(),
  data: jsonObject.optional(),
  remediation: z.string().optional(),
  trace_id: z.string().optional(),
})

import { z } from 'zod'
import { policyDecision } from './evidence.ts'
import { jsonObject } from './json.ts'
import { policy } from './policy.ts'
import { capabilityId, line } from './text.ts'

/** One call, as facts, and what must come of it. `rule` is `policy/rule`, or null where none may decide. */
const policyCase = z.strictObject({
  name: line,
  capability: capabilityId,
  facts: jsonObject,
  expect: z.strictObject({ decision: policyDecision, rule: line.nullable().optional() }),
})

/** Policies, whole or by path from the folder of this file, and the cases they are held to. Closed. */
export const policyTest = z.strictObject({
  policies: z.array(z.union([line, policy])).min(1),
  cases: z.array(policyCase).min(1),
})

import { z } from 'zod'
import { policyDecision } from './evidence.ts'
import { jsonObject, jsonValue } from './json.ts'
import { capabilityId, capabilityScope, id, line } from './text.ts'

/** Who must say yes: holders of a role, or approvers by name; how many people, and how long they have. */
const approvalTerms = z.strictObject({
  roles: z.array(id).optional(),
  approvers: z.array(id).optional(),
  quorum: z.int().min(1).optional(),
  expires_in_s: z.int().min(1).optional(),
  bind: z.literal('protocol').optional(),
})

/** One rule. `when` is JSON here: its operators are checked where it is compiled. Closed. */
const policyRule = z.strictObject({
  id: line,
  when: jsonValue,
  decision: policyDecision,
  approval: approvalTerms.optional(),
})

/** A policy that is `audit_only` is evaluated and recorded like any other, and neither blocks nor allows. */
export const policy = z.strictObject({
  name: line,
  version: line,
  mode: z.enum(['enforce', 'audit_only']).optional(),
  applies_to: z.array(capabilityScope),
  rules: z.array(policyRule),
})

export type Policy = z.infer<typeof policy>
export type ApprovalTerms = z.infer<typeof approvalTerms>

/** One call, as facts, and what must come of it. `rule` is `policy/rule`, or null where none may decide. */
const policyCase = z.strictObject({
  name: line,
  capability: capabilityId,
  facts: jsonObject,
  expect: z.strictObject({ decision: policyDecision, rule: line.nullable().optional() }),
})

/** Policies stand whole, or by path from the folder of this file. */
export const policyTest = z.strictObject({
  policies: z.array(z.union([line, policy])).min(1),
  cases: z.array(policyCase).min(1),
})

import { z } from 'zod'
import { limits } from '../base/limits.ts'
import { approvalState, approver } from './approval.ts'
import { checkpoint, evidenceEvent, outcome, publicKey } from './evidence.ts'
import { apiKey } from './identity/key.ts'
import { permission, principal, principalKind } from './identity/principal.ts'
import { tenantIdText } from './identity/tenant.ts'
import { jsonObject } from './json.ts'
import { capabilityId, capabilityScope, form, id, line, minted, prose } from './text.ts'
import { environment, wireId } from './wire/correlation.ts'
import { approvalDecision } from './wire/wire.ts'

const page = { limit: z.int().min(1).max(limits.pageRowsMax).optional(), cursor: z.string().max(1_024).optional() }
const next = z.string().optional()

const duration = form(/^[1-9][0-9]{0,5}[smhd]$/u, 'a number and s, m, h or d, such as `90d`')
const moment = form(
  /^(?:[1-9][0-9]{0,5}[smhd]|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{5,18}(?:Z|[+-][0-9]{2}:[0-9]{2}))$/u,
  'a time such as `2026-01-31T08:00:00Z`, or an age such as `7d`',
)
const approvalId = minted('apr')
const apiKeyId = minted('key')

export const pageRequest = z.strictObject(page)
export const noInput = z.strictObject({})
export const callName = z.strictObject({ id: wireId })
export const approvalName = z.strictObject({ id: approvalId })
export const capabilityName = z.strictObject({ id: capabilityId })
export const eventName = z.strictObject({ id: wireId })
export const correlationName = z.strictObject({ correlation: wireId })
export const principalName = z.strictObject({ id })
export const keyName = z.strictObject({ id: apiKeyId })
export const tenantName = z.strictObject({ id: tenantIdText })

export const approvalQuery = z.strictObject({ state: approvalState.optional(), ...page })
export const approvalDecisionRequest = approvalDecision.extend({ id: approvalId })
export const approvalWatch = z.strictObject({ pending: z.boolean().optional() })

/** The same `id` never takes effect twice; `context` has facts that are in no payload. */
export const callRequest = z.strictObject({
  capability: z.string().max(256),
  payload: jsonObject.optional(),
  id: wireId.optional(),
  purpose: line.optional(),
  correlation: wireId.optional(),
  environment: environment.optional(),
  context: jsonObject.optional(),
})

/** `since` is included, `until` is not. */
export const evidenceQuery = z.strictObject({
  correlation: wireId.optional(),
  subject: wireId.optional(),
  capability: wireId.optional(),
  outcome: outcome.optional(),
  type: wireId.optional(),
  since: moment.optional(),
  until: moment.optional(),
  ...page,
})
export const evidenceList = z.strictObject({ events: z.array(evidenceEvent), next })
/** `preview` changes nothing. */
export const purgeRequest = z.strictObject({
  correlation: wireId.optional(),
  before: moment.optional(),
  indeterminate: z.boolean().optional(),
  preview: z.boolean().optional(),
})
export const purgeReport = z.strictObject({
  purged: z.boolean(),
  correlations: z.int().min(0),
  events: z.int().min(0),
  kept: z.array(z.strictObject({ correlation: wireId, reason: z.string() })),
})
export const headList = z.strictObject({ heads: z.array(checkpoint), next })

export const principalRequest = z.strictObject({
  id,
  kind: principalKind.optional(),
  display: line.optional(),
  roles: z.array(id).optional(),
  permissions: z.array(permission).optional(),
})
export const permissionRequest = z.strictObject({ id, permission })
export const principalList = z.strictObject({ principals: z.array(principal), next })

export const keyRequest = z.strictObject({
  principal: id,
  name: line.optional(),
  scopes: z.array(capabilityScope).optional(),
  expires: duration.optional(),
})
export const keyRotationRequest = z.strictObject({ id: apiKeyId, grace: duration.optional() })
export const keyList = z.strictObject({ keys: z.array(apiKey.omit({ secret_hash: true })), next })
export const keyEnd = z.strictObject({ key_id: apiKeyId, revoked: z.literal(true) })

export const approverRequest = z.strictObject({
  principal: id,
  roles: z.array(id).min(1),
  key: publicKey.optional(),
  expires: duration.optional(),
})
export const approverList = z.strictObject({ approvers: z.array(approver), next })
export const approverEnd = z.strictObject({ approver_id: id, revoked: z.literal(true) })

export const secretRequest = z.strictObject({ name: line, value: z.string().min(1).max(limits.secretBytesMax) })
export const secretName = z.strictObject({ name: line })
export const keptSecret = z.strictObject({ name: line, handle: z.string() })
export const secretList = z.strictObject({
  secrets: z.array(z.strictObject({ name: line, created_at: z.string() })),
})
export const secretEnd = z.strictObject({ name: line, removed: z.literal(true) })

export const tenantRotationRequest = z.strictObject({ id: tenantIdText, revoke: z.boolean().optional() })

export const explanation = z.strictObject({
  invocation_id: wireId,
  capability_id: wireId,
  correlation_id: wireId,
  outcome: outcome.nullable(),
  at: z.string(),
  subject: z.string().nullable(),
  policy: z.strictObject({ name: line, version: line, state: z.string() }).nullable(),
  decision: z.string().nullable(),
  rules: z.array(
    z.strictObject({ gate: z.string(), rule: z.string(), effect: z.string(), reads: z.array(z.string()) }),
  ),
  context: z.array(z.strictObject({ name: z.string(), state: z.string(), shown: z.string() })),
  approvers: z.array(z.strictObject({ name: z.string(), role: z.string() })),
  denial: z.strictObject({ code: z.string(), message: z.string(), next: z.string().nullable() }).nullable(),
  error: z.strictObject({ type: z.string(), code: z.string().nullable(), effect: z.string().nullable() }).nullable(),
  sentence: prose,
})

export type Explanation = z.infer<typeof explanation>
export type PurgeReport = z.infer<typeof purgeReport>

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

/** Asks for one page of a list. Closed. */
export const pageRequest = z.strictObject(page)
/** Takes nothing. Closed. */
export const noInput = z.strictObject({})
/** Names one call. Closed. */
export const callName = z.strictObject({ id: wireId })
/** Names one approval. Closed. */
export const approvalName = z.strictObject({ id: approvalId })
/** Names one capability. Closed. */
export const capabilityName = z.strictObject({ id: capabilityId })
/** Names one event. Closed. */
export const eventName = z.strictObject({ id: wireId })
/** Names one correlation. Closed. */
export const correlationName = z.strictObject({ correlation: wireId })
/** Names one principal. Closed. */
export const principalName = z.strictObject({ id })
/** Names one API key. Closed. */
export const keyName = z.strictObject({ id: apiKeyId })
/** Names one tenant. Closed. */
export const tenantName = z.strictObject({ id: tenantIdText })

/** Asks for approvals, `pending` ones unless another state is given. Closed. */
export const approvalQuery = z.strictObject({ state: approvalState.optional(), ...page })
/** One person's decision about one approval. Closed. */
export const approvalDecisionRequest = approvalDecision.extend({ id: approvalId })
/** Asks to hear of approvals as they come: from now on, or first of those that wait. Closed. */
export const approvalWatch = z.strictObject({ pending: z.boolean().optional() })

/** One call of a capability. The same `id` never takes effect twice; `context` has facts that are in no payload. Closed. */
export const callRequest = z.strictObject({
  capability: z.string().max(256),
  payload: jsonObject.optional(),
  id: wireId.optional(),
  purpose: line.optional(),
  correlation: wireId.optional(),
  environment: environment.optional(),
  context: jsonObject.optional(),
})

/** Searches events. `since` is included, `until` is not. Closed. */
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
/** One page of events, newest first. Closed. */
export const evidenceList = z.strictObject({ events: z.array(evidenceEvent), next })
/** Which correlations are purged: one, or all whose newest event is older. `preview` changes nothing. Closed. */
export const purgeRequest = z.strictObject({
  correlation: wireId.optional(),
  before: moment.optional(),
  indeterminate: z.boolean().optional(),
  preview: z.boolean().optional(),
})
/** What was purged, or would be, and what stays though it is old enough. Closed. */
export const purgeReport = z.strictObject({
  purged: z.boolean(),
  correlations: z.int().min(0),
  events: z.int().min(0),
  kept: z.array(z.strictObject({ correlation: wireId, reason: z.string() })),
})
/** One page of signed heads of the log, newest first. Closed. */
export const headList = z.strictObject({ heads: z.array(checkpoint), next })

/** Adds a person, service, agent or automation. Closed. */
export const principalRequest = z.strictObject({
  id,
  kind: principalKind.optional(),
  display: line.optional(),
  roles: z.array(id).optional(),
  permissions: z.array(permission).optional(),
})
/** Gives or takes one permission. Closed. */
export const permissionRequest = z.strictObject({ id, permission })
/** One page of principals. Closed. */
export const principalList = z.strictObject({ principals: z.array(principal), next })

/** Makes an API key for a principal. Closed. */
export const keyRequest = z.strictObject({
  principal: id,
  name: line.optional(),
  scopes: z.array(capabilityScope).optional(),
  expires: duration.optional(),
})
/** Replaces an API key; the old one works on for `grace`. Closed. */
export const keyRotationRequest = z.strictObject({ id: apiKeyId, grace: duration.optional() })
/** One page of API keys, without the hashes of their secrets. Closed. */
export const keyList = z.strictObject({ keys: z.array(apiKey.omit({ secret_hash: true })), next })
/** That an API key has ended. Closed. */
export const keyEnd = z.strictObject({ key_id: apiKeyId, revoked: z.literal(true) })

/** Lets a person decide about calls that ask for one of these roles. Closed. */
export const approverRequest = z.strictObject({
  principal: id,
  roles: z.array(id).min(1),
  key: publicKey.optional(),
  expires: duration.optional(),
})
/** One page of approvers. Closed. */
export const approverList = z.strictObject({ approvers: z.array(approver), next })
/** That an approver decides about nothing any more. Closed. */
export const approverEnd = z.strictObject({ approver_id: id, revoked: z.literal(true) })

/** Keeps a secret. Closed. */
export const secretRequest = z.strictObject({ name: line, value: z.string().min(1).max(limits.secretBytesMax) })
/** Names one secret. Closed. */
export const secretName = z.strictObject({ name: line })
/** A secret by its handle, never its value. Closed. */
export const keptSecret = z.strictObject({ name: line, handle: z.string() })
/** The names of secrets. Closed. */
export const secretList = z.strictObject({
  secrets: z.array(z.strictObject({ name: line, created_at: z.string() })),
})
/** That a secret is gone. Closed. */
export const secretEnd = z.strictObject({ name: line, removed: z.literal(true) })

/** Gives a tenant a new signing key; `revoke` lists the old one as no longer to be believed. Closed. */
export const tenantRotationRequest = z.strictObject({ id: tenantIdText, revoke: z.boolean().optional() })

/** Why one call ended as it did, from its record. Closed. */
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

import { z } from 'zod'
import { contextContract } from './context.ts'
import { assuranceLevel, policyState } from './evidence.ts'
import { jsonObject, jsonValue } from './json.ts'
import { capabilityId, form, id, line, prose, semver } from './text.ts'

export const callMode = z.enum(['sync', 'async', 'stream', 'fire_and_forget'])
export const risk = z.enum(['low', 'medium', 'high', 'critical'])
export const lifecycle = z.enum([
  'declared',
  'hosted',
  'discoverable',
  'invokable',
  'verified',
  'deprecated',
  'restricted',
  'blocked',
  'unavailable',
])

const count = z.int().min(0)
export const amount = z.union([count, form(/^(?:0|[1-9]\d{0,17})(?:\.\d{1,18})?$/u, 'a decimal number')])

/** The policy boundary as people are told it before they call; the host adds `state`. */
const boundary = z.strictObject({
  name: line.optional(),
  statement: prose.optional(),
  may_require: z.array(z.enum(['approval', 'escalation', 'evidence'])).optional(),
  state: policyState.optional(),
})

const autonomy = z.strictObject({
  tier: z.enum(['automated', 'supervised', 'approval_required', 'human_driven']).optional(),
  action_limit: count.optional(),
  spend_limit: amount.optional(),
  spend_units: amount.optional(),
  rollback_policy: z.enum(['none', 'checkpoint', 'full']).optional(),
})

/** A handle on a credential: what kind it is and where it may be sent, never the secret. */
const credential = z.strictObject({ kind: line, origin: line.optional(), scopes: z.array(line).optional() })

/** Open: others keep theirs there too. */
export const capabilityMetadata = z.looseObject({
  context: contextContract.optional(),
  policy: boundary.optional(),
  autonomy: autonomy.optional(),
  lifecycle: lifecycle.optional(),
  required_permissions: z.array(line).optional(),
  credentials: z.record(id, credential).optional(),
  /** Where its results come from, such as `mcp:files`; `internal` unless said. */
  origin: line.optional(),
  /** How far a call reaches out: not at all, within one's own network, or beyond it. */
  network: z.enum(['none', 'internal', 'external']).optional(),
  /** The most that a call costs, in the units of budgets, and that its result has in bytes. */
  worst_case: z.strictObject({ cost: amount.optional(), bytes: z.int().min(1).optional() }).optional(),
})

const invariant = z.strictObject({
  id: line,
  kind: line,
  description: prose.optional(),
  enforcement: z.enum(['declarative', 'host', 'runtime']).optional(),
  failure_behavior: z.enum(['deny', 'warn', 'degrade']).optional(),
  parameters: jsonObject.optional(),
})

const assurance = z.strictObject({
  level: assuranceLevel,
  evidence_policy: line.optional(),
  notes: z.array(prose).optional(),
})

// Closed: a restriction we do not know must not be mistaken for none.
const declaredPolicy = z.strictObject({
  risk_tier: risk.optional(),
  auth_required: z.boolean().optional(),
  approval_required: z.boolean().optional(),
  data_classification: line.optional(),
  allowed_actors: z.array(line).optional(),
})

const retry = z.strictObject({
  max_attempts: z.int().min(1).optional(),
  backoff_s: z.number().min(0).optional(),
  retry_on: z.array(line).optional(),
})

const hostRequirements = z.strictObject({
  compute: jsonValue.optional(),
  storage: jsonValue.optional(),
  inference: jsonValue.optional(),
  runtime: jsonValue.optional(),
  network: jsonValue.optional(),
  isolation: jsonValue.optional(),
  locality: z.enum(['local', 'edge', 'cloud', 'hybrid', 'any']).optional(),
})

/** Our additions lie in `metadata`. */
export const capabilityDescriptor = z.strictObject({
  id: capabilityId,
  version: semver,
  description: prose,
  modes: z.array(callMode).min(1),
  emits: z.array(line),
  capability_uri: line.optional(),
  name: line.optional(),
  category: line.optional(),
  provider: line.optional(),
  owner: line.optional(),
  tags: z.array(line).optional(),
  status: z.enum(['draft', 'experimental', 'certified', 'deprecated']).optional(),
  input_schema: jsonObject.optional(),
  output_schema: jsonObject.optional(),
  idempotency: z.enum(['required', 'optional', 'not_supported']).optional(),
  side_effects: z.array(line).optional(),
  invariants: z.array(invariant).optional(),
  risk: risk.optional(),
  assurance: assurance.optional(),
  policy: declaredPolicy.optional(),
  timeout_s: z.number().gt(0).optional(),
  retry: retry.optional(),
  host_requirements: hostRequirements.optional(),
  metadata: capabilityMetadata.optional(),
})

export type CapabilityDescriptor = z.infer<typeof capabilityDescriptor>
export type Lifecycle = z.infer<typeof lifecycle>

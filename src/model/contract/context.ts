// Who runs, for whom, and how far: the run context of the execution contract, field for field.

import { z } from 'zod'
import { ceiling } from '../agent.ts'
import { ownTime } from '../evidence.ts'
import { grant } from '../grant.ts'
import { tenantIdText } from '../identity/tenant.ts'
import { runId, traceId } from '../run-id.ts'
import { form, id, line } from '../text.ts'

export const contractId = form(/^[A-Za-z0-9_.:-]{1,128}$/u, 'an id: 1 to 128 letters, digits and _ . : -')
const agentUrn = form(
  /^agent:[a-z0-9-]+\/[a-z][a-z0-9_-]{0,63}@\d+\.\d+\.\d+$/u,
  'a name such as `agent:contextos/desk@1.0.0`',
)
const workloadIdentity = form(/^spiffe:\/\/[^\s\p{Cc}]{1,240}$/u, 'an address such as `spiffe://acme/desk`')
const digest = form(/^sha256:[0-9a-f]{64}$/u, '`sha256:` and 64 hex digits')
const text = z.string().max(1_024)

export const tiers = ['read_only', 'local_write', 'network', 'delegated', 'destructive'] as const
export const tier = z.enum(tiers)
export type Tier = z.infer<typeof tier>

export const principalLink = z.strictObject({
  kind: z.enum(['user', 'service', 'agent', 'automation']),
  id: text,
  tenant_id: tenantIdText.optional(),
  display: line.optional(),
})
export type PrincipalLink = z.infer<typeof principalLink>

const claimScope = z.enum(['tools:read', 'tools:write', 'a2a:send'])

const claimMembers = {
  version: z.literal('ctxid/1'),
  iss: text,
  sub: text,
  run_id: runId,
  tenant_id: tenantIdText,
  principal_chain: z.array(principalLink).min(1).max(16),
  scopes: z.array(claimScope),
  nbf: z.int(),
  exp: z.int(),
  kid: text,
  claim_hash: digest,
}

/** The right to act as this agent in this run, for a while. */
export const identityClaim = z.strictObject({
  ...claimMembers,
  aud: text.optional(),
  session_id: contractId.optional(),
  signature: text.optional(),
})
export type IdentityClaim = z.infer<typeof identityClaim>

/** A claim as the examples of the source document print it: what it lacks is told, not refused, in profile `page`. */
export const partialClaim = z.looseObject(identityClaim.partial().shape)

const delegation = z.strictObject({
  auth_type: z.enum(['oauth2', 'saml', 'oidc', 'service']),
  scopes: z.array(text),
  subject: text,
  token_ref: id.optional(),
})

export const contractUser = z.looseObject({
  user_id: contractId,
  role: text.optional(),
  tenure_days: z.int().min(0).optional(),
  delegation: delegation.optional(),
})

export const agentMembers = {
  agent_id: contractId,
  agent_urn: agentUrn,
  workload_identity: workloadIdentity,
  role: text.optional(),
  token_ref: id.optional(),
  lifecycle: z.enum(['draft', 'active', 'suspended', 'retired']).optional(),
}

const tokens = z.int().min(0)
export const bucketNames = ['policy', 'tool', 'evidence', 'memory', 'business', 'session'] as const
export type Bucket = (typeof bucketNames)[number]
export const bucket = z.enum(bucketNames)
export const bucketTokens = z.strictObject({
  policy: tokens,
  tool: tokens,
  evidence: tokens,
  memory: tokens,
  business: tokens,
  session: tokens,
})
export type Allocation = z.infer<typeof bucketTokens>

/** The buckets sum to the total: that is checked where a budget is made. */
export const runBudget = z.strictObject({
  total_tokens: tokens,
  bucket_tokens: bucketTokens,
  max_tool_calls: tokens,
  max_replan_attempts: tokens,
  wall_clock_ms: tokens,
  max_cost_cents: z.number().min(0),
})
export type RunBudget = z.infer<typeof runBudget>

export const profile = z.enum(['strict', 'page'])

export const runContext = z.strictObject({
  run_id: runId,
  tenant_id: tenantIdText,
  trace_id: traceId,
  session_id: contractId.optional(),
  intent: contractId.optional(),
  locale: line.optional(),
  user: contractUser,
  agent: z.strictObject({
    ...agentMembers,
    principal_chain: z.array(principalLink).min(1).max(16),
    identity_claim: identityClaim,
  }),
  safety_mode: tier,
  run_budget: runBudget,
  metadata: z.looseObject({
    ambit: z.strictObject({
      grants: z.array(grant),
      ceilings: z.record(z.string(), ceiling),
      profile,
      claim_state: z.enum(['verified', 'issued', 'unverified']),
      safety_strict: z.boolean(),
      clamps: z.array(z.strictObject({ member: line, asked: z.number(), given: z.number(), by: line })),
      root_run_id: runId,
      parent_run_id: runId.optional(),
      depth: z.int().min(0),
      minted_at: ownTime,
    }),
  }),
})
export type RunContext = z.infer<typeof runContext>

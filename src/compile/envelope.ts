import { sha256 } from '../base/hash.ts'
import { type RunBudget, type RunContext, type Tier, tiers } from '../model/contract/context.ts'
import type { InvokeRequest, RunMode, TrustedContext } from '../model/contract/request.ts'

export interface BuiltEnvelope {
  readonly envelope: InvokeRequest
  /** What trusted code says beside it: the tier is never in a request. */
  readonly run_context: TrustedContext
  /** What follows from the choice, a line each. */
  readonly implications: readonly string[]
}

export interface EnvelopeWish {
  readonly mode: RunMode
  readonly safety_mode: Tier
  readonly tenant_id: string
  readonly pack_ref: string
  readonly intent: string
  readonly message: string
}

/** What a run has unless request, pack or tenant say less. */
export const defaultBudget: RunBudget = {
  total_tokens: 12_000,
  bucket_tokens: { policy: 1_800, tool: 1_500, evidence: 3_500, memory: 1_500, business: 1_500, session: 2_200 },
  max_tool_calls: 8,
  max_replan_attempts: 2,
  wall_clock_ms: 30_000,
  max_cost_cents: 25,
}

/** Active time of a run of mode `long_running`, and how long it lives without a sign of life. */
export const longRunning = { wall_clock_ms: 3_600_000, heartbeat_ttl_ms: 300_000 }

/** A request for this mode and tier, and what follows from them: the same choice gives the same envelope. */
export function buildEnvelope({
  mode,
  safety_mode,
  tenant_id,
  pack_ref,
  intent,
  message,
}: EnvelopeWish): BuiltEnvelope {
  const seed = sha256(JSON.stringify([mode, safety_mode, tenant_id, pack_ref, intent, message]))
  const urn = 'agent:contextos/desk@1.0.0'
  const isDelegated = needsDelegation(safety_mode)
  const subject = 'usr_ada'
  const delegation = { auth_type: 'oauth2' as const, scopes: ['desk.read', 'desk.write'], subject }
  return {
    envelope: {
      request_id: `req_${seed.slice(0, 16)}`,
      tenant_id,
      user: { user_id: subject, ...(isDelegated && { delegation }) },
      agent: { agent_id: 'agt_desk', agent_urn: urn, workload_identity: 'spiffe://ambit/agents/desk' },
      context_pack_refs: [pack_ref],
      input: { intent, message, channel: 'console', locale: 'en-GB' },
      mode,
      runtime: { max_tool_calls: defaultBudget.max_tool_calls, max_cost_cents: defaultBudget.max_cost_cents },
      trace: { trace_id: seed.slice(0, 32), span_id: seed.slice(32, 48), trace_flags: '01' },
    },
    run_context: { safety_mode },
    implications: [modes[mode], demands[safety_mode], ...limitLines(mode)],
  }
}

export const needsDelegation = (mode: RunContext['safety_mode']): boolean =>
  tiers.indexOf(mode) >= tiers.indexOf('delegated')

const modes: Readonly<Record<RunMode, string>> = {
  stream: 'Events come as they happen, and can be read on from any of them; messages go in while it runs.',
  batch: 'One answer when the run has ended, or 202 with a checkpoint while people are asked.',
  long_running: 'The run is a row that outlives its process; it lives as long as it shows a sign of life.',
}

const demands: Readonly<Record<Tier, string>> = {
  read_only: 'Nothing is changed: only tools of this tier exist for the run.',
  local_write: 'Writes within the tenant that can be taken back, each under an idempotency key.',
  network: "Calls leave the host: only to addresses on the adapter's list, within its rate.",
  delegated: 'Every call acts for the user: a live token of theirs, its scopes, and evidence for each call.',
  destructive: 'What cannot be taken back: proposed, approved by people, then done once.',
}

function limitLines(mode: RunMode): readonly string[] {
  const { total_tokens, max_tool_calls, max_replan_attempts, wall_clock_ms, max_cost_cents } = defaultBudget
  const activeMs = mode === 'long_running' ? longRunning.wall_clock_ms : wall_clock_ms
  return [
    `At most ${total_tokens} tokens of context, in six buckets.`,
    `At most ${max_tool_calls} calls and ${max_replan_attempts} new plans.`,
    `At most ${activeMs / 1_000} seconds of active time; waiting for people does not count.`,
    `At most ${max_cost_cents} cents.`,
    ...(mode === 'long_running'
      ? [`Ends ${longRunning.heartbeat_ttl_ms / 1_000} seconds after its last sign of life.`]
      : []),
  ]
}

/** The envelope as a request that a shell sends. */
export const asCurl = ({ envelope, run_context }: BuiltEnvelope, url: string): string =>
  [
    `curl -sS ${url}/v1/invoke \\`,
    '  -H "Authorization: Bearer $AMBIT_KEY" \\',
    '  -H "Content-Type: application/json" \\',
    `  -d '${JSON.stringify({ request: envelope, run_context }).replaceAll("'", String.raw`'\''`)}'`,
  ].join('\n')

/** The envelope as a program that embeds Ambit sends it. */
export const asTypeScript = ({ envelope, run_context }: BuiltEnvelope): string =>
  `const record = await ambit.invokeAgent(${JSON.stringify(envelope, null, 2)}, ${JSON.stringify(run_context)})\n`

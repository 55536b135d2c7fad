import { z } from 'zod'
import { agentId, agentVersion, ceiling } from './agent.ts'
import { budgetReport, hiddenReason, omission } from './contract/compiled.ts'
import { ownTime } from './evidence.ts'
import { grant } from './grant.ts'
import { subject } from './identity/subject.ts'
import { tenantIdText } from './identity/tenant.ts'
import { jsonValue } from './json.ts'
import { callerName, runError, runId, traceId } from './run-id.ts'
import { id, line } from './text.ts'

export const runStatus = z.enum(['pending', 'running', 'paused', 'completed', 'failed', 'cancelled'])
export type RunStatus = z.infer<typeof runStatus>
export const isEnded = (status: RunStatus): boolean => ['completed', 'failed', 'cancelled'].includes(status)

export const surface = z.strictObject({
  tools: z.array(z.string()).describe('The tools that its model may call, by name.'),
  hidden: z
    .array(
      z.strictObject({
        tool: z.string().describe('The name it would have.'),
        reason: hiddenReason.describe('The first reason that was found.'),
      }),
    )
    .describe('The other tools of the manifest, and why they are missing.'),
})
export type RunSurface = z.infer<typeof surface>

const count = z.int().min(0)

export const usage = z.strictObject({
  tool_calls: count.describe('Calls that were made, refused ones too.'),
  model_turns: count.describe('Turns of the model.'),
  input_tokens: count.describe('What the model was given, as its provider counts.'),
  output_tokens: count.describe('What the model wrote, as its provider counts.'),
  cost_cents: z.number().min(0).nullable().describe('Null where no price of the model is configured.'),
})
export type Usage = z.infer<typeof usage>

/** What a run may do at most, from its caller. */
export const runLimits = z.strictObject({
  calls: z.int().min(0).max(10_000).optional(),
  activeMs: z
    .int()
    .min(1)
    .max(4 * 3_600_000)
    .optional(),
  costCents: z.number().gt(0).optional(),
})
export type RunLimits = z.infer<typeof runLimits>

/** What a run was given, by what it can be made again from and compared with. */
export const compileReport = z.strictObject({
  refs: z.array(z.strictObject({ ref: line, hash: line })).describe('Its packs, the first of which is its own.'),
  facts_hash: z.string().describe('Of the facts that it was compiled from.'),
  content_hash: z.string().describe('Equal for equal packs and facts.'),
  compiled_context_hash: z.string().describe('Of everything that was compiled.'),
  budget_report: budgetReport,
  omissions: z.array(omission).describe('What was left out, and why.'),
})
export type CompileReport = z.infer<typeof compileReport>

const runDecision = z.strictObject({
  record_id: z.string(),
  status: z.enum(['IN_FLIGHT', 'DECIDED', 'DEFERRED', 'REJECTED', 'ESCALATED', 'CLOSED']),
  outcome: z.string().nullable(),
})

/** One invocation of an agent. */
export const runRecord = z.strictObject({
  run_id: runId.describe('Sorts by the time the run started.'),
  root_run_id: runId.describe('The run at the top of its tree, which is also the correlation of all its calls.'),
  parent_run_id: runId.nullable().describe('The run that started it; null for one that a caller started.'),
  caused_by: z.string().nullable().describe('The call or the place in the parent that started it.'),
  depth: count.describe('How many runs are above it.'),
  tenant_id: tenantIdText.describe('Whose run it is.'),
  subject: subject.describe('Who started its root, verified.'),
  agent_id: agentId.describe('The agent that acts.'),
  agent_version: agentVersion.describe('Its version when the run started.'),
  request_id: id.nullable().describe('The id its caller gave: the same id again starts no second run.'),
  session_id: callerName.nullable().describe('The session it belongs to; null for a run without history.'),
  context_ids: z.array(callerName).describe('The scratchpad buckets that its prompt shows.'),
  grants: z.array(grant).describe('The paths it may touch.'),
  ceilings: z.record(z.string(), ceiling).describe('The highest mode that its ancestors left it, by kind.'),
  modes: z.record(z.string(), ceiling).describe('The effective mode of each resource.'),
  surface: surface.describe('What its model may call.'),
  safety_mode: z
    .enum(['read_only', 'local_write', 'network', 'delegated', 'destructive'])
    .describe('The highest tier that may execute without an approval.'),
  mode: z
    .enum(['stream', 'batch', 'long_running'])
    .nullable()
    .describe('How it was asked for; null for a run of an agent of the host.'),
  intent: z.string().nullable().describe('What it is about, as a catalog names it.'),
  decision: runDecision.nullable().describe('How it decided; null for a run of an agent, and before it was compiled.'),
  status: runStatus.describe('Where it stands.'),
  input: jsonValue.describe('What it was given.'),
  result: jsonValue.nullable().describe('What it came to; null unless it completed.'),
  error: runError.nullable().describe('Why it failed; null unless it did.'),
  compiled: compileReport
    .nullable()
    .describe('What its model was given, by its hashes; null for a run without a model.'),
  warnings: z.array(runError).describe('What was left out of its prompt.'),
  waits_for: z.array(z.string()).describe('Approvals that it waits for.'),
  started_at: ownTime.describe('When it was accepted.'),
  ended_at: ownTime.nullable().describe('When it ended; null while it has not.'),
  trace_id: traceId.describe('The trace that its spans belong to.'),
  usage: usage.describe('What it has used so far.'),
})
export type RunRecord = z.infer<typeof runRecord>

export const runEventType = z.enum([
  ...(['run.started', 'compile.done', 'plan.proposed', 'tool.started', 'tool.progress', 'tool.finished'] as const),
  ...(['approval.requested', 'approval.resolved', 'run.paused', 'run.resumed', 'run.finished'] as const),
  ...(['critic.verify', 'critic.score', 'memory.proposed', 'checkpoint.written', 'heartbeat'] as const),
])
export type RunEventType = z.infer<typeof runEventType>

export const runEvent = z.strictObject({
  event_id: z.int().min(1).describe('Counts up within a root run, over all of its children.'),
  run_id: runId.describe('The run that it is about.'),
  root_run_id: runId.describe('The run at the top of its tree.'),
  trace_id: traceId.describe('The trace of the run.'),
  type: runEventType.describe('What happened.'),
  at: ownTime.describe('When it happened.'),
  data: z.record(z.string(), jsonValue).describe('What there is to say of it, by type.'),
})
export type RunEvent = z.infer<typeof runEvent>

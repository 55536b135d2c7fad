import type { Json } from '../../base/canonical.ts'
import type { ReadyPacks } from '../../compile/compile.ts'
import type { CompileFacts } from '../../compile/facts.ts'
import type { KnownIntent } from '../../compile/intent.ts'
import type { CapabilityTier, CompiledContext, EvidenceFact } from '../../model/contract/compiled.ts'
import type { RunContext } from '../../model/contract/context.ts'
import type { EvaluatorVerdict } from '../../model/contract/decision.ts'
import type { DecisionSpec, PackCapability, TaskTemplate } from '../../model/contract/pack.ts'
import type { Facts } from '../../policy/conditions/values.ts'
import { finishedSteps, type PlanProgress, type Progress, stepsRoot } from './progress.ts'

/** All that the loop knows of a run beside its events, of one moment. */
export interface LoopFacts {
  readonly context: RunContext
  readonly compiled: CompiledContext
  readonly packs: ReadyPacks
  readonly known: KnownIntent
  /** Admitted at compile, or later by the driver. */
  readonly evidence: readonly EvidenceFact[]
  readonly request: CompileFacts['request']
  readonly limits: LoopLimits
  readonly now: string
  readonly identityLapsed?: boolean
  readonly cancelled?: boolean
  /** A limit that the driver met. */
  readonly hardStop?: { readonly cause: string; readonly limit?: number; readonly used?: number }
  /** What a second evaluator said, where the decision spec asks for one. */
  readonly challenge?: EvaluatorVerdict
}

/** The same with what the events of the run say. */
export interface Loop extends LoopFacts {
  readonly progress: Progress
}

export interface LoopLimits {
  readonly calls: number
  readonly replans: number
  /** Calls and replans used beside those of this run's own events: by its children. */
  readonly callsElsewhere?: number
  readonly wallClockMs?: { readonly limit: number; readonly used: number }
  readonly costCents?: { readonly limit: number; readonly used: number }
}

/** What the packs say of a capability that exists for the run; undefined for any other. */
export function tierIn({ compiled }: LoopFacts, capabilityId: string): CapabilityTier | undefined {
  for (const { adapter_id, capability_metadata = {} } of compiled.manifests.tool_manifest) {
    const name = capabilityId.slice(adapter_id.length + 1)
    if (capabilityId === `${adapter_id}.${name}` && Object.hasOwn(capability_metadata, name))
      return capability_metadata[name]
  }
  return undefined
}

export function packCapability({ packs }: LoopFacts, capabilityId: string): PackCapability | undefined {
  for (const { adapter_id, capabilities } of packs.packs.adapters)
    for (const each of capabilities)
      if (typeof each !== 'string' && `${adapter_id}.${each.name}` === capabilityId) return each
  return undefined
}

/** The template that a plan was made from, by its planner. */
export const templateOf = (
  { known }: LoopFacts,
  { planner }: Pick<PlanProgress, 'planner'>,
): TaskTemplate | undefined =>
  known.templates.find(({ template_id, version }) => planner === `playbook:${template_id}@${version}`)

/** The step of the template that a step of its plan was made from. */
export const templateStep = (facts: LoopFacts, plan: Pick<PlanProgress, 'planner'>, step: string) =>
  templateOf(facts, plan)?.steps.find(({ id }) => id === step)

/** What the run decides: what its last plan names, else the only thing its intent may come to. */
export function specOf({ known, progress }: Loop): DecisionSpec | undefined {
  const plan = progress.plans.at(-1)
  const named = plan?.plan?.decision_checkpoints.at(-1)?.decision_id
  return named === undefined ? known.specs[0] : known.specs.find(({ decision_key }) => decision_key === named)
}

/** The roots of rules that no call adds to. */
export function rootsIn({ context, request, now }: LoopFacts): Facts {
  const { tenant_id, safety_mode, intent, user, agent } = context
  return {
    run: { tenant_id, safety_mode, intent: intent ?? null },
    request: { ...request, context: request.context ?? {} } as Json,
    user: user as Json,
    agent: { agent_id: agent.agent_id, agent_urn: agent.agent_urn, role: agent.role ?? null },
    now,
  }
}

/** What parameters, templates and outcomes read. */
export function expressionFacts(loop: Loop): Facts {
  const { run, request } = rootsIn(loop)
  return { run, request, steps: stepsRoot(finishedSteps(loop.progress)) }
}

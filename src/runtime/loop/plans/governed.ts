import type { Json } from '../../../base/canonical.ts'
import { Failure } from '../../../base/failure.ts'
import { sha256 } from '../../../base/hash.ts'
import { formatTime } from '../../../base/time.ts'
import type { ReadyPacks } from '../../../compile/compile.ts'
import type { CompileFacts } from '../../../compile/facts.ts'
import { policiesOf } from '../../../compile/policies.ts'
import { tiersIn } from '../../../compile/surface.ts'
import type { RunContext } from '../../../model/contract/context.ts'
import { compilePolicies, type PolicySet } from '../../../policy/policies.ts'
import { type CompiledRun, compileRun, hasLapsed } from '../../../runs/plan/compile-run.ts'
import type { LoopFacts } from '../../../runs/plan/facts.ts'
import { factsAt } from '../../../storage/tables/runs/facts.ts'
import { measure } from '../../contract/measure.ts'
import { LegLost } from '../endings.ts'
import type { RunNode } from '../tree.ts'

/** A run that context packs drive, with the rules that its calls are asked by. */
export interface Governed extends CompiledRun {
  readonly policies: PolicySet
  /** Its facts as they are kept. */
  readonly body: string
  readonly factsHash: string
}

/** Compiles a request; whatever is wrong with it or its packs fails here, before anything has begun. */
export function govern(context: RunContext, facts: CompileFacts, packs: ReadyPacks): Governed {
  const run = compileRun({ context, facts, packs }, measure)
  const body = JSON.stringify(facts)
  const policies = compilePolicies(policiesOf(packs.packs, tiersIn(run.compiled)))
  return { ...run, policies, body, factsHash: sha256(body) }
}

/** The same for a run that is taken up: from the facts that it began with and the packs that it pins. */
export async function governedOf(node: RunNode): Promise<Governed> {
  const { tree, record } = node
  if (tree.governed !== undefined) return tree.governed
  const { store, tenant } = tree.host.deps
  const said = tree.journal.eventsOf(record.run_id).find(({ type }) => type === 'compile.done')
  if (said === undefined || tree.root.invoked === undefined) throw new LegLost('a run without its compile')
  const body = await store.read(() => factsAt(tenant, tree.rootId, said.event_id))
  if (body === undefined || sha256(body) !== said.data['facts_hash'])
    throw new Failure('replay.snapshot_collected', 'the facts of the run were erased', { run_id: record.run_id })
  const packs = await tree.host.loadPacks(tree.root.invoked.request.context_pack_refs)
  tree.governed = govern(tree.root.invoked.context, JSON.parse(body) as CompileFacts, packs)
  return tree.governed
}

/** What the loop knows of the run beside its events, of this moment. */
export function loopFacts(node: RunNode, governed: Governed, stop?: Stop): LoopFacts {
  const { tree } = node
  const { limits } = tree.root
  const { clock } = tree.host.deps
  const { compiled, context, packs, known, evidence, facts } = governed
  const usage = tree.usageOf(node.record.run_id)
  return {
    ...{ compiled, context, packs, known, evidence, request: facts.request },
    limits: {
      ...{ calls: limits.calls, replans: context.run_budget.max_replan_attempts },
      wallClockMs: { limit: limits.activeMs, used: tree.activeMs() },
      ...(limits.costCents !== null && { costCents: { limit: limits.costCents, used: usage.cost_cents ?? 0 } }),
    },
    now: formatTime(clock.now()),
    identityLapsed: hasLapsed(context, clock.now()),
    ...stop,
  }
}

/** What ended the work on a run from outside its loop. */
export type Stop = Pick<LoopFacts, 'cancelled' | 'hardStop'>

/** What a compile says of itself to those who follow the run. */
export function compiledData({ compiled, factsHash }: Governed): { readonly [member: string]: Json } {
  const { budget_report, context_ledger } = compiled
  const { compiled_context_hash, ambit } = context_ledger
  return {
    tokens: budget_report.tokens_used_by_bucket,
    warnings: ambit.warnings as unknown as Json,
    ...{ facts_hash: factsHash, content_hash: ambit.content_hash, compiled_context_hash },
    stage_hashes: ambit.stage_hashes,
  }
}

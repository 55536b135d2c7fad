import { admitEvidence } from '../../compile/admit.ts'
import type { Measure } from '../../compile/buckets.ts'
import { compile, type ReadyPacks } from '../../compile/compile.ts'
import type { CompileFacts } from '../../compile/facts.ts'
import { checkIntent, type KnownIntent } from '../../compile/intent.ts'
import type { CompiledContext } from '../../model/contract/compiled.ts'
import type { RunContext } from '../../model/contract/context.ts'
import type { LoopFacts } from './facts.ts'

/** A run that context packs drive: what it was compiled from, and what came of that. */
export interface CompiledRun {
  readonly context: RunContext
  readonly facts: CompileFacts
  readonly packs: ReadyPacks
  readonly compiled: CompiledContext
  readonly known: KnownIntent
  readonly evidence: LoopFacts['evidence']
}

type Given = Pick<CompiledRun, 'context' | 'facts' | 'packs'>

/** The same packs, facts and context come to the same run. */
export const compileRun = ({ context, facts, packs }: Given, measure: Measure): CompiledRun => ({
  ...{ context, facts, packs, known: checkIntent(packs.packs, facts) },
  compiled: compile(packs, facts, context, measure),
  evidence: admitEvidence(context.tenant_id, facts).items,
})

/** A claim that was brought ends when it says. One of ours is renewed for as long as its run goes on. */
export const hasLapsed = ({ agent: { identity_claim }, metadata }: RunContext, nowMs: number): boolean =>
  metadata.ambit.claim_state === 'verified' && identity_claim.exp * 1_000 <= nowMs

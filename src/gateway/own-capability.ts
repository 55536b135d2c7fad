import type { Change } from '../storage/work.ts'
import { type CallContext, type Capability, type CapabilitySpec, defineCapability } from './capability.ts'
import type { ResourceNeed } from './run.ts'
import type { OutputOf, SchemaLike } from './schema-like.ts'

/** A result, and a change of our own store that is committed with the outcome of the call. */
export class CommitWith {
  readonly data: unknown
  readonly change: Change
  constructor(data: unknown, change: Change) {
    this.data = data
    this.change = change
  }
}

/**
 * Answered by a handler of ours. The change is all the effect its capability has: should it fail with a `Failure`, or the
 * process end before the outcome is written, the call has had none.
 */
export const commitWith = (data: unknown, change: Change): CommitWith => new CommitWith(data, change)

/** A capability of ours: it may answer `commitWith`, and says which resources a call of a run needs. */
export const ownCapability = <In extends SchemaLike>(
  spec: CapabilitySpec<In>,
  handler: (input: OutputOf<In>, call: CallContext) => unknown,
  needs?: (input: OutputOf<In>) => readonly ResourceNeed[],
): Capability => ({
  ...defineCapability(spec, handler as (input: OutputOf<In>, call: CallContext) => null),
  commits: true,
  ...(needs && { needs: needs as (input: unknown) => readonly ResourceNeed[] }),
})

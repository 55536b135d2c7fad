import { canonical, type Json } from '../../base/canonical.ts'
import { sha256 } from '../../base/hash.ts'
import type { RunContext } from '../../model/contract/context.ts'
import type { InvokeRequest } from '../../model/contract/request.ts'
import type { Progress } from '../plan/progress.ts'

/** Something that a planner or a tool has said to a run. */
export interface Transcript {
  /** The step, or `plan 0` for the first plan. */
  readonly step: string
  /** Of it and of all that was said before it. */
  readonly hash: `sha256:${string}`
}

/** All that came into a run from outside, in its order: each plan, and each call with its answer. */
export function transcriptsOf({ plans }: Progress): readonly Transcript[] {
  const said = plans.flatMap(({ index, planner, plan, problems, text, calls }) => [
    { step: `plan ${index}`, said: { planner, plan, problems, text } as unknown as Json },
    ...calls.flatMap((call) => (call.answer === undefined ? [] : [{ step: call.step, said: call as unknown as Json }])),
  ])
  let previous: string | null = null
  return said.map(({ step, said }) => {
    const hash = hashOf([previous, said])
    previous = hash
    return { step, hash }
  })
}

/** Of what a run was asked and by whom it is driven. */
export const envelopeHash = ({ request, context, planner }: Envelope): `sha256:${string}` =>
  hashOf({ request, context, planner } as unknown as Json)

export interface Envelope {
  readonly request: InvokeRequest
  readonly context: RunContext
  /** As trusted code named it. */
  readonly planner?: string
}

const hashOf = (value: Json): `sha256:${string}` => `sha256:${sha256(canonical(value))}`

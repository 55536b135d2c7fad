import type { Json } from '../base/canonical.ts'
import { limits } from '../base/limits.ts'
import { outputDigest } from '../evidence/digests.ts'
import { refuse } from '../policy/gates/refusal.ts'
import { rememberedOf } from '../policy/history.ts'
import type { Asked, EventSpec } from './attempt.ts'
import type { GatewayDeps, Offer } from './deps.ts'
import type { Execution } from './execute.ts'
import type { Ending } from './results.ts'

export interface Concluded {
  readonly ending: Ending
  readonly events: readonly EventSpec[]
}

/** What the result carries, where the capability says: its class, and where it comes from. */
function labelsOf({ capability }: Asked): { readonly [key: string]: string } {
  const { policy, metadata } = capability?.descriptor ?? {}
  if (capability === undefined || (policy?.data_classification ?? metadata?.origin) === undefined) return {}
  const { class: dataClass, origin } = rememberedOf(capability.descriptor)
  return { ...(dataClass !== undefined && { data_classification: dataClass }), origin }
}

/** Gate 12, and the events of the end. */
export function conclude(
  { digest }: GatewayDeps,
  offer: Offer,
  attempt: Asked,
  { ended, emitted, chunks }: Execution,
): Concluded {
  const stream = chunks.count === 0 ? {} : { chunk_count: chunks.count, chunk_seq_digest: chunks.digest() }
  const withEvent = (ending: Ending, last: EventSpec): Concluded => ({
    ending,
    events: emitted.length === 0 ? [last] : [...emitted, last],
  })
  if (ended.outcome !== 'success') {
    const { outcome, error } = ended
    const type = outcome === 'failure' ? 'execution_failed' : 'execution_indeterminate'
    return withEvent(ended, { type, outcome, error, payload: stream, withheld: chunks.count > 0 })
  }
  const { data } = ended
  const payload = { output: outputDigest(digest, data), ...labelsOf(attempt), ...stream }
  const withheld = data !== null || chunks.count > 0
  const completed = (more: { readonly [key: string]: Json }): Concluded =>
    withEvent(ended, { type: 'execution_completed', outcome: 'success', payload: { ...payload, ...more }, withheld })
  const [problem] = attempt.capability?.checkOutput(data) ?? []
  if (problem === undefined) return completed({})
  if (!offer.strictOutput && !attempt.call.requireOutput) return completed({ output_schema_valid: false })
  const effect = attempt.capability?.commits ? 'none' : 'done'
  const { denial } = refuse('output', 'output_schema_validation_failed', {
    message: `the result does not fit the output schema; ${effect === 'done' ? 'the call was executed' : 'nothing was changed'}`,
    details: {
      schema_id: `${attempt.call.capabilityId}:${attempt.version}#output`,
      // Names in a result may be as long as the result.
      path: problem.path.slice(0, limits.errorCharsMax).toWellFormed(),
      keyword: problem.keyword,
      effect,
    },
  })
  return withEvent(
    { outcome: 'denied', denial },
    { type: 'execution_denied', outcome: 'denied', denial, payload, withheld },
  )
}

import fc from 'fast-check'
import type { Json } from '../../src/base/canonical.ts'
import type { EventDraft } from '../../src/model/evidence.ts'
import { draft } from './evidence.ts'

/** Text that is well formed and has no control characters, 1 to 40 characters. */
const wireText = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 40 })
  .filter((text) => /^\P{Cc}{1,256}$/u.test(text))

const name = fc
  .string({ unit: 'grapheme', maxLength: 12 })
  .filter((text) => text !== 'decision' && text !== '__proto__')

const scalar = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.maxSafeInteger(),
  fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e6, max: 1e6 }),
  fc.boolean(),
  fc.constant(null),
)

const { value: json } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    scalar,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(name, tie('value'), { maxKeys: 4 }),
  ),
}))

const optional = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: null })

const correlation = fc.record(
  {
    causation_id: optional(wireText),
    parent_correlation_id: optional(wireText),
    trace_id: optional(wireText),
    baggage: fc.dictionary(name, scalar, { maxKeys: 3 }),
    environment: fc.constantFrom('dev' as const, 'test' as const, 'pilot' as const, 'prod' as const),
  },
  { requiredKeys: [] },
)

const fields: fc.Arbitrary<Partial<EventDraft>> = fc.record({
  event_id: wireText,
  event_type: wireText,
  invocation_id: wireText,
  capability_id: wireText,
  outcome: optional(fc.constantFrom('success', 'failure', 'denied', 'skipped', 'indeterminate')),
  payload: fc.dictionary(name, json, { maxKeys: 5 }),
  subject: optional(fc.record({ id: wireText, verified: fc.boolean(), roles: fc.array(fc.string()) })),
  actor: optional(fc.record({ id: wireText, type: fc.constantFrom('agent', 'human') })),
  capability_version: optional(fc.string()),
  denial: optional(
    fc.record({
      code: fc.string({ minLength: 1 }),
      message: fc.string(),
      retryable: fc.boolean(),
      details: fc.dictionary(name, json, { maxKeys: 3 }),
    }),
  ),
  error: optional(fc.record({ type: fc.string({ minLength: 1 }), message: fc.string({ unit: 'grapheme' }) })),
  redacted: fc.boolean(),
  assurance: fc.constantFrom('S1', 'S2', 'S3'),
}) as fc.Arbitrary<Partial<EventDraft>>

/** One to eight drafts of one correlation, with all that a draft may hold. */
export const drafts: fc.Arbitrary<EventDraft[]> = wireText.chain((correlationId) =>
  fc.array(
    fc
      .tuple(fields, correlation)
      .map(([some, more]) => draft({ ...some, correlation: { correlation_id: correlationId, ...more } })),
    { minLength: 1, maxLength: 8 },
  ),
)

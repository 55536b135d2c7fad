import { z } from 'zod'
import { ownTime } from '../evidence.ts'
import { packActivation, packStatus, packTrust, rootScope } from './knowledge.ts'

const text = z.string()
const count = z.int().min(0)

const finding = z.strictObject({
  code: text,
  severity: z.enum(['info', 'warning', 'error']),
  path: text,
  message: text,
  pack: text.optional(),
})

const section = z.strictObject({
  path: text,
  section: text.optional(),
  /** SHA-256 of the text that was sent, in hex. */
  digest: text,
  tokens: count,
  tier: text,
  score: z.number(),
  matched: z.array(text),
})

const activated = z.strictObject({
  id: text,
  name: text,
  activation: packActivation,
  status: packStatus,
  trust: packTrust,
  version: text.optional(),
  digest: text,
  tokens: count,
  sections: z.array(section),
})

/** Kept also where nothing was activated, with the digests from which the context can be made again. */
export const resolutionTrace = z.strictObject({
  run_id: text,
  at: ownTime,
  /** Left out where it is withheld. */
  query: text.optional(),
  query_digest: text,
  outcome: z.enum(['answered', 'only-stale', 'nothing', 'refused', 'failed']),
  resolver: z.strictObject({ tool: text, version: text, calibration: text.optional() }),
  catalog_hash: text,
  roots: z.array(z.strictObject({ id: text, scope: rootScope, packs: count, cut: z.boolean() })),
  activated: z.array(activated),
  refused: z.array(z.strictObject({ named: text, findings: z.array(finding) })),
  /** The best that the question was held against, and how far the best was from being used. */
  considered: z.array(z.strictObject({ id: text, score: z.number(), confidence: z.number() })),
  threshold: z.number().optional(),
  short_by: z.number().optional(),
  dropped: z.array(z.strictObject({ pack: text, path: text, section: text.optional(), reason: text })),
  missing: z.array(text),
  findings: z.array(finding),
  token_estimate: count,
  timings_ms: z.record(text, z.number()),
})
export type ResolutionTrace = z.infer<typeof resolutionTrace>

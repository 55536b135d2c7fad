import { z } from 'zod'
import { gives } from '../entry.ts'
import { jsonValue } from '../json.ts'
import { runId } from '../run-id.ts'
import { next } from '../wire/wire.ts'

/** What replays answer. */
export const replayShapes = {
  'replay-report': gives('Whether a run comes to the same again from what is on record of it.', {
    run_id: runId,
    record_id: z.string(),
    status: z.enum(['replay_equal', 'replay_mismatch']),
    diffs: z
      .array(
        z.strictObject({
          kind: z.enum(['evidence', 'policy', 'tool_transcript', 'compiled_context', 'scorecard', 'tamper']),
          stage: z.string().describe('Of the compile, or of the loop.'),
          step: z.string().optional(),
          event_id: z.int().optional(),
          pointer: z.string(),
          recorded: jsonValue,
          replayed: jsonValue,
        }),
      )
      .describe('In the order of the run: those after the first may follow from it.'),
  }),
  'comparison-list': gives('What each recorded run of a pack would have come to with another version of it.', {
    decisions: z.array(
      z.strictObject({
        run_id: runId,
        record_id: z.string(),
        at: z.string(),
        verdict: z.enum(['unchanged', 'changed', 'undecidable']),
        field: z.string().optional().describe('What is different first: `approvals`, `status`, `outcome` …'),
        from: jsonValue.optional(),
        to: jsonValue.optional(),
        first_stage: z.string().optional().describe('The first stage of compile or loop that differs.'),
        rule_ids: z.array(z.string()).optional(),
        missing: z.array(z.string()).optional().describe('What nobody has recorded, and the answer depends on.'),
      }),
    ),
    next,
  }),
}

/** Names a version that is published, or has the document of one that need be neither published nor signed. */
export const comparisonQuery = { pack: z.string().max(256).optional(), document: z.unknown().optional() }

export type ReplayReport = z.infer<(typeof replayShapes)['replay-report'][1]>
export type ComparedDecision = z.infer<(typeof replayShapes)['comparison-list'][1]>['decisions'][number]

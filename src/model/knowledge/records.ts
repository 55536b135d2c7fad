import { z } from 'zod'
import { form } from '../text.ts'
import { packActivation, packGrounding, packMode, packProfile, packStatus, packTrust } from './knowledge.ts'

const text = z.string()
const texts = z.array(text)
const whole = z.int().min(0)
const named = form(/\S/u, 'a text that is not blank')

/** A finding; its code leads the message: `claim-stale: …`. */
const finding = z.strictObject({
  severity: z.enum(['info', 'warning', 'error']),
  message: text,
  path: text.optional(),
})

const builderSkill = z.strictObject({ name: text, version: text.optional(), digest: text.optional() })
const resolutionStatus = z.enum(['passed', 'needs-review', 'stale', 'disputed', 'failed'])

const activatedPack = z.strictObject({
  name: text,
  activation: packActivation,
  selected_files: texts,
  status: packStatus.optional(),
  trust: packTrust.optional(),
  grounding: packGrounding.optional(),
  profile: packProfile.optional(),
  runtime_mode: packMode.optional(),
  selected_documents: texts.optional(),
  selected_splits: texts.optional(),
  source_anchors: texts.optional(),
  warnings: z.array(finding).optional(),
  wrapper_order: whole.optional(),
  builder_skill: builderSkill.optional(),
})

/** `run_id` names the resolution. */
export const contextResolution = z.strictObject({
  run_id: text,
  query: named,
  status: resolutionStatus,
  resolver: z.strictObject({ tool: text.optional(), version: text.optional(), strategy: text.optional() }).optional(),
  activated_packs: z.array(activatedPack).min(1),
  missing: texts.optional(),
  token_estimate: whole.optional(),
  wrapper_order: texts.optional(),
})
export type ContextResolution = z.infer<typeof contextResolution>

const chapter = z.strictObject({
  id: text,
  title: text,
  coverage: z.enum(['full', 'partial', 'missing', 'conflict']),
  document: text.optional(),
  path: text.optional(),
  tokens: whole.optional(),
  source_anchors: texts.optional(),
  warnings: z.array(finding).optional(),
})

export const compileRun = z.strictObject({
  run_id: text,
  trigger: z.enum(['ingest', 'source-change', 'manual', 'scheduled', 'migration']),
  status: resolutionStatus,
  inputs: z.array(z.strictObject({ path: text, sha256: text.optional() })),
  outputs: z.array(z.strictObject({ path: text, operation: z.enum(['created', 'updated', 'deleted', 'unchanged']) })),
  compiler: z.strictObject({ tool: text.optional(), version: text.optional(), model: text.optional() }).optional(),
  diagnostics: z.array(finding.extend({ path: text })).optional(),
  review: z.strictObject({ required: z.boolean().optional(), reason: text.optional() }).optional(),
  profile: packProfile.optional(),
  runtime_mode: packMode.optional(),
  primary_document: text.optional(),
  builder_skill: builderSkill.extend({ source: text.optional() }).optional(),
  documents: z
    .array(
      z.strictObject({
        path: text,
        role: z.enum(['primary', 'supporting', 'export']).optional(),
        status: text.optional(),
        sha256: text.optional(),
      }),
    )
    .optional(),
  chapters: z.array(chapter).optional(),
  quality_issues: texts.optional(),
  interview_questions: texts.optional(),
})
export type CompileRun = z.infer<typeof compileRun>

export const claimState = z.enum(['confirmed', 'inferred', 'disputed', 'stale', 'missing', 'source-required'])
export type ClaimState = z.infer<typeof claimState>

/** `indexes/source-map.json` */
export const sourceMap = z.strictObject({
  claims: z.array(
    z.strictObject({
      claim_id: text,
      text,
      status: claimState,
      source: z.strictObject({ path: text, anchor: text.optional() }),
      compiled_into: texts.optional(),
      document: text.optional(),
      section_id: text.optional(),
    }),
  ),
  document_sections: z
    .array(
      z.strictObject({
        document: text,
        section_id: text,
        title: text,
        source_anchors: texts.optional(),
        compiled_into: texts.optional(),
      }),
    )
    .optional(),
})
export type SourceMap = z.infer<typeof sourceMap>

/** `evals/discovery.train.json` and `evals/discovery.validation.json` */
export const selectionSuite = z.strictObject({
  pack_name: text,
  cases: z
    .array(
      z.strictObject({
        id: text,
        prompt: text,
        expected: z.enum(['select', 'reject', 'warn']),
        reason: text.optional(),
        expected_warnings: texts.optional(),
      }),
    )
    .min(1),
})
export type SelectionSuite = z.infer<typeof selectionSuite>

/** `evals/discovery.json`, the form of selection suites before `discovery.train.json`. Other keys are passed over. */
export const oldSelectionSuite = z.object({
  pack_name: text.optional(),
  queries: z
    .array(z.object({ id: text.optional(), query: named, should_select: z.boolean(), reason: text.optional() }))
    .min(1),
})
export type OldSelectionSuite = z.infer<typeof oldSelectionSuite>

export const selectionResult = z.strictObject({
  suite: text,
  pack_name: text,
  results: z.array(z.strictObject({ id: text, expected: text, actual: text, passed: z.boolean() })),
  summary: z.strictObject({
    passed: whole,
    failed: whole,
    precision: z.number().min(0).max(1),
    recall: z.number().min(0).max(1),
    false_positives: whole,
    false_negatives: whole,
    warning_accuracy: z.number().min(0).max(1),
  }),
})
export type SelectionResult = z.infer<typeof selectionResult>

/** `evals/answer-quality.json` */
export const answerSuite = z.strictObject({
  evals: z.array(
    z.strictObject({
      id: text,
      prompt: text,
      expected_output: text.optional(),
      required_context: texts.optional(),
      assertions: texts.optional(),
    }),
  ),
})
export type AnswerSuite = z.infer<typeof answerSuite>

import { z } from 'zod'
import { limits } from '../../base/limits.ts'

/** What the tools of the knowledge provider take. */
export const knowledgeInput = {
  catalog: z.strictObject({}),
  search: z.strictObject({
    query: z.string().min(1).max(limits.knowledgeQueryCharsMax).describe('A question, in the words of its subject.'),
    packs: z.array(z.string()).min(1).max(16).optional().describe('Names of packs; else those that fit the question.'),
    limit: z.int().min(1).max(20).optional().describe('How many at most; 8 unless said otherwise.'),
  }),
  open: z.strictObject({
    ref: z.string().min(1).max(4_096).describe('The name of a pack for its guide, or `ref` of a passage for its text.'),
  }),
}

export type KnowledgeInput<Tool extends keyof typeof knowledgeInput> = z.infer<(typeof knowledgeInput)[Tool]>

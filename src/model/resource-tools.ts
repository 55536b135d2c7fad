import { z } from 'zod'
import { limits } from '../base/limits.ts'
import { parseDuration } from '../base/time.ts'
import { grantPath } from './grant.ts'

const text = z.string().max(limits.jsonBytesMax)
const topic = z.string().min(1).max(limits.entryTopicCharsMax)
const topics = z.array(topic).max(limits.memoryTopicsMax)
const limit = z
  .int()
  .min(1)
  .max(limits.memoryReadMax)
  .optional()
  .describe('How many at most; 20 unless said otherwise.')
const content = text.describe(`1 to ${limits.memoryContentCharsMax} characters.`)
const id = z.string().max(limits.idCharsMax).describe('The id of an entry, as reading gives it.')

export const memoryConfig = z.strictObject({
  readUp: z.boolean().default(true).describe('Whether entries of higher nodes are read, as far as the tenant root.'),
  includeBelow: z.boolean().default(false).describe('Whether entries below the granted nodes are read.'),
  writeTo: grantPath.optional().describe('Where below the first grant new entries go.'),
})

export type MemoryConfig = z.infer<typeof memoryConfig>

export const memoryInput = {
  read: z.strictObject({
    topics: z.union([topic, topics]).optional().describe('Only entries with one of these topics.'),
    query: text.max(1_000).optional().describe('Only entries in which all of these words occur.'),
    limit,
    cursor: z.string().max(1_000).optional().describe('`nextCursor` of the page before.'),
  }),
  write: z.strictObject({
    content,
    topics: topics.optional().describe('What it is about; `general` unless said otherwise.'),
    type: z.enum(['fact', 'preference', 'event', 'summary']).optional(),
  }),
  correct: z.strictObject({ id, content }),
  forget: z.strictObject({ id, reason: text.max(1_000).optional() }),
}

export type MemoryInput<Tool extends keyof typeof memoryInput> = z.infer<(typeof memoryInput)[Tool]>

const duration = 'a duration such as `7d`, `12h`, `30m`'
export const scratchpadConfig = z.strictObject({
  ttl: z
    .string()
    .refine((value) => parseDuration(value) !== undefined, `must be ${duration}`)
    .default('7d')
    .describe(`How long an entry stays: ${duration}.`),
})

export const scratchpadInput = {
  read: z.strictObject({ limit }),
  append: z.strictObject({ content: text.describe(`At most ${limits.scratchpadEntryBytesMax} bytes.`) }),
}

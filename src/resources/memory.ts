import { z } from 'zod'
import { Failure, quote } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import { defined } from '../base/object.ts'
import { covers } from '../grants/cover.ts'
import { grantPath } from '../model/grant.ts'
import { type Run, tool } from './answer.ts'
import { defineProvider, type Provider } from './define.ts'
import { type Entry, isStorable } from './entry-store.ts'
import { findShown, shownLimit } from './find-shown.ts'
import type { ResourceToolContext, Touched } from './provider.ts'

const text = z.string().max(limits.jsonBytesMax)
const topic = z.string().min(1).max(limits.entryTopicCharsMax).refine(isStorable)
const topics = z.array(topic).max(limits.memoryTopicsMax)
const content = text.describe(`1 to ${limits.memoryContentCharsMax} characters.`)
const id = z.string().max(limits.idCharsMax).refine(isStorable).describe('The id of an entry, as reading gives it.')

const config = z.strictObject({
  readUp: z.boolean().default(true).describe('Whether entries of higher nodes are read, as far as the tenant root.'),
  includeBelow: z.boolean().default(false).describe('Whether entries below the granted nodes are read.'),
  writeTo: grantPath.optional().describe('Where below the first grant new entries go.'),
})

const input = {
  topics: z.strictObject({}),
  read: z.strictObject({
    topics: z.union([topic, topics]).optional().describe('Only entries with one of these topics.'),
    query: text.max(1_000).optional().describe('Only entries in which all of these words occur.'),
    limit: shownLimit,
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

type Input<Tool extends keyof typeof input> = z.infer<(typeof input)[Tool]>
type Context = ResourceToolContext<z.infer<typeof config>>

const writing = { mode: 'read-write' } as const

/** Durable facts by topic, in the scopes of the grants. A model neither names nor sees a scope. */
export const memory = (): Provider =>
  defineProvider({
    kind: 'memory',
    maxMode: 'read-write',
    reads: ['up', 'at', 'down'],
    writes: ['at', 'down'],
    config,
    bucket: 'memory',
    tools: {
      topics: tool('Lists the topics of what is remembered, with counts.', input.topics, listTopics),
      read: tool('Reads what is remembered, newest first.', input.read, readEntries),
      write: tool('Remembers one thing.', input.write, writeEntry, writing),
      correct: tool('Puts other content in the place of what is remembered.', input.correct, correctEntry, writing),
      forget: tool('Forgets an entry.', input.forget, forgetEntry, writing),
    },
    prompt: describeTopics,
  })

const view = ({ config, grants, store }: Context) => ({
  scopes: config.readUp ? store.scopes : grants,
  below: config.includeBelow,
})

const listTopics: Run<unknown, Context> = async (_, context) => {
  const topics = await context.store.topics(view(context))
  return { result: { topics: topics.map((each) => ({ ...each })) }, scopes: [] }
}

async function describeTopics(context: Context): Promise<Touched & { result: string }> {
  const topics = await context.store.topics(view(context))
  const lines = topics.slice(0, topicsShownMax).map(({ topic, count }) => `- ${topic} (${count})`)
  const title = 'Topics of what is remembered, with how many entries each has:'
  return { result: lines.length === 0 ? '' : [title, ...lines].join('\n'), scopes: [] }
}

const topicsShownMax = 50

const readEntries: Run<Input<'read'>, Context> = async ({ topics, query, limit = 20, cursor }, context) => {
  const wanted = { ...view(context), topics: normalTopics([topics ?? []].flat()), ...defined({ words: query, cursor }) }
  const { shown, next } = await findShown(context.store, { ...wanted, limit }, (entry) => shownEntry(entry, context))
  return { result: { entries: shown, ...(next !== undefined && { nextCursor: next }) }, scopes: [] }
}

function shownEntry(entry: Entry, context: Context) {
  const { id, content, topics, body, createdAt, source } = entry
  const origin = isOwn(entry, context) ? 'own' : 'inherited'
  return { id, content, topics, type: body['type'] ?? 'fact', origin, createdAt, source: { ...source } }
}

const isOwn = ({ scope }: Entry, { grants }: Context): boolean => grants.some((grant) => covers(grant, scope))

const writeEntry: Run<Input<'write'>, Context> = async (
  { content, topics = [], type = 'fact' },
  { grants, config, store },
) => {
  checkContent(content)
  const scope = config.writeTo === undefined ? String(grants[0]) : `${grants[0]}/${config.writeTo}`
  const named = normalTopics(topics)
  const about = named.length > 0 ? named : ['general']
  const equal = await store.findEqual(scope, content)
  if (equal !== undefined) store.amend(equal, { topics: about })
  const id = equal?.id ?? store.add({ scope, content, topics: about, body: { type } })
  return { result: { action: equal === undefined ? 'stored' : 'deduplicated', id }, scopes: [scope] }
}

const correctEntry: Run<Input<'correct'>, Context> = async ({ id, content }, context) => {
  checkContent(content)
  const entry = await currentEntry(id, context)
  const equal = await context.store.findEqual(entry.scope, content)
  if (equal !== undefined && equal.id !== id)
    throw new Failure('memory.conflict', `entry ${equal.id} says that already`)
  const next = context.store.supersede(entry, { content })
  return { result: { action: 'superseded', id: next, previousId: id }, scopes: [entry.scope] }
}

const forgetEntry: Run<Input<'forget'>, Context> = async ({ id, reason }, context) => {
  const entry = await currentEntry(id, context)
  context.store.forget(entry, reason)
  return { result: { action: 'forgotten' }, scopes: [entry.scope] }
}

/** An entry that may be changed. One that is seen by reaching up alone is refused by the store. */
async function currentEntry(id: string, context: Context): Promise<Entry> {
  const entry = await context.store.get(id)
  if (entry === undefined || !(context.config.readUp || isOwn(entry, context)))
    throw new Failure('memory.not_found', `entry ${quote(id)} is not there`)
  if (entry.replacedBy === undefined) return entry
  throw new Failure('memory.superseded', `${entry.replacedBy} has its place`)
}

function checkContent(content: string): void {
  if (content.trim() === '' || !isStorable(content))
    throw new Failure('memory.content_invalid', 'the content is blank, or no text')
  if ([...content].length > limits.memoryContentCharsMax)
    throw new Failure('memory.too_large', `an entry has at most ${limits.memoryContentCharsMax} characters`)
}

/** Small letters, one space between words, each once. */
function normalTopics(topics: readonly string[]): string[] {
  const normal = topics.map((topic) => topic.normalize('NFC').toLowerCase().replace(/\s+/gu, ' ').trim())
  return [...new Set(normal)].filter((topic) => topic !== '')
}

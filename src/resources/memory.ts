import { z } from 'zod'
import type { Json } from '../base/canonical.ts'
import { limits } from '../base/limits.ts'
import { defined } from '../base/object.ts'
import { covers } from '../grants/cover.ts'
import { grantPath } from '../model/grant.ts'
import { defineProvider, type Provider } from './define.ts'
import type { Entry } from './entry-store.ts'
import { findShown, shownLimit } from './find-shown.ts'
import type { ResourceToolContext, Touched } from './provider.ts'

const text = z.string().max(limits.jsonBytesMax)
const topic = z.string().min(1).max(limits.entryTopicCharsMax)
const topics = z.array(topic).max(limits.memoryTopicsMax)
const content = text.describe(`1 to ${limits.memoryContentCharsMax} characters.`)
const id = z.string().max(limits.idCharsMax).describe('The id of an entry, as reading gives it.')

const config = z.strictObject({
  readUp: z.boolean().default(true).describe('Whether entries of higher nodes are read, as far as the tenant root.'),
  includeBelow: z.boolean().default(false).describe('Whether entries below the granted nodes are read.'),
  writeTo: grantPath.optional().describe('Where below the first grant new entries go.'),
})

const input = {
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
      topics: { description: 'Lists the topics of what is remembered, with counts.', run: listTopics },
      read: { description: 'Reads what is remembered, newest first.', input: input.read, run: readEntries },
      write: { description: 'Remembers one thing.', mode: 'read-write', input: input.write, run: writeEntry },
      correct: {
        description: 'Puts other content in the place of an entry that is remembered.',
        mode: 'read-write',
        input: input.correct,
        run: correctEntry,
      },
      forget: { description: 'Forgets an entry.', mode: 'read-write', input: input.forget, run: forgetEntry },
    },
    prompt: describeTopics,
  })

const view = ({ config, grants, store }: Context) => ({
  scopes: config.readUp ? store.scopes : grants,
  below: config.includeBelow,
})

async function listTopics(_: unknown, context: Context): Promise<Touched> {
  const topics = await context.store.topics(view(context))
  return done({ topics: topics.map((each) => ({ ...each })) })
}

async function describeTopics(context: Context): Promise<Touched & { result: string }> {
  const topics = await context.store.topics(view(context))
  const lines = topics.slice(0, topicsShownMax).map(({ topic, count }) => `- ${topic} (${count})`)
  const title = 'Topics of what is remembered, with how many entries each has:'
  return { result: lines.length === 0 ? '' : [title, ...lines].join('\n'), scopes: [] }
}

const topicsShownMax = 50

async function readEntries({ topics, query, limit = 20, cursor }: Input<'read'>, context: Context): Promise<Touched> {
  const wanted = { ...view(context), topics: normalTopics([topics ?? []].flat()), ...defined({ words: query, cursor }) }
  const { shown, next } = await findShown(context.store, { ...wanted, limit }, (entry) => shownEntry(entry, context))
  return done({ entries: shown, ...(next !== undefined && { nextCursor: next }) })
}

const shownEntry = (entry: Entry, context: Context) => ({
  id: entry.id,
  content: entry.content,
  topics: entry.topics,
  type: entry.body['type'] ?? 'fact',
  origin: isOwn(entry, context) ? 'own' : 'inherited',
  createdAt: entry.createdAt,
  source: { ...entry.source },
})

const isOwn = ({ scope }: Pick<Entry, 'scope'>, { grants }: Context): boolean =>
  grants.some((grant) => covers(grant, scope))

async function writeEntry({ content, topics = [], type = 'fact' }: Input<'write'>, context: Context): Promise<Touched> {
  const refusal = contentRefusal(content)
  if (refusal !== undefined) return refusal
  const { grants, config, store } = context
  const scope = config.writeTo === undefined ? String(grants[0]) : `${grants[0]}/${config.writeTo}`
  const named = normalTopics(topics)
  const about = named.length > 0 ? named : ['general']
  const equal = await store.findEqual(scope, content)
  if (equal === undefined) {
    const id = store.add({ scope, content, topics: about, body: { type } })
    return done({ action: 'stored', id }, [{ scope }])
  }
  store.amend(equal, { topics: about })
  return done({ action: 'deduplicated', id: equal.id }, [equal])
}

async function correctEntry({ id, content }: Input<'correct'>, context: Context): Promise<Touched> {
  const refusal = contentRefusal(content)
  const entry = refusal ?? (await currentEntry(id, context))
  if ('result' in entry) return entry
  const equal = await context.store.findEqual(entry.scope, content)
  if (equal !== undefined && equal.id !== id) return refused('memory_conflict', `entry ${equal.id} says that already`)
  return done({ action: 'superseded', id: context.store.supersede(entry, { content }), previousId: id }, [entry])
}

async function forgetEntry({ id, reason }: Input<'forget'>, context: Context): Promise<Touched> {
  const entry = await currentEntry(id, context)
  if ('result' in entry) return entry
  context.store.forget(entry, reason)
  return done({ action: 'forgotten' }, [entry])
}

/** The entry, or why it cannot be changed. One that is seen by reaching up alone is refused by the store. */
async function currentEntry(id: string, context: Context): Promise<Entry | Touched> {
  const entry = await context.store.get(id)
  if (entry === undefined || !(context.config.readUp || isOwn(entry, context)))
    return refused('memory_not_found', `entry ${id} is not there`)
  return entry.replacedBy === undefined ? entry : refused('memory_superseded', `${entry.replacedBy} has its place`)
}

function contentRefusal(content: string): Touched | undefined {
  if (content.trim() === '' || content.includes('\0') || !content.isWellFormed())
    return refused('memory_content_invalid', 'the content is blank, or no text')
  if ([...content].length <= limits.memoryContentCharsMax) return undefined
  return refused('memory_too_large', `an entry has at most ${limits.memoryContentCharsMax} characters`)
}

/** Small letters, one space between words, each once. */
function normalTopics(topics: readonly string[]): string[] {
  const normal = topics.map((topic) => topic.normalize('NFC').toLowerCase().replace(/\s+/gu, ' ').trim())
  return [...new Set(normal)].filter((topic) => topic !== '')
}

const done = (result: { readonly [member: string]: Json }, at: readonly Pick<Entry, 'scope'>[] = []): Touched => ({
  result: { ok: true, ...result },
  scopes: at.map(({ scope }) => scope),
})

const refused = (code: string, message: string): Touched => ({ result: { ok: false, code, message }, scopes: [] })

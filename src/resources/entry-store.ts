import assert from 'node:assert/strict'
import type { Json } from '../base/canonical.ts'
import { Failure } from '../base/failure.ts'
import { sha256 } from '../base/hash.ts'
import { limits } from '../base/limits.ts'
import { defined } from '../base/object.ts'
import { formatTime } from '../base/time.ts'
import type { GatewayDeps } from '../gateway/deps.ts'
import { covers } from '../grants/cover.ts'
import type { StoredEntry } from '../model/requests.ts'
import {
  addEntry,
  amendEntry,
  type EntryStep,
  findEntry,
  findEqualEntry,
  forgetEntry,
  type NewEntry,
  supersedeEntry,
} from '../storage/entries/entries.ts'
import { type Area, findEntries, type TopicCount, topicsIn } from '../storage/entries/entry-index.ts'
import { wordsOf } from '../storage/entries/words.ts'
import type { Change } from '../storage/work.ts'
import type { Reach, ResourceToolContext } from './provider.ts'
import { type Held, namedScopes, reaches } from './reach.ts'

export interface Entry {
  readonly id: string
  /** The path it lies at. */
  readonly scope: string
  readonly content: string
  readonly topics: readonly string[]
  /** Own fields of the provider. */
  readonly body: { readonly [member: string]: Json }
  readonly createdAt: string
  readonly updatedAt: string
  /** The run that wrote it. */
  readonly source: { readonly agentId: string; readonly runId: string }
  /** The entry that has taken its place, where one has. */
  readonly replacedBy?: string
}

export interface EntryQuery {
  /** Any of them. */
  readonly topics?: readonly string[]
  /** All of these words must occur. */
  readonly words?: string
  readonly limit?: number
  readonly cursor?: string
  /** Instead of all scopes that reads reach. */
  readonly scopes?: readonly string[]
  /** Whether what lies below those scopes counts as well, as far as reads reach down; so it does where none are named. */
  readonly below?: boolean
}

type Where = Pick<EntryQuery, 'scopes' | 'below'>

/**
 * What a provider keeps with Ambit, in the scopes that the grants of its run reach: anything else fails with
 * `resource.scope_denied`. What is written is kept with the outcome of the call, or not at all.
 */
export interface EntryStore {
  /** The scopes that are read unless others are named: the granted paths, and what the reach of the provider adds. */
  readonly scopes: readonly string[]
  /** Newest first. */
  find(query?: EntryQuery): Promise<{ readonly entries: readonly Entry[]; readonly next?: string }>
  /** An entry that is active or was superseded. */
  get(id: string): Promise<Entry | undefined>
  /** The active entry of this scope with equal content, if there is one. */
  findEqual(scope: string, content: string): Promise<Entry | undefined>
  /** The most frequent first. */
  topics(where?: Where): Promise<readonly TopicCount[]>
  /** Answers the id of the new entry. */
  add(entry: {
    readonly scope: string
    readonly content: string
    readonly topics?: readonly string[]
    readonly body?: Entry['body']
    /** For a line in a log: it goes after this time, equal ones stay beside it, and it is not looked up by words. */
    readonly expiresInMs?: number
  }): string
  /** Keeps the old entry for audit and puts a new one in its place, whose id it answers. */
  supersede(entry: Entry, change: { readonly content: string }): string
  /** Unites topics into an entry that is there. */
  amend(entry: Entry, change: { readonly topics: readonly string[] }): void
  forget(entry: Entry, reason?: string): void
}

export interface EntryStoreFacts extends Held, Pick<GatewayDeps, 'store' | 'tenant' | 'clock' | 'ids'> {
  /** The kind of the provider: what others keep is not seen. */
  readonly collection: string
  readonly reads: readonly Reach[]
  readonly writes: readonly Reach[]
  readonly source: ResourceToolContext['run']
}

/** The handle for one call, what it has staged, and every scope that went through it. After `end` it gives nothing any more. */
export function openEntryStore(facts: EntryStoreFacts) {
  const { store, tenant, collection, reads } = facts
  const staged: Change[] = []
  const touched = new Set<string>()
  let isOver = false
  const demand = (scope: string, directions: readonly Reach[]): void => {
    if (isOver || !reaches(facts, directions, scope)) throw scopeDenied(scope)
    touched.add(scope)
  }
  const areas = (where: Where): readonly Area[] => {
    const found = areasOf(facts, where)
    for (const { scope } of found) demand(scope, reads)
    return found
  }
  /** What was found, as far as it may be seen. */
  const seen = (found: StoredEntry | undefined): Entry[] => {
    if (found === undefined || found.state === 'forgotten' || isOver || !reaches(facts, reads, found.scope)) return []
    touched.add(found.scope)
    return [entryOf(found)]
  }
  const stage = (scope: string, change: Change): void => {
    demand(scope, facts.writes)
    staged.push(change)
  }
  const handle: EntryStore = {
    scopes: Object.freeze(namedScopes(facts, reads)),
    find: async ({ topics = [], words = '', limit, cursor, ...where } = {}) => {
      const search = { areas: areas(where), topics, words: wordsOf(words), nowMs: facts.clock.now() }
      const page = defined({ limit, cursor })
      const { items, ...more } = await store.read(() => findEntries(tenant, collection, search, page))
      return { entries: items.flatMap(seen), ...more }
    },
    get: async (id) => seen(await store.read(() => findEntry(tenant, { collection, entry_id: id })))[0],
    findEqual: async (scope, content) => {
      demand(scope, reads)
      const place = { collection, scope, content_hash: contentHash(content) }
      return seen(await store.read(() => findEqualEntry(tenant, place)))[0]
    },
    topics: async (where = {}) => {
      const asked = areas(where)
      return store.read(() => topicsIn(tenant, collection, asked))
    },
    add: (entry) => {
      const made = newEntry(facts, entry)
      stage(made.scope, addEntry(made, stepOf(facts, 'stored')))
      return made.entry_id
    },
    supersede: ({ id, scope }, { content }) => {
      const made = newEntry(facts, { scope, content })
      stage(scope, supersedeEntry({ collection, entry_id: id, scope }, made, stepOf(facts, 'superseded')))
      return made.entry_id
    },
    amend: ({ id, scope }, { topics }) => {
      const step = stepOf(facts, 'deduplicated')
      stage(scope, amendEntry({ collection, entry_id: id, scope }, checkedTopics(topics), step))
    },
    forget: ({ id, scope }, reason) => {
      const step = { ...stepOf(facts, 'forgotten'), ...defined({ reason }) }
      stage(scope, forgetEntry({ collection, entry_id: id, scope }, step))
    },
  }
  const end = (): void => {
    isOver = true
  }
  return { handle: Object.freeze(handle), changes: () => [...staged], touched: () => [...touched], end }
}

/** What a query asks for, without an area that lies in another. */
function areasOf(facts: EntryStoreFacts, { scopes, below = scopes === undefined }: Where): readonly Area[] {
  const { reads, grants } = facts
  const isDown = (scope: string): boolean => reads.includes('down') && grants.some((grant) => covers(grant, scope))
  const named = [...new Set(scopes ?? namedScopes(facts, reads))]
  const areas = named.map((scope) => ({ scope, below: below && isDown(scope) }))
  return areas.filter(
    ({ scope }) => !areas.some((each) => each.below && each.scope !== scope && covers(each.scope, scope)),
  )
}

const scopeDenied = (scope: string): Failure =>
  new Failure('resource.scope_denied', 'the scope is not covered by a grant', { scope })

function newEntry(facts: EntryStoreFacts, entry: Parameters<EntryStore['add']>[0]): NewEntry {
  const { scope, content, topics = [], body = {}, expiresInMs } = entry
  const now = facts.clock.now()
  const own = JSON.stringify(body)
  if (!isStorable(content)) throw new Failure('memory.content_invalid', 'the content is no text')
  if (Math.max(Buffer.byteLength(content), Buffer.byteLength(own)) > limits.scratchpadEntryBytesMax)
    throw new Failure('memory.too_large', `an entry has at most ${limits.scratchpadEntryBytesMax} bytes`)
  assert(expiresInMs === undefined || Number.isSafeInteger(expiresInMs), 'a time is in whole milliseconds')
  return {
    collection: facts.collection,
    entry_id: facts.ids.next('mem'),
    scope,
    content,
    content_hash: expiresInMs === undefined ? contentHash(content) : null,
    topics: checkedTopics(topics).slice(0, limits.entryTopicsMax),
    body: JSON.parse(own),
    agent_id: facts.source.agentId,
    run_id: facts.source.runId,
    created_at: formatTime(now),
    expires_at_ms: expiresInMs === undefined ? null : now + expiresInMs,
  }
}

function checkedTopics(topics: readonly string[]): string[] {
  if (topics.some((topic) => topic === '' || topic.length > limits.entryTopicCharsMax || !isStorable(topic)))
    throw new Failure('memory.content_invalid', `a topic is text of 1 to ${limits.entryTopicCharsMax} characters`)
  return [...new Set(topics)]
}

/** Whether every database keeps the text as it is. */
export const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed()

/** Equal are texts that differ in nothing but white space and how their letters are put together. */
function contentHash(content: string): string {
  const text = content.normalize('NFC').replace(/[\p{White_Space}\ufeff]+/gu, ' ')
  return sha256(text.trim())
}

/** Who did it: what an auditor finds the call and its evidence by. */
function stepOf({ clock, source }: EntryStoreFacts, action: EntryStep['action']): EntryStep {
  const { subject, agentId, runId, rootId, toolCallId } = source
  const by = { subject: subject.id, agent_id: agentId, run_id: runId, root_run_id: rootId, tool_call_id: toolCallId }
  return { action, at: formatTime(clock.now()), ...by }
}

const entryOf = (stored: StoredEntry): Entry => ({
  id: stored.entry_id,
  scope: stored.scope,
  content: stored.content,
  topics: stored.topics,
  body: stored.body as Entry['body'],
  createdAt: stored.created_at,
  updatedAt: stored.updated_at,
  source: { agentId: stored.agent_id, runId: stored.run_id },
  ...(stored.replaced_by !== null && { replacedBy: stored.replaced_by }),
})

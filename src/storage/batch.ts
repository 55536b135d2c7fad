import type { EventDraft, Seal, SealedEvent } from '../model/evidence.ts'
import type { TenantId } from '../model/identity/tenant-id.ts'
import type { Chain, knownChains, Unsure } from './chain.ts'
import { addBesides, askEnd, eventRow, isEnd, noteTime, readChains, recallChains, unsureOf } from './chain.ts'
import { type Database, Duplicate } from './database.ts'
import { events as eventsTable } from './schema.ts'
import type { Commit, Committed } from './store.ts'
import { noteEvent } from './tables/sections.ts'
import type { Row, Statement, Value, Work } from './work.ts'

/** One of the commits that share a transaction. */
export interface BatchCommit {
  readonly tenant: TenantId
  readonly commit: Partial<Commit<unknown>>
  readonly drafts: readonly EventDraft[]
  readonly opens: string | undefined
}

type Batch = readonly BatchCommit[]
type Chains = ReadonlyMap<TenantId, Chain>
type Cells = readonly (readonly Value[])[]
type Answers = readonly (readonly Row[])[]

/** Where commits go, and what is known of it. */
export interface Place {
  readonly database: Database
  readonly known: ReturnType<typeof knownChains>
}

export const forgetAll = ({ known }: Place, batch: Batch): void => {
  for (const { tenant } of batch) known.forget(tenant)
}

export interface Progress {
  /** Whose own change or seal is under way, by place in the batch. */
  at?: number | undefined
  /** Whether a chain was taken from memory. */
  remembered: boolean
  /** Whether chains may have been changed that are not committed yet. */
  sealing: boolean
}

export interface Done {
  readonly committed: readonly Committed<unknown>[]
  readonly chains: Chains
}

/**
 * The changes of a batch in order, and its events behind the last ones of their chains. What is remembered of a chain is
 * not read, so that the events are sealed before anything is asked of the database; the last changes of one statement
 * each travel with them. Should one of those be refused, the chain has to be forgotten.
 */
export function* commitBatch(batch: Batch, progress: Progress, place: Place): Work<Done> {
  // The database asks for it once more: what was sealed the first time is not there.
  if (progress.sealing) forgetAll(place, batch)
  const values: unknown[] = []
  const firstTravelling = batch.findLastIndex((each) => !isSingle(each)) + 1
  if (firstTravelling > 0) yield* makeChanges(batch, firstTravelling, values, progress)
  progress.sealing = true
  const recalled = recallChains(batch, place.known)
  if (recalled.unread.size > 0) yield* readChains(recalled)
  const { chains } = recalled
  for (const chain of chains.values()) progress.remembered ||= chain.remembered
  const { events, rows } = sealAll(batch, chains, progress)
  const answers = yield* writeAll(place.database, chains, rows, statementsOf(batch, firstTravelling, batch.length))
  readAnswers(batch, batch.length, answers, values, progress)
  return { committed: events.map((sealed, index) => ({ value: values[index], events: sealed })), chains }
}

/** Whether a commit changes nothing, or by one statement. What takes events away does so before any are sealed. */
const isSingle = ({ commit: { change } }: BatchCommit): boolean =>
  change === undefined || (change.single !== undefined && !change.forgets)

/** The changes before a place, one after the other; those next to each other that are one statement travel together. */
function* makeChanges(batch: Batch, end: number, values: unknown[], progress: Progress): Work<void> {
  while (values.length < end) {
    let next = values.length
    while (next < end && isSingle(batch[next] as BatchCommit)) next++
    const statements = statementsOf(batch, values.length, next)
    readAnswers(batch, next, statements.length > 0 ? yield statements : [], values, progress)
    if (next === end) return
    const { tenant, commit } = batch[next] as BatchCommit
    progress.at = next
    values.push(commit.change && (yield* commit.change(tenant)))
    progress.at = undefined
  }
}

function statementsOf(batch: Batch, from: number, end: number): Statement[] {
  const statements: Statement[] = []
  for (let at = from; at < end; at++) {
    const { tenant, commit } = batch[at] as BatchCommit
    if (commit.change?.single !== undefined) statements.push(commit.change.single.statement(tenant))
  }
  return statements
}

/** Adds the values of changes of one statement up to a place. Whose answer it is that fails is known: it is theirs alone. */
function readAnswers(batch: Batch, end: number, answers: Answers, values: unknown[], progress: Progress): void {
  let next = 0
  for (let at = values.length; at < end; at++) {
    const single = batch[at]?.commit.change?.single
    progress.at = at
    values.push(single?.read(answers[next] ?? []))
    if (single !== undefined) next++
  }
  progress.at = undefined
}

function sealAll(batch: Batch, chains: Chains, progress: Progress) {
  const events: (readonly SealedEvent[])[] = []
  const rows: (readonly Value[])[] = []
  for (const { tenant, commit, drafts } of batch) {
    progress.at = events.length
    const chain = chains.get(tenant)
    const sealed = commit.seal !== undefined && chain !== undefined ? sealInto(chain, drafts, commit.seal) : []
    for (const event of sealed) rows.push(eventRow(tenant, event))
    events.push(sealed)
  }
  progress.at = undefined
  return { events, rows }
}

/** Writes changes and events, and makes sure that the events continue what is there. Answers what the changes say. */
function* writeAll({ version }: Database, chains: Chains, rows: Cells, statements: Statement[]): Work<Answers> {
  if (rows.length > 0) statements.push({ into: eventsTable, rows })
  for (const [tenant, chain] of chains) addBesides(statements, tenant, chain)
  const written = statements.length
  // If the store cannot tell whether others have written, the same trip asks for the ends of the chains.
  const asked = version === undefined ? unsureOf(chains, undefined) : []
  for (const unsure of asked) statements.push(askEnd(unsure))
  const answers = yield statements
  checkEnds(asked, answers, written)
  if (rows.length === 0 || version === undefined) return answers
  const seen = version()
  const unsure = unsureOf(chains, seen)
  if (unsure.length > 0) checkEnds(unsure, yield unsure.map(askEnd))
  for (const chain of chains.values()) chain.seen = seen
  return answers
}

/** What was built on is not the end any more: as with a number that is taken, the chain has to be read. */
function checkEnds(unsure: readonly Unsure[], answers: Answers, from = 0): void {
  if (!unsure.every((each, index) => isEnd(each, answers[from + index]))) throw new Duplicate()
}

function sealInto(chain: Chain, drafts: readonly EventDraft[], seal: Seal): readonly SealedEvent[] {
  const sealed = seal(drafts, chain)
  if (sealed.length !== drafts.length) throw new Error('the seal function left an event out')
  for (const event of sealed) {
    if (event.sequence !== ++chain.sequence) throw new Error('the seal function did not take the next sequence')
    chain.hash = event.contentHash
    chain.tails.set(event.correlationId, event.contentHash)
    noteTime(chain, event.timestamp)
    noteEvent(chain.sections, event)
  }
  return sealed
}

import { Failure, quote } from '../../base/failure.ts'
import { defined } from '../../base/object.ts'
import { formatTime } from '../../base/time.ts'
import { entriesDigest, reasonDigest, scopeDigest } from '../../evidence/digests.ts'
import { demandRoot } from '../../grants/mint.ts'
import { parseGrant } from '../../grants/parse.ts'
import type { MemoryEntry, StoredEntry } from '../../model/requests.ts'
import type { InputOf } from '../../operations/operation.ts'
import type { operations } from '../../operations/table.ts'
import { findEntry, forgetEntry, listEntries, stepsOf } from '../../storage/entries/entries.ts'
import { administer } from '../identity/admin.ts'
import { tenantOf } from '../identity/tenants.ts'
import { rootsFor } from '../loop/authority.ts'
import type { OperationContext } from '../operations/context.ts'

type EntryName = InputOf<typeof operations.memory.read>

export async function listMemory(
  context: OperationContext,
  { scope, collection = 'memory', limit, cursor }: InputOf<typeof operations.memory.list>,
) {
  const { ambit, caller } = context
  await demandScope(context, scope)
  const page = defined({ limit, cursor })
  const { items, ...more } = await ambit.store.read(() => listEntries(caller.tenant, { collection, scope }, page))
  return { entries: items as MemoryEntry[], ...more }
}

export async function readMemory(context: OperationContext, name: EntryName): Promise<MemoryEntry> {
  const { ambit, caller } = context
  const entry = await entryNamed(context, name)
  const history = await ambit.store.read(() => stepsOf(caller.tenant, entry))
  return { ...entry, history } as unknown as MemoryEntry
}

export async function forgetMemory(
  context: OperationContext,
  { reason = '', ...name }: InputOf<typeof operations.memory.forget>,
): Promise<MemoryEntry> {
  const { ambit, caller } = context
  const entry = await entryNamed(context, name)
  const { id } = name
  if (entry.state === 'superseded') throw new Failure('memory.superseded', `entry ${quote(id)} was superseded`, { id })
  const digest = await ambit.keyring.digest((await tenantOf(ambit, caller)).host_id)
  const payload = {
    entry: entriesDigest(digest, [nameOf(entry)]),
    scope: scopeDigest(digest, entry.scope),
    reason: reasonDigest(digest, reason),
  }
  const step = { action: 'forgotten' as const, at: formatTime(ambit.clock.now()), subject: caller.subject.id, reason }
  await administer(ambit, caller, 'ambit.memory.forgotten', payload, forgetEntry(entry, step))
  return readMemory(context, name)
}

/** The entry of this id, which counts as missing where it lies outside the roots of the caller's tenant. */
async function entryNamed(context: OperationContext, { id, collection = 'memory' }: EntryName): Promise<StoredEntry> {
  const { ambit, caller } = context
  const entry = await ambit.store.read(() => findEntry(caller.tenant, { collection, entry_id: id }))
  if (entry === undefined) throw new Failure('memory.not_found', `entry ${quote(id)} is not there`, { id })
  await demandScope(context, entry.scope)
  return entry
}

/** Refuses a scope that is no path, or that lies outside the roots of the caller's tenant. */
export async function demandScope({ ambit, caller, served }: OperationContext, scope: string): Promise<void> {
  const { roots } = await tenantOf(ambit, caller)
  demandRoot(parseGrant(scope), rootsFor(caller.tenant, roots, served !== true))
}

/** What the digest of an entry is made of. */
export const nameOf = ({ collection, entry_id }: StoredEntry): string => `${collection}/${entry_id}`

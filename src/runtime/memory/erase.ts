import { formatTime } from '../../base/time.ts'
import { entriesDigest, reasonDigest, scopeDigest } from '../../evidence/digests.ts'
import { FactsChanged } from '../../gateway/events.ts'
import type { EraseReceipt, StoredEntry } from '../../model/requests.ts'
import type { Provider } from '../../resources/define.ts'
import type { EraseRequest } from '../../resources/provider.ts'
import { entriesWithin, removeEntries } from '../../storage/entries/entries.ts'
import { eraseFacts } from '../../storage/tables/runs/facts.ts'
import type { Change } from '../../storage/work.ts'
import { recordAs, untilUnchanged } from '../evidence/record.ts'
import { adminEvent } from '../identity/admin.ts'
import type { Caller } from '../identity/caller.ts'
import type { OperationContext } from '../operations/context.ts'
import { demandScope, nameOf } from './entries.ts'

type EraseWish = Omit<EraseRequest, 'tenantId'> & { readonly reason: string }

type Counts = Readonly<Record<string, number>>

/**
 * Removes what every provider keeps in a scope, in our store with its history and index, and in stores of their own. What
 * goes from ours and the event that records it are one transaction.
 */
export async function eraseScope(context: OperationContext, wish: EraseWish): Promise<EraseReceipt> {
  const { ambit, caller } = context
  await demandScope(context, wish.scope)
  const { hostId: host_id, runs } = await context.host()
  const providers = [...runs.agents().providers.values()]
  const digest = await ambit.keyring.digest(host_id)
  const { counts, failed } = await eraseElsewhere(caller, providers, wish)
  return untilUnchanged('the scope', async () => {
    const found = await ambit.store.read(() => entriesWithin(caller.tenant, wish))
    const erased = {
      receipt_id: ambit.ids.next('rcpt'),
      recursive: wish.recursive,
      status: failed.length === 0 ? ('complete' as const) : ('partial' as const),
      by_resource: countAll(found, counts),
      failed: [...failed],
      ids_digest: entriesDigest(digest, found.map(nameOf)),
    }
    const payload = { ...erased, scope: scopeDigest(digest, wish.scope), reason: reasonDigest(digest, wish.reason) }
    const event = { ...adminEvent(host_id, 'ambit.scope.erased', payload), redacted: true }
    const at = formatTime(ambit.clock.now())
    const { events } = await recordAs(ambit, caller, host_id, [event], removeThese(found, wish))
    const [{ eventId: evidence_ref = '' } = {}] = events
    return { ...erased, tenant_id: caller.tenant, scope: wish.scope, by: caller.subject.id, at, evidence_ref }
  })
}

const removeThese = (expected: readonly StoredEntry[], wish: EraseWish): Change<void> =>
  function* (tenant) {
    const found = yield* entriesWithin(tenant, { ...wish, locked: true })
    if (found.map(nameOf).join() !== expected.map(nameOf).join()) throw new FactsChanged()
    yield* removeEntries(tenant, found)
    yield* eraseFacts(tenant, wish.scope)
  }

async function eraseElsewhere({ tenant }: Caller, providers: readonly Provider[], { scope, recursive }: EraseWish) {
  const counts = new Map<string, Counts>()
  const failed: string[] = []
  for (const { kind, erase } of providers)
    try {
      counts.set(kind, numbersIn((await erase?.({ tenantId: tenant, scope, recursive })) ?? {}))
    } catch {
      failed.push(kind)
    }
  return { counts, failed }
}

/** What a provider counts goes into evidence: numbers alone. */
const numbersIn = (counts: Counts): Counts =>
  Object.fromEntries(Object.entries(counts).filter(([, count]) => Number.isSafeInteger(count) && count >= 0))

function countAll(found: readonly StoredEntry[], elsewhere: ReadonlyMap<string, Counts>): Record<string, Counts> {
  const ours = Map.groupBy(found, ({ collection }) => collection)
  const counts = [...new Set([...elsewhere.keys(), ...ours.keys()])].map((kind) => {
    const inside = ours.get(kind) ?? []
    const entries = inside.filter(({ state }) => state === 'active').length
    return [kind, { ...elsewhere.get(kind), entries, history: inside.length - entries }]
  })
  return Object.fromEntries(counts)
}

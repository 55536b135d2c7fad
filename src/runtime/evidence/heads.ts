import { Failure } from '../../base/failure.ts'
import { type Clock, formatTime } from '../../base/time.ts'
import { checkpointHash, signCheckpoint } from '../../evidence/checkpoint.ts'
import { logRoot } from '../../evidence/log.ts'
import { revocationHead } from '../../evidence/statements/witness.ts'
import type { FileRoot } from '../../files/root.ts'
import type { Keyring } from '../../keys/keyring.ts'
import type { Checkpoint, Leaf } from '../../model/evidence.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import type { MandateRevocation } from '../../model/wire/mandate.ts'
import { allPages } from '../../storage/page.ts'
import type { Store } from '../../storage/store.ts'
import { addCheckpoint, lastCheckpoint } from '../../storage/tables/checkpoints.ts'
import { lastSequence } from '../../storage/tables/events.ts'
import { listStatements } from '../../storage/tables/statements.ts'
import { getTenant } from '../../storage/tables/tenants.ts'
import type { Work } from '../../storage/work.ts'
import { checkHeads } from './check-heads.ts'
import { headFile } from './head-file.ts'
import { type Expectation, logStart, openUnsignedEvents, replayLog, type UnsignedEvents } from './log.ts'

/** Keeps signed heads of every tenant's log in files outside the store, so that a cut or rewritten store is detected. */
export interface Heads {
  /** To be called after every commit: after enough events, or enough time, a head is signed in the background. */
  noteEvents(tenant: TenantId, events: readonly Leaf[]): void
  /** Signs the head as it is now, and keeps it in the store and in the file. Null while the tenant has no events. */
  checkpoint(tenant: TenantId): Promise<Checkpoint | null>
  /** The newest head in the file, as far as this process knows. */
  newest(tenant: TenantId): Checkpoint | undefined
  /** What the store must hold of this process's own events; nothing, for a store in memory. */
  expect(tenant: TenantId): Expectation
  /** Signs all that is still unsigned, also what failed in the background, and stops the timer. */
  close(): Promise<void>
}

export interface HeadsDeps {
  readonly store: Store
  readonly keyring: Keyring
  readonly clock: Clock
  /** Undefined for a store in memory: its heads are signed on request only. */
  readonly files: FileRoot | undefined
  readonly everyEvents: number
  readonly everyMs: number
}

/** Checks the store against every head first: one that disagrees is `head.mismatch`. */
export async function openHeads(deps: HeadsDeps): Promise<Heads> {
  const { files } = deps
  const inFile = files === undefined ? new Map<TenantId, Checkpoint>() : await checkHeads({ ...deps, files })
  const known: Known = { inFile, unfiled: new Map(), unsigned: openUnsignedEvents() }
  const counts = new Map<TenantId, number>()
  let tail: Promise<unknown> = Promise.resolve()

  const checkpoint = (tenant: TenantId): Promise<Checkpoint | null> => {
    counts.delete(tenant)
    const signed = tail.then(() => sign(deps, known, tenant))
    tail = signed.catch(() => counts.set(tenant, counts.get(tenant) ?? 0))
    return signed
  }
  // A failure leaves the events unsigned: it is tried again later, at the latest by `close`, which reports the reason.
  const inBackground = (tenant: TenantId): void => void checkpoint(tenant).catch(() => undefined)
  const everyMs = Math.min(deps.everyMs, timerMsMax)
  const timer = setInterval(() => [...counts.keys()].forEach(inBackground), everyMs).unref()
  return {
    checkpoint,
    newest: (tenant) => inFile.get(tenant),
    expect: (tenant) => known.unsigned.expect(tenant),
    noteEvents: (tenant, events) => {
      if (files === undefined) return
      known.unsigned.note(tenant, events)
      const count = (counts.get(tenant) ?? 0) + events.length
      counts.set(tenant, count)
      if (count >= deps.everyEvents) inBackground(tenant)
    },
    close: async () => {
      clearInterval(timer)
      await tail
      const ends = await Promise.allSettled([...counts.keys()].map(checkpoint))
      for (const end of ends) if (end.status === 'rejected') throw end.reason
    },
  }
}

// A timer that is set for longer fires at once, again and again.
const timerMsMax = 2 ** 31 - 1
const attemptsMax = 5

/** What this process knows of the head files. */
interface Known {
  readonly inFile: Map<TenantId, Checkpoint>
  /** Heads that are in the store and not yet in their file. */
  readonly unfiled: Map<TenantId, Checkpoint>
  readonly unsigned: UnsignedEvents
}

async function sign(deps: HeadsDeps, known: Known, tenant: TenantId): Promise<Checkpoint | null> {
  for (let attempt = 1; ; attempt++) {
    try {
      await fileHead(deps, known, tenant)
      const head = await signOnce(deps, known, tenant)
      await fileHead(deps, known, tenant)
      return head
    } catch (error) {
      const lost = error instanceof Failure && error.code === 'head.conflict'
      if (!lost || attempt === attemptsMax) throw error
    }
  }
}

async function fileHead({ files }: HeadsDeps, { inFile, unfiled }: Known, tenant: TenantId): Promise<void> {
  const head = unfiled.get(tenant)
  if (head === undefined) return
  await files?.append(headFile(tenant), JSON.stringify(head))
  unfiled.delete(tenant)
  inFile.set(tenant, head)
}

async function signOnce(deps: HeadsDeps, { unfiled, unsigned }: Known, tenant: TenantId): Promise<Checkpoint | null> {
  const { store, keyring, clock } = deps
  const expected = unsigned.expect(tenant)
  const { host_id, size, last, revoked } = await store.read(function* () {
    const { host_id } = yield* getTenant(tenant)
    const size = yield* lastSequence(tenant)
    return { host_id, size, last: yield* lastCheckpoint(tenant), revoked: yield* revokedMandates(tenant) }
  })
  const prev = last === undefined ? null : (JSON.parse(last.body) as Checkpoint)
  const from = last === undefined ? logStart : { size: last.logSize, log: last.log }
  expected.checkSize(size)
  // A head that another process signed is checked against the events that this one wrote.
  await expected.checkUpTo(store, from.size)
  const { log } = await replayLog(store, tenant, from, size, expected.check)
  if (size === from.size) {
    expected.forgetUpTo(size)
    return prev
  }
  // Taken before the key is read: a key that is replaced meanwhile has not signed later than that.
  const at = formatTime(clock.now())
  const { signer, keys } = await keyring.signing(host_id)
  const revocation_head = revocationHead(revoked, keys.revoked)
  const fields = {
    host_id,
    log_size: size,
    log_root: logRoot(log),
    sequence: size,
    store_head: null,
    revocation_head,
    at,
  }
  const signed = signCheckpoint(fields, prev, signer)
  const kept = { logSize: size, log, hash: checkpointHash(signed), body: JSON.stringify(signed) }
  await store.write(tenant, addCheckpoint(kept, last?.hash ?? null))
  unfiled.set(tenant, signed)
  expected.forgetUpTo(size)
  return signed
}

/** The revocations of mandates that a tenant keeps. */
export function* revokedMandates(tenant: TenantId): Work<readonly MandateRevocation[]> {
  const found = yield* allPages((options) => listStatements(tenant, 'revocation', options))
  return found.map(({ body }) => JSON.parse(body) as MandateRevocation)
}

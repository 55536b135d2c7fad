import { Failure } from '../../base/failure.ts'
import { type Clock, formatTime } from '../../base/time.ts'
import { checkpointHash, signCheckpoint, verifyCheckpoint } from '../../evidence/checkpoint.ts'
import { logRoot } from '../../evidence/log.ts'
import { revocationHead } from '../../evidence/statements/witness.ts'
import type { FileRoot } from '../../files/root.ts'
import type { PublicKeys } from '../../keys/key-file.ts'
import { everyKeyOf, type Keyring } from '../../keys/keyring.ts'
import type { Checkpoint, Leaf } from '../../model/evidence.ts'
import { type TenantId, tenantId } from '../../model/identity/tenant-id.ts'
import { allPages } from '../../storage/page.ts'
import type { Store } from '../../storage/store.ts'
import { addCheckpoint, checkpointAt, lastCheckpoint } from '../../storage/tables/checkpoints.ts'
import { lastSequence } from '../../storage/tables/events.ts'
import { revokedMandates } from '../../storage/tables/statements.ts'
import { getTenant, listTenants } from '../../storage/tables/tenants.ts'
import { headFile, newestHead, tenantsWithHeads } from './head-file.ts'
import { mismatch, openUnsignedEvents, replayLog } from './log.ts'

export type Heads = Awaited<ReturnType<typeof openHeads>>

interface HeadsDeps {
  readonly store: Store
  readonly keyring: Keyring
  readonly clock: Clock
  /** Undefined for a store in memory: its heads are signed on request only. */
  readonly files: FileRoot | undefined
  readonly everyEvents: number
  readonly everyMs: number
}

/**
 * Keeps signed heads of every tenant's log in files outside the store, so that a cut or rewritten store is detected. Checks
 * the store against every head first: one that disagrees is `head.mismatch`.
 */
export async function openHeads(deps: HeadsDeps) {
  const { files } = deps
  const inFile = files === undefined ? new Map<TenantId, Checkpoint>() : await checkHeads(deps, files)
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
    /** Signs the head as it is now, and keeps it in the store and in the file. Null while the tenant has no events. */
    checkpoint,
    /** The newest head in the file, as far as this process knows. */
    newest: (tenant: TenantId) => inFile.get(tenant),
    /** What the store must hold of this process's own events; nothing, for a store in memory. */
    expect: (tenant: TenantId) => known.unsigned.expect(tenant),
    /** To be called after every commit: after enough events, or enough time, a head is signed in the background. */
    noteEvents: (tenant: TenantId, events: readonly Leaf[]): void => {
      if (files === undefined) return
      known.unsigned.note(tenant, events)
      const count = (counts.get(tenant) ?? 0) + events.length
      counts.set(tenant, count)
      if (count >= deps.everyEvents) inBackground(tenant)
    },
    /** Signs all that is still unsigned, also what failed in the background, and stops the timer. */
    close: async (): Promise<void> => {
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
  readonly unsigned: ReturnType<typeof openUnsignedEvents>
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
    return { ...(yield* readEnd(tenant)), revoked: yield* revokedMandates(tenant) }
  })
  const prev = last === undefined ? null : (JSON.parse(last.body) as Checkpoint)
  const { logSize: signedSize = 0, log: signedLog = '' } = last ?? {}
  expected.checkSize(size)
  // A head that another process signed is checked against the events that this one wrote.
  await expected.checkUpTo(store, signedSize)
  const log = await replayLog(store, tenant, signedLog, size, expected.check)
  if (size === signedSize) {
    expected.forgetUpTo(size)
    return prev
  }
  // Taken before the key is read: a key that is replaced meanwhile has not signed later than that.
  const at = formatTime(clock.now())
  const { signer, keys } = await keyring.signing(host_id)
  const revocation_head = revocationHead(revoked, keys.revoked)
  const counted = { log_size: size, log_root: logRoot(log), sequence: size }
  const signed = signCheckpoint({ host_id, ...counted, store_head: null, revocation_head, at }, prev, signer)
  const kept = { logSize: size, log, hash: checkpointHash(signed), body: JSON.stringify(signed) }
  await store.write(tenant, addCheckpoint(kept, last?.hash ?? null))
  unfiled.set(tenant, signed)
  expected.forgetUpTo(size)
  return signed
}

/** How far a tenant's records go, and the newest head in the store. */
function* readEnd(tenant: TenantId) {
  const { host_id } = yield* getTenant(tenant)
  return { host_id, size: yield* lastSequence(tenant), last: yield* lastCheckpoint(tenant) }
}

/** Holds the store against the newest head of every tenant, and looks for gaps since. Answers the newest heads. */
async function checkHeads(deps: HeadsDeps, files: FileRoot): Promise<Map<TenantId, Checkpoint>> {
  const tenants = await deps.store.read(() => allPages(listTenants))
  const known = new Set(tenants.map((tenant) => tenantId(tenant.tenant_id)))
  for (const tenant of await tenantsWithHeads(files))
    if (!known.has(tenant)) throw mismatch(tenant, 'the store does not have this tenant any more')
  const heads = new Map<TenantId, Checkpoint>()
  for (const tenant of known) {
    const head = await checkTenant(deps, files, tenant)
    if (head !== undefined) heads.set(tenant, head)
  }
  return heads
}

async function checkTenant({ store, keyring }: HeadsDeps, files: FileRoot, tenant: TenantId) {
  const input = await newestHead(files, tenant)
  const { host_id, size, last } = await store.read(() => readEnd(tenant))
  if (input === undefined && last !== undefined) throw mismatch(tenant, 'its file of signed heads is gone')
  const keys = await keyring.publicKeys(host_id)
  const head = input === undefined ? undefined : goodHead(tenant, input, keys)
  await replayLog(store, tenant, head === undefined ? '' : await logAt(store, tenant, head, size), size)
  return head
}

/** A head under a key of the host; any other is `head.mismatch`. */
export function goodHead(tenant: TenantId, input: unknown, keys: PublicKeys): Checkpoint {
  const head = verifyCheckpoint(input, everyKeyOf(keys))
  if (head.ok) return head.value
  throw mismatch(tenant, `its last head is not good: ${head.message}`)
}

/** The log when the head was signed; the root is signed, so what the store says of it can be believed. */
async function logAt(store: Store, tenant: TenantId, head: Checkpoint, sequence: number): Promise<string> {
  const { log_size: size, log_root } = head
  if (sequence < size) throw mismatch(tenant, `the store ends at event ${sequence}, a head was signed at ${size}`)
  const kept = await store.read(() => checkpointAt(tenant, size))
  if (kept?.hash !== checkpointHash(head) || logRoot(kept.log) !== log_root)
    throw mismatch(tenant, `the store does not know the head signed at event ${size}`)
  return kept.log
}

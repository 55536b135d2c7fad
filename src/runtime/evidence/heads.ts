import { Failure } from '../../base/failure.ts'
import { type Clock, formatTime } from '../../base/time.ts'
import { checkpointHash, signCheckpoint } from '../../evidence/checkpoint.ts'
import { logRoot } from '../../evidence/log.ts'
import type { FileRoot } from '../../files/root.ts'
import type { Keyring } from '../../keys/keyring.ts'
import type { Checkpoint, Leaf } from '../../model/evidence.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import type { Store } from '../../storage/store.ts'
import { addCheckpoint, lastCheckpoint } from '../../storage/tables/checkpoints.ts'
import { lastSequence } from '../../storage/tables/events.ts'
import { getTenant } from '../../storage/tables/tenants.ts'
import { checkHeads } from './check-heads.ts'
import { headFile } from './head-file.ts'
import { logStart, replayLog } from './replay-log.ts'
import { headOfRevoked, revokedMandates } from './revoked.ts'
import { type Expectation, openWritten, type Written } from './written.ts'

/** Keeps signed heads of every tenant's log in files outside the store, so that a store cut or rewritten is found out. */
export interface Heads {
  /** To be told of every commit: after enough events, or enough time, a head is signed in the background. */
  grew(tenant: TenantId, events: readonly Leaf[]): void
  /** Signs the head as it is now, and keeps it in the store and in the file. Null while the tenant has no events. */
  checkpoint(tenant: TenantId): Promise<Checkpoint | null>
  /** The newest head that is in the file, as far as this process knows. */
  newest(tenant: TenantId): Checkpoint | undefined
  /** What the store must hold of what this process wrote; nothing, for one that ends with the process. */
  expect(tenant: TenantId): Expectation
  /** Signs what is still unsigned, and what could not be signed in the background, and ends the clockwork. */
  close(): Promise<void>
}

export interface HeadsDeps {
  readonly store: Store
  readonly keyring: Keyring
  readonly clock: Clock
  /** Undefined for a store that ends with the process: its heads have nothing to be held against, and are signed when asked for. */
  readonly files: FileRoot | undefined
  readonly everyEvents: number
  readonly everyMs: number
}

/** Checks the store against every head first: one that disagrees is `head.mismatch`. */
export async function openHeads(deps: HeadsDeps): Promise<Heads> {
  const { files } = deps
  const inFile = files === undefined ? new Map<TenantId, Checkpoint>() : await checkHeads({ ...deps, files })
  const known: Known = { inFile, owed: new Map(), written: openWritten() }
  const unsigned = new Map<TenantId, number>()
  let tail: Promise<unknown> = Promise.resolve()

  const checkpoint = (tenant: TenantId): Promise<Checkpoint | null> => {
    unsigned.delete(tenant)
    const signed = tail.then(() => sign(deps, known, tenant))
    tail = signed.catch(() => unsigned.set(tenant, unsigned.get(tenant) ?? 0))
    return signed
  }
  // What fails stays unsigned: it is tried again later, and at the latest by `close`, which then says why.
  const inBackground = (tenant: TenantId): void => void checkpoint(tenant).catch(() => undefined)
  const everyMs = Math.min(deps.everyMs, timerMsMax)
  const timer = setInterval(() => [...unsigned.keys()].forEach(inBackground), everyMs).unref()
  return {
    checkpoint,
    newest: (tenant) => inFile.get(tenant),
    expect: (tenant) => known.written.expect(tenant),
    grew: (tenant, events) => {
      // What ends with the process needs no heads until somebody asks for one.
      if (files === undefined) return
      known.written.note(tenant, events)
      const count = (unsigned.get(tenant) ?? 0) + events.length
      unsigned.set(tenant, count)
      if (count >= deps.everyEvents) inBackground(tenant)
    },
    close: async () => {
      clearInterval(timer)
      await tail
      const ends = await Promise.allSettled([...unsigned.keys()].map(checkpoint))
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
  /** Heads that are in the store and could not be appended to their file yet. */
  readonly owed: Map<TenantId, Checkpoint>
  readonly written: Written
}

async function sign(deps: HeadsDeps, known: Known, tenant: TenantId): Promise<Checkpoint | null> {
  for (let attempt = 1; ; attempt++) {
    try {
      await payUp(deps, known, tenant)
      const head = await signOnce(deps, known, tenant)
      await payUp(deps, known, tenant)
      return head
    } catch (error) {
      const lost = error instanceof Failure && error.code === 'head.conflict'
      if (!lost || attempt === attemptsMax) throw error
    }
  }
}

async function payUp({ files }: HeadsDeps, { inFile, owed }: Known, tenant: TenantId): Promise<void> {
  const head = owed.get(tenant)
  if (head === undefined) return
  await files?.append(headFile(tenant), JSON.stringify(head))
  owed.delete(tenant)
  inFile.set(tenant, head)
}

async function signOnce(deps: HeadsDeps, { owed, written }: Known, tenant: TenantId): Promise<Checkpoint | null> {
  const { store, keyring, clock } = deps
  const expected = written.expect(tenant)
  const { host_id, size, last, revoked } = await store.read(function* () {
    const { host_id } = yield* getTenant(tenant)
    const size = yield* lastSequence(tenant)
    return { host_id, size, last: yield* lastCheckpoint(tenant), revoked: yield* revokedMandates(tenant) }
  })
  const prev = last === undefined ? null : (JSON.parse(last.body) as Checkpoint)
  const from = last === undefined ? logStart : { size: last.logSize, log: last.log }
  expected.checkSize(size)
  // What another process has signed is held against what this one wrote of it.
  await expected.checkUpTo(store, from.size)
  const { log } = await replayLog(store, tenant, from, size, expected.check)
  if (size === from.size) {
    expected.forgetUpTo(size)
    return prev
  }
  // Before the key is read: one that is replaced meanwhile has not signed later than that.
  const at = formatTime(clock.now())
  const { signer, keys } = await keyring.signing(host_id)
  const fields = {
    host_id,
    log_size: size,
    log_root: logRoot(log),
    sequence: size,
    store_head: null,
    revocation_head: headOfRevoked(revoked, keys.revoked),
    at,
  }
  const signed = signCheckpoint(fields, prev, signer)
  const kept = { logSize: size, log, hash: checkpointHash(signed), body: JSON.stringify(signed) }
  await store.write(tenant, addCheckpoint(kept, last?.hash ?? null))
  owed.set(tenant, signed)
  expected.forgetUpTo(size)
  return signed
}

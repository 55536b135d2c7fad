import { Failure, quote } from '../base/failure.ts'
import { readJson } from '../base/json.ts'
import { type Clock, formatTime } from '../base/time.ts'
import { checkpointHash, signCheckpoint, verifyCheckpoint } from '../evidence/checkpoint.ts'
import { revocationHead } from '../evidence/head.ts'
import { logRoot } from '../evidence/log.ts'
import type { FileRoot } from '../files/root.ts'
import type { Keyring } from '../keys/keyring.ts'
import type { Checkpoint } from '../model/evidence.ts'
import { type TenantId, tenantId, tenantIdPattern } from '../model/tenant-id.ts'
import { addCheckpoint, checkpointAt, lastCheckpoint } from '../storage/checkpoints.ts'
import { chainHead } from '../storage/events.ts'
import type { Store } from '../storage/store.ts'
import { getTenant } from '../storage/tenants.ts'

/** Keeps signed heads of every tenant's log in files outside the store, so that a store cut or rewritten is found out. */
export interface Heads {
  /** To be told of every commit: after enough events, or enough time, a head is signed in the background. */
  grew(tenant: TenantId, events: number): void
  /** Signs the head as it is now, and keeps it in the store and in the file. Null while the tenant has no events. */
  checkpoint(tenant: TenantId): Promise<Checkpoint | null>
  /** Signs what is still unsigned, and what could not be signed in the background, and ends the clockwork. */
  close(): Promise<void>
}

export interface HeadsDeps {
  readonly store: Store
  readonly keyring: Keyring
  readonly clock: Clock
  /** Undefined for a store that ends with the process: its heads would have nothing to be held against. */
  readonly files: FileRoot | undefined
  readonly everyEvents: number
  readonly everyMs: number
}

/** Checks every head file against the store first: one that disagrees is `head.mismatch`. */
export async function openHeads(deps: HeadsDeps): Promise<Heads> {
  if (deps.files !== undefined) await checkFiles(deps, deps.files)
  const unsigned = new Map<TenantId, number>()
  let tail: Promise<unknown> = Promise.resolve()

  const checkpoint = (tenant: TenantId): Promise<Checkpoint | null> => {
    unsigned.delete(tenant)
    const signed = tail.then(() => sign(deps, tenant))
    tail = signed.catch(() => unsigned.set(tenant, unsigned.get(tenant) ?? 0))
    return signed
  }
  // What fails stays unsigned: it is tried again later, and at the latest by `close`, which then says why.
  const inBackground = (tenant: TenantId): void => void checkpoint(tenant).catch(() => undefined)
  const everyMs = Math.min(deps.everyMs, timerMsMax)
  const timer = setInterval(() => [...unsigned.keys()].forEach(inBackground), everyMs).unref()
  return {
    checkpoint,
    grew: (tenant, events) => {
      const count = (unsigned.get(tenant) ?? 0) + events
      unsigned.set(tenant, count)
      if (count >= deps.everyEvents) inBackground(tenant)
    },
    close: async () => {
      clearInterval(timer)
      await tail
      for (const tenant of [...unsigned.keys()]) await checkpoint(tenant)
    },
  }
}

// A timer that is set for longer fires at once, again and again.
const timerMsMax = 2 ** 31 - 1

/** The folder of heads, below the data folder. */
export const headsName = 'heads'

const suffix = '.jsonl'
export const headFile = (tenant: TenantId): string => `${tenant}${suffix}`
const attemptsMax = 5

async function sign(deps: HeadsDeps, tenant: TenantId): Promise<Checkpoint | null> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await signOnce(deps, tenant)
    } catch (error) {
      const lost = error instanceof Failure && error.code === 'head.conflict'
      if (!lost || attempt === attemptsMax) throw error
    }
  }
}

async function signOnce({ store, keyring, clock, files }: HeadsDeps, tenant: TenantId): Promise<Checkpoint | null> {
  const { host_id, head, last } = await store.read(function* () {
    const { host_id } = yield* getTenant(tenant)
    return { host_id, head: yield* chainHead(tenant), last: yield* lastCheckpoint(tenant) }
  })
  const prev = last === undefined ? null : (JSON.parse(last.body) as Checkpoint)
  if (head.sequence === (prev?.log_size ?? 0)) return prev
  const { revoked } = await keyring.publicKeys(host_id)
  const fields = {
    host_id,
    log_size: head.sequence,
    log_root: logRoot(head.log),
    sequence: head.sequence,
    store_head: null,
    revocation_head: revocationHead({ mandates: [], keyIds: revoked }),
    at: formatTime(clock.now()),
  }
  const signed = signCheckpoint(fields, prev, await keyring.signer(host_id))
  const body = JSON.stringify(signed)
  await store.write(
    tenant,
    addCheckpoint({ logSize: signed.log_size, hash: checkpointHash(signed), body }, last?.hash ?? null),
  )
  await files?.append(headFile(tenant), body)
  return signed
}

async function checkFiles(deps: HeadsDeps, files: FileRoot): Promise<void> {
  for (const name of await files.list()) {
    const tenant = name.slice(0, -suffix.length)
    if (!name.endsWith(suffix) || !tenantIdPattern.test(tenant)) continue
    const head = newestIn((await files.readEnd(name, tailBytes)).toString('utf8'))
    if (head !== undefined) await checkHead(deps, tenantId(tenant), head)
  }
}

/** A head from the file must be in the store, word for word, and the store must not be shorter. */
async function checkHead({ store, keyring }: HeadsDeps, tenant: TenantId, input: unknown): Promise<void> {
  const { host_id, sequence } = await store
    .read(function* () {
      return { ...(yield* getTenant(tenant)), ...(yield* chainHead(tenant)) }
    })
    .catch((error: unknown) => {
      const gone = error instanceof Failure && error.code === 'tenant.not_found'
      throw gone ? mismatch(tenant, 'the store does not have this tenant any more') : error
    })
  const { publicKey, history } = await keyring.publicKeys(host_id)
  const head = verifyCheckpoint(input, [publicKey, ...history.map((step) => step.old_public_key)])
  if (!head.ok) throw mismatch(tenant, `its last head is not good: ${head.message}`)
  const { log_size } = head.value
  if (sequence < log_size)
    throw mismatch(tenant, `the store ends at event ${sequence}, a head was signed at ${log_size}`)
  const kept = await store.read(() => checkpointAt(tenant, log_size))
  if (kept?.hash !== checkpointHash(head.value))
    throw mismatch(tenant, `the store does not know the head signed at event ${log_size}`)
}

const tailBytes = 64 * 1024

/** Two processes that sign at once may append in either order, so the largest counts, not the last. */
const newestIn = (text: string): unknown =>
  text
    .split('\n')
    .map(parsed)
    .filter((value) => value !== undefined)
    .reduce<unknown>(
      (newest, value) => (newest === undefined || sizeOf(value) >= sizeOf(newest) ? value : newest),
      undefined,
    )

/** What says no size comes first, to be refused. */
function sizeOf(value: unknown): number {
  const { log_size } = Object(value) as { log_size?: unknown }
  return typeof log_size === 'number' ? log_size : Number.POSITIVE_INFINITY
}

function parsed(line: string): unknown {
  try {
    return line === '' ? undefined : readJson(line)
  } catch {
    // A line torn by a crash; the others count.
    return undefined
  }
}

const mismatch = (tenant: string, why: string): Failure =>
  new Failure(
    'head.mismatch',
    `the records of tenant ${quote(tenant)} were cut or rewritten: ${why}`,
    { tenant },
    `restore the newest backup; after a deliberate restore of an older one run \`ambit store accept-loss ${tenant}\``,
  )

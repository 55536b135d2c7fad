import assert from 'node:assert/strict'
import { appendFileSync, copyFileSync, cpSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, onTestFinished, test, vi } from 'vitest'
import { givenAmbit, givenTenant, tempFolder } from '../../../test/cli/given.ts'
import { Failure } from '../../base/failure.ts'
import { verifyCheckpoints } from '../../evidence/checkpoint.ts'
import { openRoot } from '../../files/root.ts'
import type { Checkpoint } from '../../model/evidence.ts'
import { tenantId } from '../../model/identity/tenant-id.ts'
import { allCheckpoints } from '../../storage/tables/checkpoints.ts'
import { operator } from '../identity/caller.ts'
import { rotateTenantKey } from '../identity/tenants.ts'
import type { Runtime } from '../runtime.ts'
import { loadSettings } from '../settings/config.ts'
import { acceptLoss } from './accept-loss.ts'
import { searchEvidence } from './export.ts'
import { openHeads } from './heads.ts'
import { type EventInput, record } from './record.ts'

const event: EventInput = { event_type: 'noted', payload: {}, correlation: { correlation_id: 'c' } }
const me = operator(tenantId('acme'))
const headsOf = (folder: string) => join(folder, '.ambit', 'heads', 'acme.jsonl')
const databaseOf = (folder: string) => join(folder, '.ambit', 'ambit.db')
const linesOf = (folder: string): Checkpoint[] =>
  readFileSync(headsOf(folder), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
/** Waits for a head that is signed in the background. */
const signedAt = (folder: string, size: number) =>
  vi.waitFor(() => assert.equal(linesOf(folder).at(-1)?.log_size, size), { timeout: 30_000 })
const kept = (ambit: Runtime) => ambit.store.read(() => allCheckpoints(me.tenant))

/** A folder with a tenant that has three events, closed in order. */
async function givenFolder(config = {}): Promise<string> {
  const folder = tempFolder()
  const ambit = await givenAmbit({ folder, config })
  await givenTenant(ambit)
  await record(ambit, me, [event])
  await ambit.close()
  return folder
}

/** Opens, records and closes. */
async function work(folder: string, times = 1): Promise<void> {
  const ambit = await givenAmbit({ folder })
  for (let time = 0; time < times; time++) await record(ambit, me, [event])
  await ambit.close()
}

const mismatch = (why: RegExp) => (error: unknown) =>
  error instanceof Failure && error.code === 'head.mismatch' && why.test(error.message)

const refused = (folder: string, why: RegExp) => assert.rejects(givenAmbit({ folder }), mismatch(why))

describe('heads are signed and kept outside the store [H-88]', () => {
  test('every so many events and at the end, in the file and in the store alike', async () => {
    const folder = tempFolder()
    const ambit = await givenAmbit({ folder, config: { checkpoint: { everyEvents: 4 } } })
    await givenTenant(ambit)
    for (let size = 3; size <= 11; size++) {
      await record(ambit, me, [event])
      if (size % 4 === 0) await signedAt(folder, size)
    }
    await ambit.close()
    const lines = linesOf(folder)
    assert.deepEqual(
      lines.map(({ log_size, sequence }) => [log_size, sequence]),
      [
        [4, 4],
        [8, 8],
        [11, 11],
      ],
    )
    const again = await givenAmbit({ folder })
    assert.deepEqual(
      (await kept(again)).map(({ body }) => JSON.parse(body)),
      lines,
    )
    const { publicKey } = await again.keyring.publicKeys('acme')
    assert(verifyCheckpoints(lines, [publicKey]).ok)
  })

  test('and every so often', async () => {
    const folder = tempFolder()
    const ambit = await givenAmbit({ folder, config: { checkpoint: { everyMs: 5 } } })
    await givenTenant(ambit)
    await signedAt(folder, 2)
    await record(ambit, me, [event])
    await signedAt(folder, 3)
  })

  test('none when nothing has happened', async () => {
    const folder = await givenFolder()
    const before = readFileSync(headsOf(folder))
    const ambit = await givenAmbit({ folder })
    const head = await ambit.heads.checkpoint(me.tenant)
    assert.deepEqual(head, linesOf(folder).at(-1))
    await ambit.close()
    assert.deepEqual(readFileSync(headsOf(folder)), before)
  })

  test('over a rotation of the key the file goes on', async () => {
    const folder = await givenFolder()
    const ambit = await givenAmbit({ folder })
    await record(ambit, me, [event])
    await rotateTenantKey(ambit, me)
    await ambit.close()
    const again = await givenAmbit({ folder })
    const { publicKey, history } = await again.keyring.publicKeys('acme')
    const keys = [publicKey, ...history.map((step) => step.old_public_key)]
    assert.equal(new Set(linesOf(folder).map(({ signature }) => signature.key_id)).size, 2)
    assert(verifyCheckpoints(linesOf(folder), keys).ok)
  })

  test('two processes that work on one store sign one line of heads', async () => {
    const folder = await givenFolder()
    const [one, two] = [await givenAmbit({ folder }), await givenAmbit({ folder })]
    for (let n = 0; n < 5; n++) {
      await Promise.all([record(one, me, [event]), record(two, me, [event])])
      await Promise.all([one.heads.checkpoint(me.tenant), two.heads.checkpoint(me.tenant)])
    }
    await Promise.all([one.close(), two.close()])
    const again = await givenAmbit({ folder })
    const { publicKey } = await again.keyring.publicKeys('acme')
    const stored = (await kept(again)).map(({ body }) => JSON.parse(body))
    assert(verifyCheckpoints(stored, [publicKey]).ok)
    assert.deepEqual(
      linesOf(folder).sort((a, b) => a.log_size - b.log_size),
      stored,
    )
  })
})

describe('a store that was cut or rewritten is refused at start [H-88 F-14]', () => {
  const tampered = (sql: string) => async () => {
    const folder = await givenFolder()
    const database = new DatabaseSync(databaseOf(folder))
    database.exec(sql)
    database.close()
    return folder
  }

  test.each<[string, () => Promise<string>, RegExp]>([
    [
      'its newest events removed, and its heads',
      tampered('DELETE FROM events WHERE sequence > 2; DELETE FROM checkpoints'),
      /ends at event 2, a head was signed at 3/,
    ],
    ['its heads removed', tampered('DELETE FROM checkpoints'), /does not know the head signed at event 3/],
    [
      'its newest event removed',
      tampered('DELETE FROM events WHERE sequence = 3'),
      /ends at event 2, a head was signed at 3/,
    ],
    ['an event moved away', tampered('UPDATE events SET sequence = 5 WHERE sequence = 3'), /event 4 of 5 is missing/],
    ['the log of a head changed', tampered("UPDATE checkpoints SET log = '3:'"), /does not know the head/],
    [
      'its head rewritten',
      tampered("UPDATE checkpoints SET body = replace(body, '\"sequence\":3', '\"sequence\":2'), hash = 'x'"),
      /does not know the head/,
    ],
    ['its tenant removed', tampered('DELETE FROM tenants'), /does not have this tenant any more/],
    [
      'an older file of it put back',
      async () => {
        const folder = await givenFolder()
        copyFileSync(databaseOf(folder), join(folder, 'older.db'))
        await work(folder, 2)
        renameSync(join(folder, 'older.db'), databaseOf(folder))
        return folder
      },
      /ends at event 3, a head was signed at 5/,
    ],
    [
      'an empty one in its place',
      async () => {
        const folder = await givenFolder()
        rmSync(databaseOf(folder))
        return folder
      },
      /does not have this tenant any more/,
    ],
    [
      'the same tenant made anew, grown past the head',
      async () => {
        const folder = await givenFolder()
        rmSync(databaseOf(folder))
        renameSync(join(folder, '.ambit', 'heads'), join(folder, 'heads'))
        const ambit = await givenAmbit({ folder })
        await givenTenant(ambit)
        await ambit.close()
        await work(folder, 4)
        rmSync(join(folder, '.ambit', 'heads'), { recursive: true })
        renameSync(join(folder, 'heads'), join(folder, '.ambit', 'heads'))
        return folder
      },
      /does not know the head signed at event 3/,
    ],
    [
      'the store of another installation in its place',
      async () => {
        const folder = await givenFolder()
        copyFileSync(databaseOf(await givenFolder()), databaseOf(folder))
        return folder
      },
      /does not know the head signed at event 3/,
    ],
  ])('%s', async (_, given, why) => refused(await given(), why))

  test('and so is a file of heads that was rewritten', async () => {
    const folder = await givenFolder()
    const [line = ''] = readFileSync(headsOf(folder), 'utf8').split('\n')
    const head = JSON.parse(line) as Checkpoint
    const rewrite = (value: unknown) => writeFileSync(headsOf(folder), `${JSON.stringify(value)}\n`)
    rewrite({ ...head, log_size: 2, sequence: 2 })
    await refused(folder, /signature does not verify/)
    rewrite({ ...head, signature: { ...head.signature, key_id: '0'.repeat(16) } })
    await refused(folder, /signed by an unknown key/)
    rewrite({ ...head, more: true })
    await refused(folder, /its last head is not good/)
    rewrite({})
    await refused(folder, /its last head is not good/)
    writeFileSync(headsOf(folder), `${line}\n`)
    await work(folder)
  })

  test('the refusal names the tenant, says what to do, and leaves everything as it was', async () => {
    const folder = await tampered('DELETE FROM checkpoints')()
    const before = readFileSync(databaseOf(folder))
    const error = await givenAmbit({ folder }).catch((caught: unknown) => caught)
    assert(error instanceof Failure)
    assert.deepEqual(error.data, { tenant: 'acme' })
    assert.match(error.help ?? '', /`ambit store accept-loss acme`/)
    assert.deepEqual(readFileSync(databaseOf(folder)), before)
  })
})

describe('what a crash leaves is no reason to refuse [F-14 H-88]', () => {
  test('a torn last line: the one before it counts, and the next stands on its own', async () => {
    const folder = await givenFolder()
    appendFileSync(headsOf(folder), '{"kind":"ambit-head","host_id":"ac')
    await work(folder)
    const lines = readFileSync(headsOf(folder), 'utf8').trimEnd().split('\n')
    assert.equal(lines.length, 3)
    assert.equal((JSON.parse(lines[2] ?? '') as Checkpoint).log_size, 4)
    await work(folder)
  })

  test('a head in the store that did not reach the file', async () => {
    const folder = await givenFolder()
    const before = readFileSync(headsOf(folder))
    await work(folder)
    writeFileSync(headsOf(folder), before)
    await work(folder)
    assert.deepEqual(
      linesOf(folder).map(({ log_size }) => log_size),
      [3, 5],
    )
    await work(folder)
  })

  test('lines that two processes appended in the other order: the newest counts', async () => {
    const folder = await givenFolder()
    copyFileSync(databaseOf(folder), join(folder, 'older.db'))
    await work(folder)
    const lines = readFileSync(headsOf(folder), 'utf8').trimEnd().split('\n')
    writeFileSync(headsOf(folder), `${lines.toReversed().join('\n')}\n`)
    await work(folder, 0)
    renameSync(join(folder, 'older.db'), databaseOf(folder))
    await refused(folder, /ends at event 3, a head was signed at 4/)
  })

  test('a file that holds the heads of no tenant', async () => {
    const folder = await givenFolder()
    for (const name of ['notes.txt', 'copy of acme.jsonl', 'acme.jsonl.bak'])
      writeFileSync(join(folder, '.ambit', 'heads', name), 'x')
    await work(folder)
  })

  test('a store that cannot be read is said to be that, and not to have been cut', async () => {
    const ambit = await givenAmbit({ folder: await givenFolder() })
    const down = async () => Promise.reject(new Failure('store.unavailable', 'down'))
    const files = { list: async () => ['acme.jsonl'], readEnd: async () => Buffer.from('{"log_size":1}') }
    const deps = { ...ambit, store: { ...ambit.store, read: down }, everyEvents: 1, everyMs: 1 }
    await assert.rejects(openHeads({ ...deps, files: files as never }), { code: 'store.unavailable' })
  })
})

describe('a head that could not be signed is signed later [H-88]', () => {
  test('at the end at the latest, which says why not', async () => {
    const folder = await givenFolder()
    const ambit = await givenAmbit({ folder })
    const keys = join(folder, '.ambit', 'keys')
    cpSync(keys, join(folder, 'keys'), { recursive: true })
    const heads = await openHeads({
      ...ambit,
      files: await openRoot(join(folder, '.ambit', 'heads')),
      everyEvents: 1,
      everyMs: Number.MAX_SAFE_INTEGER,
    })
    const { events } = await record(ambit, me, [event])
    rmSync(join(keys, 'acme.key.json'))
    heads.noteEvents(me.tenant, events)
    await assert.rejects(heads.close(), { code: 'key.not_found' })
    cpSync(join(folder, 'keys'), keys, { recursive: true })
    await heads.close()
    assert.equal((await kept(ambit)).at(-1)?.logSize, 4)
  })

  test('a store in memory signs its head only on request', async () => {
    const config = { store: { driver: 'sqlite', path: ':memory:' }, checkpoint: { everyEvents: 1 } } as const
    const ambit = await givenAmbit({ config })
    await givenTenant(ambit)
    for (let time = 0; time < 3; time++) await record(ambit, me, [event])
    await new Promise((resolve) => setTimeout(resolve, 50))
    assert.deepEqual(await kept(ambit), [])
    assert.equal((await ambit.heads.checkpoint(me.tenant))?.log_size, 5)
    await ambit.close()
  })

  test('a pause longer than a timer can wait is the longest it can', async () => {
    const ambit = await givenAmbit({ folder: await givenFolder() })
    const timer = vi.spyOn(globalThis, 'setInterval')
    onTestFinished(() => timer.mockRestore())
    await (await openHeads({ ...ambit, files: undefined, everyEvents: 1, everyMs: 2 ** 40 })).close()
    assert.equal(timer.mock.lastCall?.[1], 2 ** 31 - 1)
  })
})

describe('a deliberate loss is accepted and stays on record [F-16 H-88]', () => {
  test('the heads are set aside, not removed, and new ones follow', async () => {
    const folder = await givenFolder()
    copyFileSync(databaseOf(folder), join(folder, 'older.db'))
    await work(folder)
    const proof = readFileSync(headsOf(folder))
    renameSync(join(folder, 'older.db'), databaseOf(folder))
    await refused(folder, /ends at event 3/)
    const settings = await loadSettings({ folder, env: {} })
    const aside = (await acceptLoss(settings, me.tenant)) ?? ''
    assert.match(aside, /^acme\.jsonl\.\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z\.set-aside$/)
    assert.deepEqual(readFileSync(join(folder, '.ambit', 'heads', aside)), proof)
    await work(folder)
    // The newest head the store still has, the one over the record of the acceptance, and the one of the work.
    assert.deepEqual(
      linesOf(folder).map(({ log_size }) => log_size),
      [3, 4, 5],
    )
    const again = await givenAmbit({ folder })
    const { items } = await searchEvidence(again, me, { type: 'ambit.loss.accepted' })
    assert.partialDeepStrictEqual(JSON.parse(items[0]?.body ?? ''), { payload: { set_aside: aside } })
    assert.deepEqual(readFileSync(join(folder, '.ambit', 'heads', aside)), proof)
  })

  test('a tenant that is not there is refused; one without a head file takes the head of the store', async () => {
    const folder = await givenFolder()
    const settings = await loadSettings({ folder, env: {} })
    await assert.rejects(acceptLoss(settings, tenantId('other')), { code: 'tenant.not_found' })
    rmSync(headsOf(folder))
    await refused(folder, /its file of signed heads is gone/)
    assert.equal(await acceptLoss(settings, me.tenant), undefined)
    await (await givenAmbit({ folder })).close()
  })
})

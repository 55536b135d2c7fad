import assert from 'node:assert/strict'
import { afterAll, describe, onTestFinished, test, vi } from 'vitest'
import { givenAmbit, givenTenant, tempFolder } from '../../../test/cli/given.ts'
import { emptySchema } from '../../../test/storage/target.ts'
import { anyone, echo, givenHost, stillClock } from '../../../test/support/host.ts'
import { startPostgres } from '../../../test/support/postgres.ts'
import { verifyBundle } from '../../evidence/verify/verify.ts'
import { defineCapability } from '../../gateway/capability.ts'
import type { Config } from '../../model/config/config.ts'
import { dump } from '../../storage/backup.ts'
import { rows } from '../../storage/work.ts'
import { openHost } from '../hosting/host.ts'
import { makeOffer } from '../hosting/offer.ts'
import { operator } from '../identity/caller.ts'
import type { Runtime } from '../runtime.ts'
import { auditTenant } from './audit.ts'
import { exportBundle } from './export.ts'
import { type PurgeWish, purgeEvidence } from './purge.ts'
import { record } from './record.ts'

const server = await startPostgres({ fsync: false })
afterAll(() => server?.stop())

const dayMs = 86_400_000

describe('on SQLite [H-63]', () => purging(async () => ({ driver: 'sqlite' })))
describe.skipIf(server === undefined)('on PostgreSQL [H-63]', () =>
  purging(async () => ({ driver: 'postgres', url: await emptySchema(server) })),
)

function purging(target: () => Promise<NonNullable<Config['store']>>): void {
  test('a purged correlation is gone with its results, chunks, requests and budgets, and nothing else is', async () => {
    const { call, purge, texts, clock, host } = await given()
    const [key, other] = ['task-zebra', 'task-other']
    await call('test.stream', key, { payload: { say: 'quagga' } })
    await call('test.asks', key, { invocation_id: 'inv-zebra' })
    clock.advance(3_600_000)
    await host.gateway.tidyUp()
    await call('test.echo', other, { payload: { say: 'okapi' }, invocation_id: 'inv-other' })
    const before = await texts()
    const words = ['quagga', 'inv-zebra', key, 'test.stream']
    for (const word of words) assert(before.includes(word), word)

    assert.deepEqual(await purge({ correlation: key }, false), { correlations: 1, events: 5, kept: [] })
    const after = await texts()
    for (const word of words) assert(!after.includes(word), word)
    assert(after.includes('okapi'))
    const again = await call('test.echo', other, { payload: { say: 'okapi' }, invocation_id: 'inv-other' })
    assert.equal(again.replayed, true)
  })

  test('who purged how much is on record, the correlation by a keyed digest; heads, audit, exports and start hold', async () => {
    const { ambit, me, call, purge, events, reopened } = await given()
    await call('test.echo', 'a')
    await ambit.heads.checkpoint(me.tenant)
    await call('test.echo', 'b')
    await call('test.echo', 'a')
    await purge({ correlation: 'a' }, false)
    const last = (await events()).at(-1)
    const { correlations = [], events: count } = (last?.payload ?? {}) as { correlations?: string[]; events?: number }
    assert.deepEqual(
      [last?.event_type, last?.subject?.id, last?.redacted, count],
      ['evidence_purged', 'operator', true, 4],
    )
    assert.match(correlations.join(), /^hmac-sha256:[0-9a-f]{64}$/)
    assert.equal(last?.correlation.correlation_id, 'ambit-admin-northlight-depot')
    assert.equal(verifyBundle(await exportBundle(ambit, me, 'b')).valid, true)
    assert.match((await audit(ambit)).message, /\(4 of them purged\) and \d+ signed heads agree$/)
    const next = await reopened()
    assert.equal(verifyBundle(await exportBundle(next, me, 'b')).valid, true)
    assert.equal((await audit(next)).ok, true)
  })

  test('a purged name begins anew, in the process that purged it and in any other', async () => {
    const { ambit, me, call, purge, second } = await given()
    const other = await second()
    await call('test.echo', 'a')
    await other.call('a')
    await call('test.echo', 'a')
    await purge({ correlation: 'a' }, false)
    await other.call('a')
    await call('test.echo', 'a')
    const bundle = await exportBundle(ambit, me, 'a')
    assert.deepEqual([bundle.events.length, bundle.events[0]?.prev_hash], [4, null])
    assert.equal(verifyBundle(bundle).valid, true)
    assert.equal((await audit(ambit)).ok, true)
  })

  test('calls that go on while their correlation is purged leave whole chains, and none of them is lost', async () => {
    const { ambit, me, call, purge } = await given()
    let refused = 0
    const lane = async (): Promise<void> => {
      for (let index = 0; index < 15; index++) assert.equal((await call('test.echo', 'busy')).outcome, 'success')
    }
    const sweep = async (): Promise<void> => {
      for (let index = 0; index < 15; index++)
        await purge({ correlation: 'busy' }, false).catch((error: { code?: string }) => {
          assert.match(error.code ?? '', /^(correlation\.(in_use|not_found)|store\.busy)$/)
          refused++
        })
    }
    await Promise.all([lane(), lane(), lane(), sweep()])
    await call('test.echo', 'busy')
    assert.equal(verifyBundle(await exportBundle(ambit, me, 'busy')).valid, true)
    assert.equal((await audit(ambit)).ok, true)
    assert(refused > 0)
  })

  test.each([
    ['running', 'test.slow', 'wait until it has ended'],
    ['approval', 'test.asks', 'decide about the request, or wait until its time is over'],
    ['indeterminate', 'test.doubt', 'find out first; to purge it all the same add `--even-indeterminate`'],
  ])('a correlation is kept whose state is %s, and is told why', async (reason, capability, help) => {
    const { call, purge, settle, clock } = await given()
    const calling = call(capability, 'c')
    if (reason === 'running') await settle.entered
    else await calling
    await assert.rejects(purge({ correlation: 'c' }, false), { code: 'correlation.in_use', data: { reason }, help })
    clock.advance(dayMs)
    const old = await purge({ before: new Date(clock.now()).toISOString() }, false)
    assert.deepEqual(old, { correlations: 0, events: 0, kept: [{ correlation: 'c', reason }] })
    if (reason === 'indeterminate')
      assert.equal((await purge({ correlation: 'c', evenIndeterminate: true }, false)).correlations, 1)
    settle.release()
    await calling
  })

  test('a purge reaches one tenant alone, whatever names others use', async () => {
    const { ambit, call, purge } = await given()
    const other = await givenTenant(ambit, { id: 'other' })
    await call('test.echo', 'a')
    await record(ambit, other, [{ event_type: 'noted', payload: {}, correlation: { correlation_id: 'a' } }])
    await purge({ correlation: 'a' }, false)
    assert.equal(verifyBundle(await exportBundle(ambit, other, 'a')).valid, true)
    for (const id of ['northlight', 'other']) assert.equal((await auditTenant(ambit, id, () => undefined)).ok, true)
  })

  test("the runtime's own histories are never purged, and an unused name is not found", async () => {
    const { purge } = await given()
    const own = { correlation: 'ambit-admin-northlight-depot' }
    await assert.rejects(purge(own, false), { code: 'correlation.in_use', data: { reason: 'own' } })
    await assert.rejects(purge({ correlation: 'nothing' }, false), { code: 'correlation.not_found' })
  })

  test('by age those go whose newest event is older, and a preview takes nothing', async () => {
    const { ambit, call, purge, clock, texts } = await given()
    for (const id of ['old-1', 'both', 'old-2']) await call('test.echo', id)
    clock.advance(2 * dayMs)
    const before = new Date(clock.now() - dayMs).toISOString()
    await call('test.echo', 'both')
    await call('test.echo', 'young')
    const stored = await texts()
    const would = await purge({ before }, true)
    assert.deepEqual(would, { correlations: 2, events: 4, kept: [] })
    assert.equal(await texts(), stored)
    assert.deepEqual(await purge({ before }, false), would)
    assert.deepEqual(await purge({ before }, false), { correlations: 0, events: 0, kept: [] })
    const left = await texts()
    assert.deepEqual(
      ['old-1', 'old-2', 'both', 'young'].map((id) => left.includes(`"${id}"`)),
      [false, false, true, true],
    )
    assert.equal((await audit(ambit)).ok, true)
  })

  test('a running host takes away what is older than `retention.days`, a bounded number at a time', async () => {
    // Only the test says when.
    vi.useFakeTimers({ toFake: ['setInterval'] })
    onTestFinished(() => void vi.useRealTimers())
    const { ambit, me, host, clock, events } = await given({ retention: { days: 30 } })
    const input = (index: number) => ({
      event_type: 'noted',
      payload: {},
      correlation: { correlation_id: `old-${index}` },
    })
    for (const half of [0, 550])
      await record(
        ambit,
        me,
        Array.from({ length: 550 }, (_, index) => input(half + index)),
      )
    await host.gateway.tidyUp()
    clock.advance(31 * dayMs)
    const purged: number[] = []
    for (let turn = 0; turn < 3; turn++) purged.push((await host.gateway.tidyUp()).purged)
    assert.deepEqual(purged, [1_000, 100, 0])
    const subjects = (await events()).filter(({ event_type }) => event_type === 'evidence_purged')
    assert.deepEqual(new Set(subjects.map(({ subject }) => subject?.type)), new Set(['host']))
    assert.equal((await audit(ambit)).ok, true)
  })

  test.each([
    ['an event that was taken out with a leaf in its place', 'cut'],
    ['a leaf that is not the one that was left', 'swap'],
    ['a purge that took more than it says', 'more'],
  ])('an audit finds %s', async (_, how) => {
    const { ambit, me, call, purge } = await given()
    await call('test.echo', 'a')
    await call('test.echo', 'b')
    if (how !== 'cut') await purge({ correlation: 'a' }, false)
    assert.equal((await audit(ambit)).ok, true)
    const leaf = '0'.repeat(64)
    const [found] = await ambit.database.read(() => rows("SELECT sequence FROM events WHERE correlation_id = 'b'"))
    const into = 'INSERT INTO purged_events (tenant_id, sequence, leaf_hash, purge_id)'
    await ambit.database.write(function* () {
      if (how === 'swap') return yield* rows(`UPDATE purged_events SET leaf_hash = '${leaf}'`)
      const as = how === 'cut' ? "'inv-x'" : '(SELECT MIN(purge_id) FROM purged_events)'
      yield* rows(`${into} SELECT '${me.tenant}', ${Number(found?.['sequence'])}, '${leaf}', ${as}`)
      return yield* rows(`DELETE FROM events WHERE sequence = ${Number(found?.['sequence'])}`)
    })
    assert.equal((await audit(ambit)).ok, false)
  })

  /** A host on this database, with capabilities that end in every way. */
  async function given(more: Partial<Config> = {}) {
    const clock = stillClock()
    const folder = tempFolder()
    const config: Config = { store: await target(), checkpoint: { everyMs: 3_600_000 }, ...more }
    const settle = { ...Promise.withResolvers<void>(), entered: Promise.resolve() }
    const entered = Promise.withResolvers<void>()
    settle.entered = entered.promise
    const offer = {
      capabilities: [
        echo(),
        defineCapability(
          { id: 'test.stream', version: '1.0.0', description: 'Streams.', policy: {}, modes: ['sync', 'stream'] },
          async function* (input) {
            yield input as never
            return 'done'
          },
        ),
        echo({ id: 'test.asks', policy: { approval_required: true } }),
        defineCapability({ id: 'test.slow', version: '1.0.0', description: 'Waits.', policy: {} }, async () => {
          entered.resolve()
          await settle.promise
          return null
        }),
        defineCapability(
          {
            id: 'test.doubt',
            version: '1.0.0',
            description: 'Takes too long.',
            policy: {},
            effects: ['x.change'],
            timeoutS: 0.005,
          },
          () => new Promise(() => undefined),
        ),
      ],
    }
    const { ambit, host, events } = await givenHost(offer, { config, clock, folder })
    const me = operator(host.tenant)
    return {
      ambit,
      me,
      host,
      clock,
      settle: { entered: settle.entered, release: settle.resolve },
      events,
      call: async (capability_id: string, correlation_id: string, envelope: object = {}) =>
        (
          await host.gateway.invoke(anyone, {
            capability_id,
            correlation: { correlation_id },
            payload: {},
            ...envelope,
          })
        ).result,
      purge: (wish: PurgeWish, preview: boolean) => purgeEvidence(ambit, me, wish, { preview }),
      /** All that is stored, as text. */
      texts: async () => {
        const lines: string[] = []
        await ambit.database.read(() => dump('', (line) => lines.push(line)))
        return lines.filter((line) => !line.includes('"t":"leases"')).join('\n')
      },
      reopened: async () => {
        await host.close()
        await ambit.close()
        return givenAmbit({ folder, clock })
      },
      second: async () => {
        const next = await givenAmbit({ folder, clock })
        const door = await openHost(next, host.tenant, (hostId) => makeOffer(hostId, offer))
        return {
          call: async (correlation_id: string) => {
            const envelope = { capability_id: 'test.echo', correlation: { correlation_id } }
            assert.equal((await door.gateway.invoke(anyone, envelope)).result.outcome, 'success')
          },
        }
      },
    }
  }
}

const audit = (ambit: Runtime) => auditTenant(ambit, 'northlight', () => undefined)

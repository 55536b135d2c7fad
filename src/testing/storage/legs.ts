import assert from 'node:assert/strict'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import type { Commit, Store } from '../../storage/store.ts'
import {
  addLeg,
  deferLeg,
  dueLegs,
  endLeg,
  holdLeg,
  isOpenRun,
  type Leg,
  legTaken,
  pauseLeg,
  releaseLeg,
  takeLeg,
  triesOf,
  wakeLeg,
} from '../../storage/tables/runs/legs.ts'
import { addRunEvents, putRun, runEventsOf } from '../../storage/tables/runs/runs.ts'
import type { Work } from '../../storage/work.ts'
import { allEvents, codes, type Given, type Register, type Setting, times } from './given.ts'
import { legOf, making, runId, sampleEvent, sampleRun, starting } from './run-samples.ts'
import { plainSeal, sampleDraft } from './sample.ts'

export function legRules(test: Register, on: Setting): void {
  test('of many who take a leg that is due one drives it, and the one before writes nothing more [F-12]', on(oneDriver))
  test(
    'a leg waits until its time, however late that is, or is due at once if it was woken meanwhile [F-12]',
    on(pauses),
  )
  test('legs are due to those who have every agent of their open runs, and to no others [F-12]', on(ofAgents))
}

const due = async ({ store, tenant }: Pick<Given, 'store' | 'tenant'>, nowMs: number, agents?: readonly string[]) =>
  (await store.read(() => dueLegs(tenant, nowMs, 9, agents))).map(({ runId: id }) => id)

/** Whatever a run writes, in the transaction of which it holds its leg. */
const held = (leg: Leg, id: string): Commit<void> => ({
  change: function* (tenant): Work<void> {
    const [found = []] = yield [holdLeg(tenant, leg)]
    if (found.length === 0) throw legTaken(leg.runId)
    yield addRunEvents(tenant, [{ event: sampleEvent(leg.runId, Number(id)) }])
  },
  events: [sampleDraft(id)],
  seal: plainSeal,
})

async function oneDriver({ store, second, tenant, other }: Given): Promise<void> {
  const first = legOf(runId(1))
  for (const owner of [tenant, other])
    await store.write(
      owner,
      making((each) => addLeg(each, first, 100)),
    )
  await store.commit(tenant, held(first, '1'))
  const [found] = await store.read(() => dueLegs(tenant, 100, 9))
  assert.deepEqual([found, await due({ store, tenant }, 99)], [{ runId: runId(1), owner: 'a' }, []])
  const take = (to: Store, owner: string) => to.write(tenant, takeLeg(first, owner, 100, 200))
  const taken = await Promise.all(times(12, (index) => take(index % 2 === 0 ? store : second, `b${index}`)))
  const [now, ...more] = taken.filter((leg) => leg !== undefined)
  assert(now !== undefined && more.length === 0)
  assert.deepEqual([now.fence, now.wakes, triesOf(now)], [2, 0, 2])
  await store.write(tenant, deferLeg({ runId: runId(1), owner: 'a' }, 0))
  assert.deepEqual(await due({ store, tenant }, 199), [])
  const [late, kept] = await codes([store.commit(tenant, held(first, '2')), second.commit(tenant, held(now, '3'))])
  assert.deepEqual([late, kept], ['run.taken', 'kept'])
  assert.deepEqual(
    (await store.read(() => runEventsOf(tenant, runId(1), 0, 9))).map(({ event_id }) => event_id),
    [1, 3],
  )
  assert.deepEqual(
    (await allEvents(store, tenant)).map(({ eventId }) => eventId),
    ['1', '3'],
  )
  // Nor does the late one give the leg back, let it wait or end it; that of another tenant is its own.
  await store.write(tenant, releaseLeg(first, 0))
  await store.write(
    tenant,
    making((of) => [pauseLeg(of, first, 0), endLeg(of, first)]),
  )
  assert.deepEqual(await store.read(() => dueLegs(tenant, 200, 9)), [{ runId: runId(1), owner: now.owner }])
  await store.write(
    tenant,
    making((of) => endLeg(of, now)),
  )
  const open = (of: TenantId) => store.read(() => isOpenRun(of, runId(1)))
  assert.deepEqual([await open(tenant), await open(other)], [false, true])
}

async function pauses({ store, tenant }: Given): Promise<void> {
  const later = Date.parse('2130-01-01T00:00:00.000Z')
  const leg = legOf(runId(1))
  const given = { store, tenant }
  await store.write(
    tenant,
    making((of) => addLeg(of, leg, 10)),
  )
  await store.write(
    tenant,
    making((of) => pauseLeg(of, leg, later)),
  )
  assert.deepEqual([await due(given, later - 1), await due(given, later)], [[], [leg.runId]])
  await store.write(tenant, wakeLeg(leg.runId, 20))
  assert.deepEqual([await due(given, 19), await due(given, 20)], [[], [leg.runId]])
  const next = await store.write(tenant, takeLeg({ runId: leg.runId, owner: null }, 'b', 20, 50))
  assert(next !== undefined && triesOf(next) === 1)
  // While it is driven it is not due; at its pause it is, as it was woken.
  await store.write(tenant, wakeLeg(leg.runId, 30))
  assert.deepEqual([await due(given, 49), await due(given, 50)], [[], [leg.runId]])
  await store.write(
    tenant,
    making((of) => pauseLeg(of, next, later)),
  )
  assert.deepEqual(await due(given, 0), [leg.runId])
}

async function ofAgents({ store, tenant, other }: Given): Promise<void> {
  const [desk, both, clerk] = [runId(1), runId(2), runId(3)]
  for (const owner of [tenant, other])
    for (const [index, root] of [desk, both, clerk].entries()) {
      await store.write(
        owner,
        making((each) => addLeg(each, legOf(root), index)),
      )
      await store.write(owner, starting({ run_id: root, agent_id: root === clerk ? 'clerk' : 'desk' }))
    }
  const child = { run_id: runId(4), root_run_id: both, agent_id: 'Clerk' }
  await store.write(tenant, starting(child))
  const dueTo = (...agents: readonly string[]) => due({ store, tenant }, 99, agents)
  assert.deepEqual(await dueTo('desk'), [desk])
  assert.deepEqual(await dueTo('desk', 'Clerk', 'more'), [desk, both])
  assert.deepEqual(await dueTo('clerk', 'Desk'), [clerk])
  assert.deepEqual([await dueTo(), await due({ store, tenant }, 99)], [[], [desk, both, clerk]])
  await store.write(
    tenant,
    making((of) => putRun(of, sampleRun({ ...child, status: 'completed' }))),
  )
  assert.deepEqual(await dueTo('desk'), [desk, both])
  // What context packs drive needs no agent of a host.
  await store.write(
    tenant,
    making((of) => addLeg(of, legOf(runId(5)), 9)),
  )
  await store.write(tenant, starting({ run_id: runId(5), agent_id: 'stranger', mode: 'batch' }))
  assert.deepEqual(await dueTo(), [runId(5)])
  assert.deepEqual(await dueTo('desk'), [desk, both, runId(5)])
}

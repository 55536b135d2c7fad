import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, test } from 'vitest'
import type { Json } from '../../src/base/canonical.ts'
import { defineCapability } from '../../src/gateway/capability.ts'
import { tenantId } from '../../src/model/identity/tenant-id.ts'
import { memory } from '../../src/resources/memory.ts'
import { defineAgent } from '../../src/runtime/agents/agent.ts'
import { amendTenant } from '../../src/storage/tables/tenants.ts'
import { rows } from '../../src/storage/work.ts'
import { emptySchema } from '../storage/target.ts'
import { stillClock } from '../support/host.ts'
import { startPostgres } from '../support/postgres.ts'
import {
  agent,
  calls,
  ended,
  finishedIn,
  type GivenRuns,
  givenRuns,
  inTurn,
  pausedAfter,
  payments,
  typesOf,
} from '../support/runs.ts'

const folder = mkdtempSync(join(tmpdir(), 'ambit-run-approvals-'))
const server = await startPostgres({ fsync: false })
afterAll(async () => {
  await server?.stop()
  rmSync(folder, { recursive: true })
})

const home = tenantId('local')
let folders = 0
const newFolder = (): string => join(folder, `${folders++}`)

/** A payer with so many runs above it, each of which only passes its work on. */
function chainOf(depth: number, pay: ReturnType<typeof payments>['pay']) {
  const payer = agent('payer', inTurn(calls(['test_pay', { to: 'ada' }]), 'all paid'), { tools: [pay] })
  let top = payer
  for (let level = 1; level <= depth; level++) {
    const passes = inTurn(calls([`agent_${top.definition.manifest.id}`, { input: 'pay' }]), 'all paid')
    top = agent(`boss${level}`, passes, { tools: [top] })
  }
  return top
}

const nameOf = (top: ReturnType<typeof chainOf>): string => top.definition.manifest.id

const openLegs = async ({ runtime }: GivenRuns) =>
  (await runtime.database.read(() => rows('SELECT owner, due_at_ms FROM legs'))).map((leg) => ({ ...leg }))

const stores = [
  ['SQLite', true, async () => ({})],
  ['PostgreSQL', server !== undefined, async () => ({ store: { driver: 'postgres', url: await emptySchema(server) } })],
] as const

describe.each(stores.filter(([, isHere]) => isHere))('on %s [G-28 R-41]', (_, __, store) => {
  test.each([0, 1, 3])(
    'a call at depth %i that needs people pauses all runs above it, outlives its process and goes on by itself after the yes [R-41 G-28]',
    async (depth) => {
      const config = await store()
      const place = { folder: newFolder(), clock: stillClock() }
      const { pay, paid } = payments()
      const open = () => {
        const top = chainOf(depth, pay)
        return givenRuns({ ...config, agents: [top] } as never, place).then((given) => ({ given, top: nameOf(top) }))
      }
      const { given, top } = await open()
      await given.approver('ida')
      const { run_id: id, status, waits_for } = await given.run(top)
      const [approval = ''] = waits_for
      assert.deepEqual([status, waits_for.length, paid], ['paused', 1, []])
      const { runs } = await given.ambit.runs.list({ root: id })
      assert.deepEqual(
        runs.map((run) => [run.depth, run.status, run.waits_for]),
        Array.from({ length: depth + 1 }, (_, above) => [depth - above, 'paused', [approval]]),
      )
      const { secret } = await given.ambit.keys.create('ida')
      const [leg, ...others] = await openLegs(given)
      assert.deepEqual([leg?.['owner'], others], [null, []])
      await given.close()

      const { given: again } = await open()
      assert.equal((await again.ambit.runs.show(id)).status, 'paused')
      await (await again.ambit.withKey(secret)).approvals.decide(approval, 'approve')
      assert.deepEqual([(await ended(again, id)).result, paid], ['all paid', ['ada']])
      const events = await again.events(id)
      const told = typesOf(events).filter((type) => /approval|paused|resumed/.test(type))
      assert.deepEqual(told, ['approval.requested', 'run.paused', 'run.resumed', 'approval.resolved'])
      assert.deepEqual(await openLegs(again), [])
    },
  )
})

test('of two approvals in parallel steps one yes and one no each end their own call, whichever comes first [R-41]', async () => {
  for (const first of ['ann', 'bob']) {
    const { pay, paid } = payments()
    const payer = (to: string) => agent(to, inTurn(calls(['test_pay', { to }]), `${to} is done`), { tools: [pay] })
    const steps = ['ann', 'bob'].map((id) => ({ id, agent: payer(id) }))
    const flow = defineAgent({ id: 'flow', kind: 'parallel', steps })
    const given = await givenRuns({ agents: [flow] })
    const ida = await given.approver('ida')
    const { run_id: id, waits_for } = await given.run('flow')
    const { runs } = await given.ambit.runs.list({ root: id })
    const asked = new Map(runs.map((run) => [run.agent_id, run.waits_for[0]]))
    assert.deepEqual(
      [waits_for.toSorted(), runs.map((run) => run.waits_for.length)],
      [[asked.get('ann'), asked.get('bob')].sort(), [1, 1, 2]],
    )
    const decide = (to: string) => ida.approvals.decide(asked.get(to) ?? '', to === 'ann' ? 'approve' : 'deny')
    const since = (await given.events(id)).length
    await decide(first)
    const paused = await pausedAfter(given, id, since)
    const second = first === 'ann' ? 'bob' : 'ann'
    assert.deepEqual([paused.status, paused.waits_for], ['paused', [asked.get(second)]])
    await decide(second)
    const { status, result } = await ended(given, id)
    assert.deepEqual([status, result, paid], ['completed', { ann: 'ann is done', bob: 'bob is done' }, ['ann']])
    const ends = finishedIn(await given.events(id)).filter((end) => end.startsWith('test_pay'))
    assert.deepEqual(ends.sort(), ['test_pay blocked approval_denied', 'test_pay completed'])
  }
})

test('trusted code that invokes and calls goes on after the yes where it was, and does nothing twice [R-41]', async () => {
  const { pay, paid } = payments()
  const seen: string[] = []
  const look = defineCapability({ id: 'test.look', version: '1.0.0', description: 'Looks.', policy: {} }, () => {
    seen.push('looked')
    return 'seen'
  })
  const payer = agent('payer', inTurn(calls(['test_pay', { to: 'ann' }]), 'paid ann'), { tools: [pay] })
  const code = defineAgent({
    id: 'code',
    kind: 'tool',
    run: async (_: Json, run) => [
      await run.call('test.look'),
      await run.invoke('payer', 'now'),
      await run.call('test.pay', { to: 'bob' }).catch(({ code }: { code: string }) => code),
    ],
  })
  const given = await givenRuns({ agents: [code, payer], capabilities: [look, pay] })
  const ida = await given.approver('ida')
  const { run_id: id, waits_for } = await given.run('code')
  const since = (await given.events(id)).length
  await ida.approvals.decide(waits_for[0] ?? '', 'approve')
  const paused = await pausedAfter(given, id, since)
  assert.deepEqual([paid, seen.length, paused.waits_for.length], [['ann'], 1, 1])
  await ida.approvals.decide(paused.waits_for[0] ?? '', 'deny')
  const { status, result } = await ended(given, id)
  assert.deepEqual(
    [status, result, paid, seen.length],
    ['completed', ['seen', 'paid ann', 'approval_denied'], ['ann'], 1],
  )
})

const { pay: asked, paid } = payments()
const desk = () => agent('desk', inTurn(calls(['test_pay', { to: 'ann' }]), 'done'), { tools: [asked] })

test.each([
  ['deny', 'approval_denied'],
  ['expire', 'approval_expired'],
] as const)('a call whose approval people %s ends as %s, and the run goes on [R-89]', async (how, code) => {
  const given = await givenRuns({ agents: [desk()] })
  const ida = await given.approver('ida')
  const { run_id: id, waits_for } = await given.run('desk')
  const before = paid.length
  if (how === 'deny') await ida.approvals.decide(waits_for[0] ?? '', 'deny')
  else given.clock.advance(15 * 60_000)
  const { status, result } = await ended(given, id)
  assert.deepEqual([status, result, paid.length], ['completed', 'done', before])
  assert.deepEqual(finishedIn(await given.events(id)), [`test_pay blocked ${code}`])
  await assert.rejects(ida.approvals.decide(waits_for[0] ?? '', 'approve'), {
    code: how === 'deny' ? 'approval.used' : 'approval.expired',
  })
})

test('who a run is of cannot approve what it asks for, at any depth, and an agent is no approver [H-55]', async () => {
  const { pay } = payments()
  const given = await givenRuns({ agents: [chainOf(2, pay)] })
  const ada = await given.approver('ada')
  const other = await given.approver('other')
  const { waits_for } = await (await ada.run('boss2', 'go')).settled()
  const [id = ''] = waits_for
  await assert.rejects(ada.approvals.decide(id, 'approve'), { code: 'approval.self' })
  await assert.rejects(given.ambit.approvals.decide(id, 'approve'), { code: 'approver.not_permitted' })
  await given
    .as('stranger')
    .then((one) => assert.rejects(one.approvals.decide(id, 'approve'), { code: 'approver.not_permitted' }))
  assert.equal((await other.approvals.decide(id, 'approve')).state, 'approved')
})

test('a run that one host left paused goes on there when another host on the same store decides [R-41]', async () => {
  const place = { folder: newFolder(), clock: stillClock() }
  const first = await givenRuns({ agents: [desk()] }, place)
  await first.approver('ida')
  const { secret } = await first.ambit.keys.create('ida')
  const { run_id: id, waits_for } = await first.run('desk')
  const before = paid.length
  // A host without the agent cannot drive the run, and leaves it to one that has it.
  const second = await givenRuns({ agents: [] }, place)
  await (await second.ambit.withKey(secret)).approvals.decide(waits_for[0] ?? '', 'approve')
  assert.deepEqual([(await ended(first, id)).result, paid.length], ['done', before + 1])
})

test('a yes redeems nothing where the policy has changed meanwhile, and the run goes on [R-113]', async () => {
  const place = { folder: newFolder(), clock: stillClock() }
  const first = await givenRuns({ agents: [desk()] }, place)
  await first.approver('ida')
  const { secret } = await first.ambit.keys.create('ida')
  const { run_id: id, waits_for } = await first.run('desk')
  await first.close()
  const before = paid.length
  const rules = [{ id: 'closed', when: { '==': [1, 1] }, decision: 'deny' }] as const
  const policies = [{ name: 'closed', version: '1', applies_to: ['test.pay'], rules: [...rules] }]
  const again = await givenRuns({ agents: [desk()], policies }, place)
  await (await again.ambit.withKey(secret)).approvals.decide(waits_for[0] ?? '', 'approve')
  assert.deepEqual([(await ended(again, id)).result, paid.length], ['done', before])
  assert.deepEqual(finishedIn(await again.events(id)), ['test_pay blocked policy_denied'])
})

test('a yes to a call of a cancelled run has no effect, and the run stays as it ended [R-41]', async () => {
  const given = await givenRuns({ agents: [desk()] })
  const ida = await given.approver('ida')
  const { run_id: id, waits_for } = await given.run('desk')
  const before = paid.length
  await given.ambit.runs.cancel(id)
  const end = await ended(given, id)
  assert.deepEqual([end.status, end.waits_for], ['cancelled', []])
  await ida.approvals.decide(waits_for[0] ?? '', 'approve').catch(() => undefined)
  assert.deepEqual(await given.ambit.runs.show(id), end)
  assert.deepEqual([await openLegs(given), paid.length], [[], before])
  await assert.rejects(given.ambit.runs.resume(id), { code: 'run.finished' })
})

const asksForWrites = {
  name: 'writes',
  version: '1',
  applies_to: ['memory.write'],
  rules: [{ id: 'ask', when: true, decision: 'requires_approval', approval: { roles: ['boss'] } }],
} as const

const changes = {
  revoked: (given: GivenRuns) => given.ambit.grants.revoke('path', 'acme/eu'),
  expired: async (given: GivenRuns) => given.clock.advance(60_000),
  'outside the roots': (given: GivenRuns) =>
    given.runtime.store.write(
      home,
      amendTenant((kept) => ({ ...kept, roots: ['other'] })),
    ),
} as const

test.each(Object.entries(changes))(
  'a yes redeems nothing once the grants of the call are %s, and the run goes on [G-28 R-113]',
  async (_, change) => {
    const writes = inTurn(calls(['memory_write', { content: 'a fact' }]), 'done')
    const writer = agent('writer', writes, { resources: { memory: { mode: 'read-write' } } })
    const given = await givenRuns({ agents: [writer], providers: [memory()], policies: [asksForWrites] } as never)
    const ida = await given.approver('ida')
    const expiresAt = new Date(given.clock.now() + 60_000).toISOString()
    const {
      run_id: id,
      status,
      waits_for,
    } = await given.run('writer', 'go', {
      context: [{ path: 'acme/eu', expiresAt }],
    })
    assert.equal(status, 'paused')
    await change(given)
    await ida.approvals.decide(waits_for[0] ?? '', 'approve')
    assert.deepEqual([(await ended(given, id)).result], ['done'])
    assert.match(finishedIn(await given.events(id)).join(), /^memory_write rejected grant_/)
    const kept = await given.runtime.database.read(() => rows('SELECT content FROM entries'))
    assert.deepEqual(kept, [])
  },
)

import assert from 'node:assert/strict'
import { onTestFinished, test, vi } from 'vitest'
import { givenAmbit } from '../../../test/cli/given.ts'
import { anyone, stillClock } from '../../../test/support/host.ts'
import { defineCapability } from '../../gateway/capability.ts'
import { callScope } from '../../gateway/journal.ts'
import { tenantId } from '../../model/identity/tenant-id.ts'
import type { Model } from '../../runs/turn.ts'
import { approvalRecords } from '../../storage/tables/approvals.ts'
import { runningClaims } from '../../storage/tables/claims.ts'
import { findRun } from '../../storage/tables/runs/runs.ts'
import { scriptedModel } from '../../testing/scripted-model.ts'
import { defineAgent } from '../agents/agent.ts'
import { openAgents } from '../agents/agents.ts'
import { searchEvidence } from '../evidence/export.ts'
import { record } from '../evidence/record.ts'
import { operator } from '../identity/caller.ts'
import { createTenant } from '../identity/tenants.ts'
import { type HostOptions, openHost } from './host.ts'
import { type Hosts, type HostsOptions, openHosts } from './hosts.ts'
import { makeOffer } from './offer.ts'

const home = tenantId('home')
const one = tenantId('one')
const two = tenantId('two')
const three = tenantId('three')
const envelope = { capability_id: 'test.wait', invocation_id: 'inv-1' }

async function given(options: HostsOptions = {}) {
  const clock = stillClock()
  const ambit = await givenAmbit({ config: { store: { driver: 'sqlite', path: ':memory:' } }, clock })
  for (const id of [home, one, two, three]) await createTenant(ambit, { id })
  const opened: string[] = []
  const gate = { wait: Promise.resolve() }
  const capability = defineCapability(
    { id: 'test.wait', version: '1.0.0', description: 'Waits.', policy: {} },
    async () => {
      await gate.wait
      return 'done'
    },
  )
  const openOne = (tenant: typeof home, more: HostOptions) => {
    opened.push(tenant)
    return openHost(ambit, tenant, (hostId) => makeOffer(hostId, { capabilities: [capability] }), more)
  }
  const open = (more: HostsOptions = {}) =>
    openHosts(ambit, home, (tenant, process) => openOne(tenant, { process }), { ...quick, ...options, ...more })
  const hosts = await open()
  onTestFinished(() => hosts.close())
  return { ambit, clock, gate, hosts, opened, open, openOne }
}
const quick = { tidyMs: 10, idleMs: 1_000 }

const call = async (hosts: Hosts, tenant: typeof home, id = 'inv-1') => {
  const { host, release } = await hosts.hold(tenant)
  try {
    return (await host.gateway.invoke(anyone, { ...envelope, invocation_id: id })).result.outcome
  } finally {
    release()
  }
}
const isOpen = (hosts: Hosts, tenant: string): boolean => hosts.open().some((each) => each === tenant)
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

test('the host of a tenant opens at its first use, once for all who ask at the same time [H-73]', async () => {
  const { hosts, opened } = await given()
  assert.deepEqual(hosts.open(), [home])
  const held = await Promise.all(Array.from({ length: 10 }, () => hosts.hold(one)))
  assert.equal(new Set(held.map(({ host }) => host)).size, 1)
  assert.deepEqual(opened, [home, one])
  assert.equal((await hosts.hold(home)).host, hosts.home)
})

test('a host that could not be opened is tried again by the next who asks [H-73]', async () => {
  const { ambit, hosts } = await given()
  const late = tenantId('late')
  await assert.rejects(hosts.hold(late), { code: 'tenant.not_found' })
  assert.deepEqual(hosts.open(), [home])
  await createTenant(ambit, { id: late })
  assert.equal((await hosts.hold(late)).host.tenant, late)
})

test('a host closes when it was not used for a while, never while it is held, and opens again [H-73]', async () => {
  const { hosts, clock, opened } = await given()
  assert.equal(await call(hosts, one), 'success')
  const { release } = await hosts.hold(two)
  clock.advance(1_001)
  await vi.waitFor(() => assert.deepEqual(hosts.open(), [home, two]))
  release()
  await pause(50)
  assert(isOpen(hosts, two), 'it was used until just now')
  assert.equal(await call(hosts, one, 'inv-2'), 'success')
  assert.deepEqual(opened, [home, one, two, one])
})

test('a host with a call in the background stays open until the call has ended [H-73]', async () => {
  const { hosts, clock, gate } = await given()
  const { promise, resolve } = Promise.withResolvers<void>()
  gate.wait = promise
  const { host, release } = await hosts.hold(one)
  const calling = host.gateway.invoke(anyone, envelope)
  release()
  clock.advance(1_001)
  await pause(50)
  assert.deepEqual([isOpen(hosts, one), hosts.underWay()], [true, 1])
  resolve()
  assert.equal((await calling).result.outcome, 'success')
  await vi.waitFor(() => assert(!isOpen(hosts, one)))
})

test('a call that comes while its host is closing gets a new one, and is not lost [H-73]', async () => {
  const { hosts, clock, opened } = await given()
  const { host, release } = await hosts.hold(one)
  const closing = Promise.withResolvers<void>()
  host.closing.addEventListener('abort', () => closing.resolve())
  release()
  clock.advance(1_001)
  await closing.promise
  const answers = await Promise.all(['a', 'b', 'c'].map((id) => call(hosts, one, id)))
  assert.deepEqual(answers, ['success', 'success', 'success'])
  assert.deepEqual(opened, [home, one, one])
})

test('calls go through while their hosts are closed again and again [H-73]', async () => {
  const { hosts, opened } = await given({ tidyMs: 1, idleMs: 0 })
  for (let turn = 0; turn < 60; turn++) {
    const ids = [`a${turn}`, `b${turn}`]
    const answers = await Promise.all(ids.map((id) => call(hosts, turn % 2 ? one : two, id)))
    assert.deepEqual(answers, ['success', 'success'])
    if (turn % 3 === 0) await pause(turn % 5)
  }
  assert(opened.length > 4, 'hosts were closed meanwhile')
})

test('no more tenants than the limit have a host: the one unused for longest goes, and none that is in use [H-80]', async () => {
  const { hosts, clock } = await given({ openMax: 2, tidyMs: 60_000 })
  await call(hosts, one)
  clock.advance(10)
  const held = await hosts.hold(two)
  assert.equal(await call(hosts, three), 'success')
  assert.deepEqual(hosts.open(), [home, two, three])
  const other = await hosts.hold(three)
  await assert.rejects(hosts.hold(one), { code: 'overloaded' })
  held.release()
  assert.equal(await call(hosts, one, 'inv-2'), 'success')
  other.release()
})

test('one lease shows a process in all of its tenants: their calls run as long as it lives, and end after it [H-45]', async () => {
  const { ambit, hosts, clock, gate, open, openOne } = await given({ presenceMs: 600_000 })
  const { promise, resolve } = Promise.withResolvers<void>()
  gate.wait = promise
  const { host } = await hosts.hold(one)
  void host.gateway.invoke(anyone, envelope)
  const running = () => ambit.store.read(() => runningClaims(one, callScope))
  await vi.waitFor(async () => assert.equal((await running()).items.length, 1))
  assert.match((await running()).items[0]?.owner ?? '', /@home$/)

  const alone = await openOne(one, {})
  onTestFinished(() => alone.close())
  assert.deepEqual((await alone.gateway.tidyUp()).interrupted, [])
  // A process that begins after that one was gone finds its calls without being asked, in every tenant.
  clock.advance(600_001)
  const next = await open({ presenceMs: 30, tidyMs: 60_000 })
  onTestFinished(() => next.close())
  await vi.waitFor(async () => assert.equal((await running()).items.length, 0))
  assert.equal((await host.gateway.recorded(anyone, 'inv-1'))?.outcome, 'indeterminate')
  resolve()
})

test('approvals expire and evidence is purged in tenants that get no more calls [H-56 H-63]', async () => {
  const clock = stillClock()
  const config = { store: { driver: 'sqlite', path: ':memory:' }, retention: { days: 30 } } as const
  const ambit = await givenAmbit({ config, clock })
  for (const id of [home, one, two]) await createTenant(ambit, { id })
  const asking = defineCapability(
    { id: 'test.ask', version: '1.0.0', description: 'Asks.', policy: { approval_required: true } },
    () => 'done',
  )
  const offer = (hostId: string) => makeOffer(hostId, { capabilities: [asking] })
  const open = (options: HostsOptions) =>
    openHosts(ambit, home, (tenant, process) => openHost(ambit, tenant, offer, { process }), { ...quick, ...options })
  const first = await open({})
  const { host, release } = await first.hold(one)
  const asked = { capability_id: 'test.ask', invocation_id: 'inv-1', correlation: { correlation_id: 'task' } }
  assert.equal((await host.gateway.invoke(anyone, asked)).result.denial?.code, 'approval_required')
  release()
  await record(ambit, operator(two), [{ event_type: 'noted', payload: {}, correlation: { correlation_id: 'old' } }])
  await first.close()

  const hosts = await open({ presenceMs: 20, sweepMs: 20 })
  onTestFinished(() => hosts.close())
  await pause(100)
  assert.deepEqual(hosts.open(), [home], 'nothing is due yet')
  clock.advance(40 * 86_400_000)
  const states = () => ambit.store.read(() => approvalRecords.list(one, { state: 'expired' }, {}))
  await vi.waitFor(async () => assert.equal((await states()).items.length, 1))
  const left = async () => (await searchEvidence(ambit, operator(two), { correlation: 'old' })).items.length
  await vi.waitFor(async () => assert.equal(await left(), 0))
})

test('a run that a process has left goes on in the next one, in a tenant that nobody asks [H-73]', async () => {
  const { ambit, openRuns } = await givenRuns()
  const began = Promise.withResolvers<void>()
  const stuck = scriptedModel(({ signal }) => {
    began.resolve()
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('left'))))
  })
  const first = await openRuns(stuck)
  const { host, release } = await first.hold(one)
  const { run_id: id } = await host.runs.start(operator(one), { agent: 'clerk', input: 'hi' })
  release()
  await began.promise
  await first.close()
  const status = async () => (await ambit.store.read(() => findRun(one, id)))?.record.status
  assert.equal(await status(), 'running')
  const hosts = await openRuns(
    scriptedModel(() => 'done'),
    { presenceMs: 20, sweepMs: 20 },
  )
  onTestFinished(() => hosts.close())
  await vi.waitFor(async () => assert.equal(await status(), 'completed'))
  assert(isOpen(hosts, one))
})

async function givenRuns() {
  const ambit = await givenAmbit({ config: { store: { driver: 'sqlite', path: ':memory:' } }, clock: stillClock() })
  for (const id of [home, one, two]) await createTenant(ambit, { id })
  const spec = {
    agents: [defineAgent({ id: 'clerk', instruction: 'Help.' })],
    providers: [],
    prices: {},
    capabilities: [],
  }
  const openRuns = (model: Model, options: HostsOptions = {}) => {
    const agents = openAgents({ ...spec, models: { default: model } })
    const offer = (hostId: string) => makeOffer(hostId, { capabilities: [], agents })
    return openHosts(ambit, home, (tenant, process) => openHost(ambit, tenant, offer, { process }), {
      ...quick,
      ...options,
    })
  }
  return { ambit, openRuns }
}

test('a host that closes takes no more calls, waits for those under way, and gives its lease back [H-45]', async () => {
  const { hosts, gate } = await given()
  const { promise, resolve } = Promise.withResolvers<void>()
  gate.wait = promise
  const { host } = await hosts.hold(one)
  const calling = host.gateway.invoke(anyone, envelope)
  await vi.waitFor(() => assert.equal(hosts.underWay(), 1))
  const closing = hosts.close()
  await assert.rejects(hosts.hold(two), { code: 'host.closed' })
  resolve()
  assert.equal((await calling).result.outcome, 'success')
  await closing
})

import assert from 'node:assert/strict'
import { test } from 'vitest'
import { openEgress } from '../../src/adapters/egress/egress.ts'
import { openHttp } from '../../src/adapters/http/adapter.ts'
import { Failure } from '../../src/base/failure.ts'
import { connect } from '../../src/client/connect.ts'
import { defineCapability } from '../../src/gateway/capability.ts'
import type { RunRecord } from '../../src/model/run.ts'
import type { Ambit, Run } from '../../src/operations/ambit.ts'
import { type Agent, defineAgent } from '../../src/runtime/agents/agent.ts'
import { administering, givenShell } from '../cli/harness.ts'
import { startHost } from '../cli/host-process.ts'
import { throughDoors, withFiles } from '../support/doors.ts'
import { echo } from '../support/host.ts'
import { get } from '../support/http-upstream.ts'
import { agent, calls, finishedIn, type GivenRuns, givenRuns, notes } from '../support/runs.ts'
import { givenServer } from '../support/upstream.ts'

/** Work that says when it has begun, waits for ever, and says when its signal has aborted. */
function givenWait() {
  const begun = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  const wait = ({ signal }: { readonly signal: AbortSignal }): Promise<never> => {
    signal.addEventListener('abort', () => ended.resolve(), { once: true })
    if (signal.aborted) ended.resolve()
    begun.resolve()
    return new Promise(() => undefined)
  }
  return { wait, begun: begun.promise, ended: ended.promise }
}

const side = (id: string, agents: readonly Agent[]): Agent =>
  defineAgent({ id, kind: 'parallel', steps: agents.map((agent, index) => ({ id: `s${index}`, agent })) })

/** A tree whose leaves all wait for something else: a model, a provider, prompt text, a capability, a server, code. */
async function givenTree() {
  const waits = { model: givenWait(), tool: givenWait(), prompt: givenWait(), call: givenWait(), code: givenWait() }
  const server = { begun: Promise.withResolvers<void>(), ended: Promise.withResolvers<void>() }
  const upstream = await givenServer((response) => {
    response.on('close', () => server.ended.resolve())
    server.begun.resolve()
  })
  const deps = {
    secret: () => assert.fail(),
    egress: openEgress({ allow: [upstream.origin] }),
    clock: Date,
    folder: '',
    notice: () => undefined,
  }
  const { capabilities } = openHttp(
    { adapter: 'http', name: 'depot', server: { url: upstream.origin }, capabilities: [get] },
    deps,
  )
  const slow = defineCapability(
    { id: 'test.slow', version: '1.0.0', description: 'Waits.', policy: {} },
    (_: unknown, call) => waits.call.wait(call),
  )
  const tool = notes({
    tools: { read: { description: 'Waits.', run: (_: unknown, context) => waits.tool.wait(context) } },
    prompt: undefined as never,
  })
  const prompted = notes({ kind: 'stuck', prompt: (context) => waits.prompt.wait(context) })
  const asking = (id: string, name: string, more = {}) => agent(id, [calls([name, {}]), 'done'], more)
  const leaves = [
    agent('thinker', waits.model.wait),
    asking('reader', 'notes_read', { resources: { notes: {} } }),
    agent('injected', ['done'], { resources: { stuck: {} } }),
    asking('caller', 'test_slow', { tools: [slow] }),
    asking('fetcher', 'depot_get', { tools: capabilities }),
    defineAgent({ id: 'code', kind: 'tool', run: (_: unknown, run) => waits.code.wait(run) }),
  ]
  const inner = agent('inner', [calls(['agent_leaves', { input: 'go' }]), 'done'], { tools: [side('leaves', leaves)] })
  const outer = defineAgent({ id: 'outer', kind: 'tool', run: (_: unknown, run) => run.invoke('inner', 'go') })
  const given = await givenRuns({ agents: [outer, inner], providers: [tool.provider, prompted.provider] })
  const all = [...Object.values(waits), { begun: server.begun.promise, ended: server.ended.promise }]
  const run = await given.ambit.run('outer', 'go', { context: ['acme'] })
  await Promise.all(all.map(({ begun }) => begun))
  return { given, run, ended: Promise.all(all.map(({ ended }) => ended)), count: 3 + leaves.length }
}

const statusesOf = async ({ ambit }: GivenRuns, run: Run): Promise<Record<string, string>> =>
  Object.fromEntries((await ambit.runs.list({ root: run.id })).runs.map(({ agent_id, status }) => [agent_id, status]))

test('a cancel ends what every descendant waits for, and each of them ends cancelled [G-73]', async () => {
  const { given, run, ended, count } = await givenTree()
  const events = given.ambit.runs.events(run.id)
  await run.cancel()
  await ended
  const { status, result, error } = await run.result()
  assert.deepEqual([status, result, error?.code], ['cancelled', null, 'run_cancelled'])
  const statuses = await statusesOf(given, run)
  assert.equal(Object.keys(statuses).length, count)
  assert.deepEqual([...new Set(Object.values(statuses))], ['cancelled'])
  const finished = []
  for await (const { type, data } of events) if (type === 'run.finished') finished.push(data['status'])
  assert.deepEqual(
    finished,
    Array.from({ length: count }, () => 'cancelled'),
  )
  const inEvidence = await given.evidence(run.id)
  assert.equal(inEvidence.filter(({ event_type }) => event_type === 'ambit.run.finished').length, count)
  assert.equal(inEvidence.at(-1)?.invocation_id, run.id)
})

test('a cancel of one child ends what is below it, and the rest goes on [G-73]', async () => {
  const waits = [givenWait(), givenWait()]
  const deep = side(
    'deep',
    waits.map(({ wait }, index) => agent(`leaf${index}`, wait)),
  )
  const top = agent('top', [calls(['agent_deep', { input: 'go' }]), 'went on'], { tools: [deep] })
  const given = await givenRuns({ agents: [top] })
  const run = await given.ambit.run('top', 'go')
  await Promise.all(waits.map(({ begun }) => begun))
  const child = (await given.ambit.runs.list({ agent: 'deep' })).runs[0]
  await given.ambit.runs.cancel(child?.run_id ?? '')
  await Promise.all(waits.map(({ ended }) => ended))
  assert.equal((await run.result()).result, 'went on')
  const statuses = { top: 'completed', deep: 'cancelled', leaf0: 'cancelled', leaf1: 'cancelled' }
  assert.deepEqual(await statusesOf(given, run), statuses)
  assert(finishedIn(await given.events(run.id), run.id).includes('agent_deep failed run_cancelled'))
})

test('a run that waits for people ends when it is cancelled, with all below it, and a later yes does nothing [G-73]', async () => {
  let paid = 0
  const pay = defineCapability(
    {
      ...{ id: 'test.pay', version: '1.0.0', description: 'Pays.', policy: {} },
      autonomy: { tier: 'approval_required' },
      effects: ['money.move'],
    },
    () => ++paid,
  )
  const payer = agent('payer', [calls('test_pay'), 'paid'], { tools: [pay] })
  const top = agent('top', [calls(['agent_payer', { input: 'go' }]), 'done'], { tools: [payer] })
  const given = await givenRuns({ agents: [top] })
  const boss = await given.approver('boss')
  const run = await given.ambit.run('top', 'go')
  const { waits_for } = await run.settled()
  await run.cancel()
  assert.equal((await run.result()).status, 'cancelled')
  assert.deepEqual(await statusesOf(given, run), { top: 'cancelled', payer: 'cancelled' })
  await boss.approvals.decide(waits_for[0] ?? '', 'approve').catch(() => undefined)
  await assert.rejects(given.ambit.runs.resume(run.id), { code: 'run.finished' })
  assert.equal(paid, 0)
})

test('a model that is limited is not waited for after a cancel, and nothing is begun any more [G-73]', async () => {
  const begun = Promise.withResolvers<void>()
  let turns = 0
  const limited = agent('limited', () => {
    turns++
    begun.resolve()
    return new Failure('model.limited', 'later', { retryAfterMs: 600_000 })
  })
  const given = await givenRuns({ agents: [limited] })
  const run = await given.ambit.run('limited', 'go')
  await begun.promise
  await run.cancel()
  assert.deepEqual([(await run.result()).status, turns], ['cancelled', 1])
})

test('calls that finished before a cancel keep their answers on record [G-73 G-70]', async () => {
  const { wait, begun } = givenWait()
  const desk = agent('desk', (request) => (request.messages.length > 1 ? wait(request) : calls('test_echo')), {
    tools: [echo()],
  })
  const given = await givenRuns({ agents: [desk] })
  const run = await given.ambit.run('desk', 'go')
  await begun
  await run.cancel()
  const record = await run.result()
  assert.deepEqual([record.status, record.usage.tool_calls, record.usage.model_turns], ['cancelled', 1, 1])
  assert.deepEqual(finishedIn(await given.events(run.id)), ['test_echo ok'])
})

const files = {
  'inner.yaml': 'id: inner\nversion: 1.0.0\nkind: llm\ninstruction: Wait.\n',
  'outer.yaml': 'id: outer\nversion: 1.0.0\nkind: sequential\nsteps:\n  - id: one\n    ref: inner\n',
}
const turn = `({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))`

test('a run ends wherever it is driven and through whichever door its end is asked for [G-73]', async () => {
  await throughDoors({ files, turn }, async ({ ambit, client, shell, url }) => {
    const cancels: Readonly<Record<string, (id: string) => Promise<unknown>>> = {
      library: (id) => ambit.runs.cancel(id),
      HTTP: (id) => client.runs.cancel(id),
      CLI: (id) => shell.good('runs', 'cancel', id),
      'CLI at a host': (id) => shell.good('runs', 'cancel', id, '--url', url),
    }
    const cancelled = async (driver: Ambit, cancel: (id: string) => Promise<unknown>): Promise<RunRecord[]> => {
      const run = await driver.run('outer', 'go')
      for await (const { data } of run.events()) if (data['agent'] === 'inner') break
      await cancel(run.id)
      await run.result()
      return (await driver.runs.list({ root: run.id })).runs
    }
    const all = [ambit, client].flatMap((driver) =>
      Object.entries(cancels).map(async ([name, cancel]) => ({ name, runs: await cancelled(driver, cancel) })),
    )
    for (const { name, runs } of await Promise.all(all))
      assert.deepEqual(
        runs.map(({ status }) => status),
        ['cancelled', 'cancelled'],
        name,
      )
  })
})

test('a run that a host in another process drives is ended at the store [G-73]', async () => {
  const shell = await administering(withFiles(givenShell(), { files, turn }), 'local')
  const host = await startHost(shell, '--port', '0')
  const run = await connect(host.url, shell.env['AMBIT_KEY'] ?? '').run('outer', 'go')
  for await (const { data } of run.events()) if (data['agent'] === 'inner') break
  await shell.good('runs', 'cancel', run.id)
  assert.equal((await run.result()).status, 'cancelled')
  const listed = (await shell.good('runs', 'list', '--root', run.id, '--json')).json<{ runs: RunRecord[] }>()
  assert.deepEqual(
    listed.runs.map(({ status }) => status),
    ['cancelled', 'cancelled'],
  )
  host.process.kill('SIGTERM')
  assert.equal(await host.ended, 0)
})

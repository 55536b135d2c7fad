import assert from 'node:assert/strict'
import { onTestFinished, test } from 'vitest'
import { defineAgent } from '../../src/runtime/agents/agent.ts'
import { rows } from '../../src/storage/work.ts'
import { tempFolder } from '../cli/given.ts'
import { throughDoors } from '../support/doors.ts'
import { echo } from '../support/host.ts'
import { startPostgres } from '../support/postgres.ts'
import { agent, calls, type GivenRuns, givenRuns, silent } from '../support/runs.ts'

/** Answers what it was told before, and last. */
const talker = (id = 'talker') => agent(id, ({ messages }) => messages.map(({ content }) => content).join(', '))

const stored = async ({ runtime }: GivenRuns): Promise<number> =>
  (await runtime.database.read(() => rows('SELECT 1 AS one FROM session_messages UNION ALL SELECT 1 FROM sessions')))
    .length

test('a run in a session reads what was said before in it, oldest first, and adds its own two messages [G-66]', async () => {
  const { run } = await givenRuns({ agents: [talker(), talker('other')] })
  const say = async (agent: string, text: string, sessionId?: string) =>
    (await run(agent, text, sessionId === undefined ? {} : { sessionId })).result
  assert.equal(await say('talker', 'one', 's'), 'one')
  assert.equal(await say('talker', 'two', 's'), 'one, one, two')
  assert.equal(await say('other', 'three', 's'), 'three')
  assert.equal(await say('talker', 'four', 'S'), 'four')
  assert.equal(await say('talker', 'five', 's'), 'one, one, two, one, one, two, five')
})

test('a run without a session reads no history and leaves none [G-79]', async () => {
  const given = await givenRuns({ agents: [talker()] })
  await given.run('talker', 'one')
  assert.deepEqual([(await given.run('talker', 'two')).result, await stored(given)], ['two', 0])
})

test('a manifest says how many messages are read, or that none is [G-66]', async () => {
  const last = agent('last', ({ messages }) => String(messages.length), { session: { maxMessages: 2 } })
  const none = agent('none', ({ messages }) => String(messages.length), { session: { strategy: 'none' } })
  const { run } = await givenRuns({ agents: [last, none] })
  const three = async (id: string) => {
    const said = []
    for (const text of ['a', 'b', 'c']) said.push((await run(id, text, { sessionId: 's' })).result)
    return said
  }
  assert.deepEqual(await three('last'), ['1', '3', '3'])
  assert.deepEqual(await three('none'), ['1', '1', '1'])
})

test('a run that fails or is cancelled leaves the history of its session as it was [G-66]', async () => {
  const moody = agent('moody', (request) => {
    const last = request.messages.at(-1)?.content
    if (last === 'wait') return silent(request)
    return last === 'fail' ? new Error('no') : request.messages.map(({ content }) => content).join(', ')
  })
  const { run, ambit } = await givenRuns({ agents: [moody] })
  await run('moody', 'one', { sessionId: 's' })
  assert.equal((await run('moody', 'fail', { sessionId: 's' })).status, 'failed')
  const waiting = await ambit.run('moody', 'wait', { sessionId: 's' })
  await waiting.cancel()
  assert.equal((await waiting.result()).status, 'cancelled')
  assert.equal((await run('moody', 'two', { sessionId: 's' })).result, 'one, one, two')
})

test('a run in the middle of a session keeps its two messages, however often it was paused [G-66]', async () => {
  const pay = echo({ id: 'test.pay', autonomy: { tier: 'approval_required' }, effects: ['money.move'] })
  const payer = agent(
    'payer',
    ({ messages }) => (messages.at(-1)?.role === 'tool' ? `${messages.length} messages` : calls('test_pay')),
    { tools: [pay] },
  )
  const given = await givenRuns({ agents: [payer] })
  const boss = await given.approver('boss')
  const pays = async () => {
    const run = await given.ambit.run('payer', 'pay', { sessionId: 's' })
    const { waits_for } = await run.settled()
    await boss.approvals.decide(waits_for[0] ?? '', 'approve')
    return (await run.result()).result
  }
  assert.deepEqual([await pays(), await pays()], ['3 messages', '5 messages'])
  assert.equal(await stored(given), 5)
})

test('a session goes on by its own id as by its name, with its own agent alone [G-66 G-79]', async () => {
  const { run, runtime } = await givenRuns({ agents: [talker(), talker('other')] })
  await run('talker', 'one', { sessionId: 'desk' })
  const [session] = await runtime.database.read(() => rows('SELECT id FROM sessions'))
  const byId = await run('talker', 'two', { sessionId: String(session?.['id']) })
  assert.deepEqual([byId.result, byId.session_id], ['one, one, two', 'desk'])
  assert.equal((await run('other', 'three', { sessionId: String(session?.['id']) })).result, 'three')
  assert.equal((await run('talker', 'four', { sessionId: 'desk' })).result, 'one, one, two, one, one, two, four')
})

test('one session is one history over every door [G-66 G-79]', async () => {
  const files = { 'talker.yaml': 'id: talker\nversion: 1.0.0\nkind: llm\ninstruction: Talk.\n' }
  const turn = `({ messages }) => ({ text: String(messages.length) })`
  await throughDoors({ files, turn }, async ({ doors }) => {
    const counts = []
    for (const door of Object.values(doors)) {
      counts.push((await door('talker', 'hi', { sessionId: 'shared' })).result)
      assert.equal((await door('talker', 'hi')).result, '1')
    }
    assert.deepEqual(counts, ['1', '3', '5', '7'])
  })
})

test('a second run in a busy session is refused, also by another host and while the first waits for people [G-66 G-75]', async () => {
  const folder = tempFolder()
  const pay = echo({ id: 'test.pay', autonomy: { tier: 'approval_required' }, effects: ['money.move'] })
  const agents = [agent('payer', () => calls('test_pay'), { tools: [pay] }), talker()]
  const one = await givenRuns({ agents }, { folder })
  const two = await givenRuns({ agents }, { folder })
  const first = await one.ambit.run('payer', 'go', { sessionId: 's' })
  assert.equal((await first.settled()).status, 'paused')
  for (const { run } of [one, two])
    await assert.rejects(run('payer', 'go', { sessionId: 's' }), {
      code: 'session.busy',
      message: 'session `s` has an active run',
      data: { session_id: 's', run_id: first.id },
    })
  assert.equal((await two.run('talker', 'hi', { sessionId: 's' })).status, 'completed')
  await first.cancel()
  await first.result()
  assert.equal((await two.run('payer', 'go', { sessionId: 's' })).status, 'paused')
})

test('of many runs that start in one session at once on two hosts one is taken, and either host can end it [G-66 G-73]', async () => {
  const server = await startPostgres({ fsync: false })
  onTestFinished(async () => server?.stop())
  const stores = [{}, ...(server ? [{ store: { driver: 'postgres' as const, url: await server.database() } }] : [])]
  for (const store of stores) {
    const place = { folder: tempFolder(), clock: Date }
    const open = () => givenRuns({ agents: [agent('desk', silent)], ...store }, place)
    const hosts = [await open(), await open()] as const
    const start = (index: number) => hosts[index % 2 === 0 ? 0 : 1].ambit.runs.start('desk', 'go', { sessionId: 's' })
    const started = await Promise.allSettled(Array.from({ length: 12 }, (_, index) => start(index)))
    const codes = started.map((each) => (each.status === 'fulfilled' ? '' : (each.reason as { code: string }).code))
    assert.deepEqual(codes.toSorted(), ['', ...Array.from({ length: 11 }, () => 'session.busy')])
    const taken = codes.indexOf('')
    const { runs } = await hosts[0].ambit.runs.list()
    await hosts[taken % 2 === 0 ? 1 : 0].ambit.runs.cancel(runs[0]?.run_id ?? '')
    for await (const { data } of hosts[0].ambit.runs.events(runs[0]?.run_id ?? ''))
      if (data['status'] !== undefined) assert.equal(data['status'], 'cancelled')
    await start(taken + 1)
  }
})

test('a child that code sends into a session is held to the same rules, and refused without harm [G-66 G-75]', async () => {
  const { promise: met, resolve } = Promise.withResolvers<void>()
  const waiter = agent('waiter', async ({ messages }) => {
    await met
    return String(messages.length)
  })
  const code = defineAgent({
    id: 'code',
    kind: 'tool',
    run: async (_: unknown, run) => {
      const ask = (options: object) => run.invoke('waiter', 'hi', options).catch(({ code }: { code: string }) => code)
      const first = ask({ sessionId: 's' })
      const refused = [{ sessionId: 's' }, { sessionId: 'a b' }, { contextIds: ['../x'] }]
      const codes = []
      for (const options of refused) codes.push(await ask(options))
      resolve()
      return [...codes, String(await first), String(await ask({ sessionId: 's' }))]
    },
  })
  const given = await givenRuns({ agents: [code, waiter] })
  const run = await given.run('code')
  assert.deepEqual(run.result, ['session_busy', 'id_invalid', 'id_invalid', '1', '3'])
  const children = (await given.ambit.runs.list({ root: run.run_id })).runs.filter(({ depth }) => depth === 1)
  assert.deepEqual(
    children.map(({ status }) => status),
    ['completed', 'completed'],
  )
  assert.equal((await given.evidence(run.run_id)).filter(({ outcome }) => outcome === 'failure').length, 3)
})

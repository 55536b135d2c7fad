import assert from 'node:assert/strict'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import type { Store } from '../../storage/store.ts'
import { eraseFacts, factsAt } from '../../storage/tables/runs/facts.ts'
import { addLeg, isOpenRun, legTaken } from '../../storage/tables/runs/legs.ts'
import { addRevocation, revocationsAfter, rootsAndLast } from '../../storage/tables/runs/revocations.ts'
import {
  addRun,
  addRunEvents,
  askToCancel,
  findRun,
  listRuns,
  putRun,
  removeRuns,
  runEventsOf,
  runInSession,
  runOfRequest,
  runsOfRoot,
  runsToCancel,
} from '../../storage/tables/runs/runs.ts'
import { addMessages, dropOldMessages, sessionOfId, sessionWindow } from '../../storage/tables/runs/sessions.ts'
import type { Change, Work } from '../../storage/work.ts'
import { allEvents, allPages, codes, type Given, type Register, type Setting, times } from './given.ts'
import { legOf, making, runId, sampleEvent, sampleRun, starting } from './run-samples.ts'
import { plainSeal, sampleDraft } from './sample.ts'

export function runRules(test: Register, on: Setting): void {
  test('a request id starts one run in a tenant, even at two places at once, and its case counts [F-12]', on(requests))
  test('of runs that begin in one session at the same time one does [F-12]', on(busy))
  test(
    'runs are found by tree, agent, status and time, newest first, and by the case of their agents [F-12]',
    on(listed),
  )
  test('events of a tree stay as they came first, and are read in order from any number [F-12]', on(told))
  test('facts lie beside their event, and an erase takes those of its scope, of one tenant [F-12]', on(facts))
  test('a run is asked to end while it is open, and not when it has ended [F-12]', on(cancelled))
  test(
    'a conversation shows its newest messages; of two that go on from one place one is kept [F-12]',
    on(conversation),
  )
  test('revocations count up without gaps, however many come at once [F-12]', on(revoked))
  test('what is removed of a tree takes nothing of another tree or tenant along [F-12]', on(removed))
}

async function requests({ store, second, tenant, other }: Given): Promise<void> {
  const start = (index: number) => {
    const change = starting({ run_id: runId(index) }, 'Key')
    const commit = { change, events: [sampleDraft(`e${index}`)], seal: plainSeal }
    return (index % 2 === 0 ? store : second).commit(tenant, commit)
  }
  const answers = await codes(times(12, start))
  assert.deepEqual(answers.toSorted(), [...times(11, () => 'event.conflict'), 'kept'])
  assert.equal((await allEvents(store, tenant)).length, 1)
  await store.write(tenant, starting({ run_id: runId(90) }, 'key'))
  await store.write(other, starting({ run_id: runId(90) }, 'Key'))
  const found = async (of: TenantId, key: string) => (await store.read(() => runOfRequest(of, key)))?.record.run_id
  assert.deepEqual(
    [await found(tenant, 'Key'), await found(tenant, 'key')],
    [runId(answers.indexOf('kept')), runId(90)],
  )
  assert.deepEqual([await found(other, 'Key'), await found(other, 'key')], [runId(90), undefined])
  await assert.rejects(store.write(tenant, starting({ run_id: runId(90) })), { code: 'event.conflict' })
}

async function busy({ store, second, tenant, other }: Given): Promise<void> {
  const begin = (of: TenantId, index: number, session_id: string) => {
    const change: Change<void> = function* (each): Work<void> {
      const [[found] = []] = yield [runInSession(each, 'desk', session_id)]
      if (found !== undefined) throw legTaken(String(found['run_id']))
      yield [addRun(each, sampleRun({ run_id: runId(index), session_id }), null)]
    }
    const commit = { change, events: [sampleDraft(`e${index}`)], seal: plainSeal }
    return (index % 2 === 0 ? store : second).commit(of, commit)
  }
  const answers = await codes(times(12, (index) => begin(tenant, index, 'chat')))
  assert.deepEqual(answers.toSorted(), ['kept', ...times(11, () => 'run.taken')])
  await begin(tenant, 50, 'Chat')
  await begin(other, 51, 'chat')
  const ended = sampleRun({ run_id: runId(answers.indexOf('kept')), session_id: 'chat', status: 'failed' })
  await store.write(
    tenant,
    making((of) => putRun(of, ended)),
  )
  await begin(tenant, 52, 'chat')
}

async function listed({ store, tenant, other }: Given): Promise<void> {
  const agents = ['desk', 'Desk', 'desk', 'clerk', 'desk']
  for (const [index, agent_id] of agents.entries()) {
    const status = index === 0 ? 'completed' : 'paused'
    const root_run_id = runId(index < 3 ? 0 : 3)
    await store.write(tenant, starting({ run_id: runId(index), root_run_id, agent_id, status }))
    await store.write(other, starting({ run_id: runId(index), agent_id: 'other' }))
  }
  const list = async (filter: Parameters<typeof listRuns>[1]) =>
    (await allPages(store, (options) => listRuns(tenant, filter, options), { limit: 2 })).map((run) =>
      Number.parseInt(run.run_id.slice(-4), 16),
    )
  assert.deepEqual(await list({}), [4, 3, 2, 1, 0])
  assert.deepEqual(await list({ agent: 'desk' }), [4, 2, 0])
  assert.deepEqual(await list({ status: 'paused', root: runId(0) }), [2, 1])
  assert.deepEqual(await list({ from: runId(1), to: runId(4) }), [3, 2, 1])
  const tree = (await store.read(() => runsOfRoot(tenant, runId(0)))).map(({ record }) => record.run_id)
  assert.deepEqual(tree, [runId(0), runId(1), runId(2)])
}

async function told({ store, second, tenant, other }: Given): Promise<void> {
  const add = (to: Store, of: TenantId, numbers: readonly number[], said: string) =>
    to.write(
      of,
      making((each) =>
        addRunEvents(
          each,
          numbers.map((event_id) => ({ event: sampleEvent(runId(1), event_id, said) })),
        ),
      ),
    )
  await add(store, tenant, [1, 2, 10], 'first')
  await add(second, tenant, [2, 3], 'again')
  await add(store, other, [1], 'other')
  const said = async (of: TenantId, after: number, limit = 9) =>
    (await store.read(() => runEventsOf(of, runId(1), after, limit))).map(({ event_id, data }) => [
      event_id,
      data['said'],
    ])
  assert.deepEqual(await said(tenant, 0), [
    [1, 'first'],
    [2, 'first'],
    [3, 'again'],
    [10, 'first'],
  ])
  assert.deepEqual([await said(tenant, 2, 1), await said(tenant, 10)], [[[3, 'again']], []])
  assert.deepEqual(await said(other, 0), [[1, 'other']])
}

async function cancelled({ store, tenant, other }: Given): Promise<void> {
  for (const owner of [tenant, other]) await store.write(owner, starting({}))
  const ask = (id: string) => store.write(tenant, askToCancel(id))
  assert.deepEqual([await ask(runId(1)), await ask(runId(1)), await ask(runId(2))], [true, true, false])
  const asked = (of: TenantId) => store.read(() => runsToCancel(of))
  assert.deepEqual([await asked(tenant), await asked(other)], [[runId(1)], []])
  await store.write(
    tenant,
    making((of) => putRun(of, sampleRun({ status: 'paused' }))),
  )
  assert.deepEqual(await asked(tenant), [runId(1)])
  await store.write(
    tenant,
    making((of) => putRun(of, sampleRun({ status: 'cancelled' }))),
  )
  assert.deepEqual([await asked(tenant), await ask(runId(1))], [[], false])
  assert.equal((await store.read(() => findRun(tenant, runId(1))))?.record.status, 'cancelled')
}

const chat = { agentId: 'desk', sessionId: 'chat' }

async function conversation({ store, second, tenant, other }: Given): Promise<void> {
  const say = (to: Store, last: number, content: string, name = chat, nowMs = 5) => {
    const message = { role: 'user' as const, content, run_id: runId(1), at: '' }
    return to.write(
      tenant,
      making((of) => addMessages(of, name, { id: `id of ${name.sessionId}`, last, nowMs }, [message])),
    )
  }
  const read = async (limit: number, of = tenant, name = chat) => {
    const { id, last, messages } = await store.read(() => sessionWindow(of, name, limit))
    return [id, last, ...messages.map(({ content }) => content)]
  }
  assert.deepEqual(await read(2), [undefined, 0])
  for (const [last, content] of ['a', 'b', 'c'].entries()) await say(store, last, content)
  assert.deepEqual(await read(2), ['id of chat', 3, 'b', 'c'])
  const raced = await codes([say(store, 3, 'd'), say(second, 3, 'd'), say(second, 3, 'd')])
  assert.deepEqual(raced.toSorted(), ['event.conflict', 'event.conflict', 'kept'])
  await say(store, 0, 'A', { ...chat, sessionId: 'Chat' }, 50)
  assert.deepEqual(await read(9, tenant, { ...chat, sessionId: 'Chat' }), ['id of Chat', 1, 'A'])
  assert.deepEqual(
    [await read(1), await read(9, other)],
    [
      ['id of chat', 4, 'd'],
      [undefined, 0],
    ],
  )
  const named = (of: TenantId, agent: string) => store.read(() => sessionOfId(of, agent, 'id of chat'))
  assert.deepEqual(
    [await named(tenant, 'desk'), await named(tenant, 'Desk'), await named(other, 'desk')],
    ['chat', undefined, undefined],
  )
  const drop = (of: TenantId, beforeMs: number, limit = 3) => store.write(of, dropOldMessages(beforeMs, limit))
  assert.deepEqual(
    [await drop(other, 99), await drop(tenant, 5), await drop(tenant, 6), await drop(tenant, 6)],
    [0, 0, 3, 1],
  )
  assert.deepEqual(
    [(await read(9)).length, await read(9, tenant, { ...chat, sessionId: 'Chat' })],
    [2, ['id of Chat', 1, 'A']],
  )
}

async function revoked({ store, second, tenant, other }: Given): Promise<void> {
  const revoke = (index: number) =>
    (index % 2 === 0 ? store : second).commit(tenant, {
      change: addRevocation({ by: 'path', target: `acme/${index}` }),
      events: [sampleDraft(`e${index}`)],
      seal: plainSeal,
    })
  await Promise.all(times(20, revoke))
  const all = await store.read(() => revocationsAfter(tenant, 0))
  assert.deepEqual(
    all.map(({ number }) => number),
    times(20, (index) => index + 1),
  )
  assert.equal(new Set(all.map(({ target }) => target)).size, 20)
  assert.deepEqual(
    (await store.read(() => revocationsAfter(tenant, 18))).map(({ number }) => number),
    [19, 20],
  )
  const last = async (of: TenantId) => (await store.read(() => rootsAndLast(of))).last
  assert.deepEqual([await last(tenant), await last(other)], [20, 0])
}

async function facts({ store, tenant, other }: Given): Promise<void> {
  const paths = ['a', 'a/b', 'a/b/c', 'a/bc', 'A/b', 'b']
  for (const each of [tenant, other])
    await store.write(
      each,
      making((tenantId) =>
        addRunEvents(
          tenantId,
          paths.map((path, index) => ({
            event: sampleEvent(runId(1), index + 1),
            facts: { body: path, paths: [path, 'x'] },
          })),
        ),
      ),
    )
  const left = async (of: TenantId) => {
    const found = await Promise.all(paths.map((_, index) => store.read(() => factsAt(of, runId(1), index + 1))))
    return found.filter((body) => body !== undefined)
  }
  assert.deepEqual(await left(tenant), paths)
  await store.write(tenant, (of) => eraseFacts(of, 'a/b'))
  assert.deepEqual([await left(tenant), await left(other)], [['a/bc', 'A/b', 'b'], paths])
  await store.write(tenant, (of) => eraseFacts(of, 'a/b'))
  await store.write(tenant, (of) => eraseFacts(of, 'x/y'))
  assert.deepEqual([await left(tenant), await left(other)], [[], paths])
}

async function removed({ store, tenant, other }: Given): Promise<void> {
  const fill = (of: TenantId, root: number, sessionId: string) => {
    const message = { role: 'user' as const, content: 'hi', run_id: runId(root + 1), at: '' }
    return store.write(
      of,
      making(
        (each) => addRun(each, sampleRun({ run_id: runId(root), session_id: sessionId }), null),
        (each) => addRun(each, sampleRun({ run_id: runId(root + 1), root_run_id: runId(root) }), null),
        (each) => addRunEvents(each, [{ event: sampleEvent(runId(root), 1), facts: { body: 'f', paths: ['a/b'] } }]),
        (each) => addLeg(each, legOf(runId(root)), 0),
        (each) => addMessages(each, { ...chat, sessionId }, { id: sessionId, last: 0, nowMs: 0 }, [message]),
      ),
    )
  }
  const countIn = async (of: TenantId, root: number, sessionId: string) => [
    (await store.read(() => runsOfRoot(of, runId(root)))).length,
    (await store.read(() => runEventsOf(of, runId(root), 0, 9))).length,
    (await store.read(() => sessionWindow(of, { ...chat, sessionId }, 9))).messages.length,
    await store.read(() => isOpenRun(of, runId(root))),
  ]
  for (const [of, root, name] of [
    [tenant, 10, 'a'],
    [tenant, 20, 'b'],
    [other, 10, 'a'],
  ] as const)
    await fill(of, root, name)
  await store.write(
    tenant,
    making((of) => removeRuns(of, runId(10))),
  )
  assert.deepEqual(await countIn(tenant, 10, 'a'), [0, 0, 0, false])
  assert.deepEqual(await countIn(tenant, 20, 'b'), [2, 1, 1, true])
  assert.deepEqual(await countIn(other, 10, 'a'), [2, 1, 1, true])
}

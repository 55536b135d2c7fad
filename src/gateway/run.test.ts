import assert from 'node:assert/strict'
import { afterAll, describe, test } from 'vitest'
import { z } from 'zod'
import { emptySchema } from '../../test/storage/target.ts'
import { approvalIdOf, givenApprovals, payload } from '../../test/support/approvals.ts'
import { anyone, echo, givenHost, recordOf, stillClock, typesOf } from '../../test/support/host.ts'
import { startPostgres } from '../../test/support/postgres.ts'
import { Failure } from '../base/failure.ts'
import { hasExpired } from '../grants/grant.ts'
import type { Grant } from '../model/grant.ts'
import { tenantId } from '../model/identity/tenant-id.ts'
import type { Policy } from '../model/policy.ts'
import { putBlob } from '../storage/tables/blobs.ts'
import { type Change, rows } from '../storage/work.ts'
import { CommitWith, defineCapability, runCapability } from './capability.ts'
import { type Driving, noAdditions, type RunBounds, type RunTool } from './run.ts'

const server = await startPostgres({ fsync: false })
afterAll(() => server?.stop())

const tenant = tenantId('northlight')

const grant = (path: string, expires_at: string | null = null): Grant => ({
  path,
  id: 'gr_0000000001',
  expires_at,
  minted_by: 'test',
  basis: [],
  derived_from: [],
})

type Run = NonNullable<Driving['run']>

const entry = {
  run_id: 'run_0000000000000001',
  tool_call_id: null,
  policy_decision_id: null,
  approval_mode_effective: null,
  grants: ['northlight/eu'],
  ceilings: {},
  provider: null,
  mode: null,
  surface: null,
  scopes: [],
}

const run = (bounds: Partial<RunBounds> = {}, more: Partial<Run> = {}): Run => ({
  id: 'run_0000000000000001',
  rootId: 'run_0000000000000001',
  agent: 'desk',
  grants: [grant('northlight/eu')],
  entry,
  facts: { run: { purpose: 'restock' }, agent: { id: 'desk' } },
  ...more,
  bounds: {
    surface: new Set(['memory.write', 'test.echo']),
    tools: new Map([['memory.write', tool()]]),
    budgets: [],
    deadlineMs: Number.MAX_SAFE_INTEGER,
    liveGrants: (now) => (more.grants ?? [grant('northlight/eu')]).filter((each) => !hasExpired(each.expires_at, now)),
    ...bounds,
  },
})

/** Writes a text, as memory of a run will, with the change committed with the outcome. */
const tool = (resource: Partial<NonNullable<RunTool['resource']>> = {}): RunTool => ({
  resource: {
    name: 'memory',
    kind: 'notes',
    mode: 'read-write',
    effective: 'read-write',
    isCeiling: false,
    ...resource,
  },
  handler: (input, _, grants) => {
    const { text } = input as { text: string }
    if (text === 'wait') return new Promise(() => undefined)
    const refused = new Failure('event.conflict', 'the run moved on')
    const change: Change = function* (of) {
      yield* putBlob(Buffer.from(text))(of)
      if (text === 'conflict') throw refused
    }
    return new CommitWith(text === 'odd' ? { odd: true } : { written: grants[0] ?? '' }, change, grants)
  },
})

const checkpoint = (text: string) => ({ changes: [putBlob(Buffer.from(text))], events: [] })

const write = () =>
  runCapability({
    id: 'memory.write',
    version: '1.0.0',
    description: 'Writes a text.',
    input: z.object({ text: z.string() }),
    output: z.object({ written: z.string() }),
  })

async function given(spec: Parameters<typeof givenHost>[0] = { capabilities: [] }, config: object = {}) {
  const world = await givenHost({ ...spec, capabilities: [write(), echo(), ...(spec.capabilities ?? [])] }, config)
  const { store } = world.ambit
  let commits = 0
  const commit = store.commit.bind(store)
  const writeAlone = store.write.bind(store)
  Object.assign(store, {
    commit: (...args: Parameters<typeof commit>) => {
      commits++
      return commit(...args)
    },
    write: (...args: Parameters<typeof writeAlone>) => {
      commits++
      return writeAlone(...args)
    },
  })
  const blobs = async () =>
    (await store.read(() => rows('SELECT bytes FROM blobs')))
      .map(({ bytes }) => Buffer.from(bytes as never).toString())
      .sort()
  const make = async (driving: Driving, envelope: object = {}) => {
    const input = { text: 'memory' }
    const made = { capability_id: 'memory.write', payload: input, ...envelope }
    return (await world.host.gateway.invoke(anyone, made, driving)).result
  }
  const events = async () => (await world.events()).filter(({ event_type }) => event_type.startsWith('execution_'))
  return { ...world, events, blobs, make, commits: () => commits }
}

describe('a made-up run [H-24]', () => {
  test('sees its surface alone, and what is outside it does not exist [H-24]', async () => {
    const { host, make, events } = await given({
      capabilities: [echo({ id: 'test.other' }), echo({ id: 'test.off' })],
      lifecycles: { 'test.off': 'unavailable' },
    })
    const { surface } = run().bounds
    assert.deepEqual(
      host.gateway
        .discover(anyone, surface)
        .map(({ id }) => id)
        .sort(),
      ['memory.write', 'test.echo'],
    )
    assert.equal(host.gateway.discover(anyone).length, 3)
    const answers = await Promise.all(
      ['test.other', 'test.off', 'test.none'].map((capability_id) => make({ run: run() }, { capability_id })),
    )
    for (const { denial, capability_id } of answers)
      assert.deepEqual(denial, {
        code: 'capability_not_found',
        message: `capability \`${capability_id}\` not found`,
        retryable: false,
      })
    for (const event of await events())
      assert.deepEqual(
        recordOf(event).basis?.map(({ gate }) => gate),
        ['5b'],
      )
    const plain = await make({}, { capability_id: 'test.other' })
    assert.equal(plain.outcome, 'success')
  })

  const withTool = (resource: Parameters<typeof tool>[0]): Partial<RunBounds> => ({
    tools: new Map([['memory.write', tool(resource)]]),
  })
  test.each([
    ['a resource that no grant reaches', withTool({ branches: ['northlight/us'] }), 'grant_missing'],
    ['a kind that is not delegated to it', withTool({ effective: 'read', isCeiling: true }), 'resource_ceiling'],
    ['a kind that is hidden from it', withTool({ effective: 'none' }), 'resource_ceiling'],
    ['a tool that writes in mode read', withTool({ effective: 'read' }), 'resource_read_only'],
    ['a grant that was revoked', { liveGrants: () => [] }, 'grant_revoked'],
  ] as [string, Partial<RunBounds>, string][])(
    'is refused at 5b with %s [G-43 G-59 H-24]',
    async (_, bounds, reason) => {
      const { make, events, blobs } = await given()
      const { denial } = await make({ run: run(bounds) })
      assert.deepEqual([denial?.code, denial?.details?.['reason']], ['policy_blocked', reason])
      const last = (await events()).at(-1)
      assert.deepEqual(
        recordOf(last).basis?.map(({ gate }) => gate),
        ['5b'],
      )
      assert.deepEqual(await blobs(), [])
    },
  )

  test('gives its tool the granted paths, and has on record what it was granted and what it touched [G-71 H-24]', async () => {
    const { make, events } = await given()
    const bounds = withTool({ branches: ['northlight/eu/desk', 'northlight'] })
    const { data } = await make({ run: run(bounds) }, { invocation_id: 'tool_1' })
    assert.deepEqual(data, { written: 'northlight/eu/desk' })
    const record = recordOf((await events()).at(-1)).run
    const touched = ['northlight/eu/desk', 'northlight/eu']
    assert.deepEqual(record, {
      ...entry,
      ...{ tool_call_id: 'tool_1', provider: 'notes', mode: 'read-write', scopes: touched },
    })
  })

  test('a tool of runs does not exist without a run, nor in a run that has no such tool [G-58 H-24]', async () => {
    const { make, host } = await given()
    assert.deepEqual(
      host.gateway.discover(anyone).map(({ id }) => id),
      ['test.echo'],
    )
    for (const driving of [{}, { run: run({ tools: new Map() }) }])
      assert.equal((await make(driving)).denial?.code, 'capability_not_found')
  })

  test('holds a grant until the instant it expires, and its arguments are checked before it [H-24]', async () => {
    const clock = stillClock()
    const { make } = await given({ capabilities: [] }, { clock })
    const expiring = run({}, { grants: [grant('northlight', new Date(clock.now() + 1).toISOString())] })
    assert.equal((await make({ run: expiring })).outcome, 'success')
    clock.advance(1)
    const { denial } = await make({ run: expiring })
    assert.equal(denial?.details?.['reason'], 'grant_expired')
    const wrong = await make({ run: expiring }, { payload: { text: 1 } })
    assert.equal(wrong.denial?.code, 'input_schema_validation_failed')
  })

  test('reserves at 10b, is refused there when its budget is spent or its time is over [H-39 H-99]', async () => {
    const { make, events } = await given()
    const place = { budget: 'run', holder: 'run_0000000000000001', startsAtMs: 0, endsAtMs: 9e15 }
    const budgets = [{ place, limits: { calls: 1 } }]
    const both = await Promise.all([make({ run: run({ budgets }) }), make({ run: run({ budgets }) })])
    assert.deepEqual(both.map(({ outcome }) => outcome).sort(), ['denied', 'success'])
    const { denial } = await make({ run: run({ budgets }) })
    assert.deepEqual([denial?.code, denial?.details?.['left']], ['budget_exceeded', 0])
    assert.equal(denial?.message, 'budget `run` has 0 of 1 calls left')
    const last = (await events()).at(-1)
    assert.deepEqual(recordOf(last).basis?.at(-1)?.gate, '10b')
    const over = await make({ run: run({ deadlineMs: 0 }) })
    assert.deepEqual([over.denial?.code, over.denial?.details?.['limit']], ['budget_exceeded', 'deadline'])
  })

  test('is read by rules as `run`, `user` and `agent`, which are on record; without a run they are absent [H-47]', async () => {
    const policy: Policy = {
      name: 'p',
      version: '1',
      applies_to: ['test.*'],
      rules: [{ id: 'restock', when: { '==': [{ var: 'run.purpose' }, 'restock'] }, decision: 'allow' }],
    }
    const { make, events } = await given({ capabilities: [], policies: [policy] })
    assert.equal((await make({ run: run() }, { capability_id: 'test.echo' })).outcome, 'success')
    assert.deepEqual(recordOf((await events()).at(-1)).facts, { 'run.purpose': 'restock' })
    assert.equal((await make({}, { capability_id: 'test.echo' })).denial?.code, 'policy_blocked')
    assert.deepEqual(recordOf((await events()).at(-1)).facts, { 'run.purpose': null })
  })
})

test('people approve a call of one run with its grants, and of no other [H-54]', async () => {
  const { host, planner, person, decide, done } = await givenApprovals()
  await person('ida')
  const ask = async (by: Driving['run'] | undefined, onOutcome?: Driving['onOutcome']) => {
    const envelope = { capability_id: 'depot.release', invocation_id: 'inv-1', payload }
    const driving = { ...(by && { run: by }), ...(onOutcome && { onOutcome }) }
    return (await host.gateway.invoke(planner, envelope, driving)).result
  }
  const mine = run({ surface: () => true })
  const seen: string[] = []
  const first = await ask(mine, ({ denial }) => {
    seen.push(denial?.code ?? '')
    return noAdditions
  })
  assert.deepEqual(seen, ['approval_required'])
  await decide(approvalIdOf(first), 'ida', { decision: 'edit', payload: { batch: 'B-2', minutes: 3 } })
  const wider = { ...mine, grants: [grant('northlight')] }
  assert.equal((await ask(mine)).outcome, 'success')
  assert.deepEqual(done, [{ batch: 'B-2', minutes: 3 }])
  const other = async (by: Driving['run'] | undefined) => {
    const given = await givenApprovals()
    await given.person('ida')
    const envelope = { capability_id: 'depot.release', invocation_id: 'inv-1', payload }
    const asked = (await given.host.gateway.invoke(given.planner, envelope, { run: mine })).result
    await given.decide(approvalIdOf(asked), 'ida', 'approve')
    const again = (await given.host.gateway.invoke(given.planner, envelope, by && { run: by })).result
    return [again.outcome, approvalIdOf(again) === approvalIdOf(asked)]
  }
  assert.deepEqual(await other(wider), ['denied', false])
  assert.deepEqual(await other({ ...mine, id: 'run_0000000000000002' }), ['denied', false])
  assert.deepEqual(await other(undefined), ['denied', false])
})

describe('a change that a handler hands back [H-45]', () => {
  test('is no result of a capability that others define [H-45]', async () => {
    const theirs = defineCapability(
      { id: 'test.theirs', version: '1.0.0', description: 'Tries.', policy: {} },
      () => new CommitWith(1, putBlob(Buffer.from('no'))) as never,
    )
    const { make, blobs } = await given({ capabilities: [theirs] })
    const { error } = await make({}, { capability_id: 'test.theirs', payload: {} })
    assert.deepEqual([error?.code, await blobs()], ['invalid_result', []])
  })
})

describe('two transactions on SQLite [H-45]', () => {
  transactions(async () => ({}))
})

describe.skipIf(server === undefined)('two transactions on PostgreSQL [H-45]', () => {
  transactions(async () => ({ store: { driver: 'postgres', url: await emptySchema(server) } }))
})

function transactions(config: () => Promise<object>): void {
  test('a run leaves its checkpoint with intent and outcome, in two transactions in all [H-45 F-13]', async () => {
    const { make, blobs, commits, events } = await given({ capabilities: [] }, { config: await config() })
    const before = commits()
    const result = await make({
      run: run(),
      onIntent: () => checkpoint('intent'),
      onOutcome: ({ outcome }) => checkpoint(`outcome ${outcome}`),
    })
    assert.deepEqual([result.outcome, result.data], ['success', { written: 'northlight/eu' }])
    assert.equal(commits() - before, 2)
    assert.deepEqual(await blobs(), ['intent', 'memory', 'outcome success'])
    assert.deepEqual(typesOf(await events()), ['execution_started', 'execution_completed'])
  })

  test('a run leaves its checkpoint with a refusal in one transaction, and a repeat writes nothing [H-45 H-60]', async () => {
    const { make, blobs, commits } = await given({ capabilities: [] }, { config: await config() })
    const driving = { run: run({ surface: new Set() }), onOutcome: () => checkpoint('refused') }
    const before = commits()
    await make(driving, { invocation_id: 'one' })
    assert.deepEqual([commits() - before, await blobs()], [1, ['refused']])
    const again = await make({ ...driving, onOutcome: () => assert.fail('written again') }, { invocation_id: 'one' })
    assert.deepEqual([again.replayed, commits() - before], [true, 1])
  })

  test('a run leaves no checkpoint where the outcome is not written [H-45]', async () => {
    const { make, blobs } = await given({ capabilities: [] }, { config: await config() })
    const refuse = () => ({
      changes: [
        putBlob(Buffer.from('checkpoint')),
        // biome-ignore lint/correctness/useYield: a change that fails at once
        function* () {
          throw new Failure('event.conflict', 'another process drives the run')
        },
      ],
      events: [],
    })
    const result = await make({ run: run(), onOutcome: refuse as never })
    assert.deepEqual([result.outcome, result.error?.code], ['indeterminate', 'outcome_not_recorded'])
    assert.equal(result.error?.effect, 'none')
    assert.deepEqual(await blobs(), [])
    const { error } = await make({ run: run(), onIntent: refuse as never }).catch((error: unknown) => ({ error }))
    assert(error instanceof Failure && error.code === 'event.conflict')
  })

  test('a change that a handler hands back is not made when it fails: the call is a failure without effect [H-45]', async () => {
    const { make, blobs, events } = await given({ capabilities: [] }, { config: await config() })
    const { outcome, error } = await make({ run: run() }, { payload: { text: 'conflict' } })
    assert.deepEqual([outcome, error?.code, error?.effect], ['failure', 'event_conflict', 'none'])
    assert.deepEqual(await blobs(), [])
    assert.deepEqual(typesOf(await events()), ['execution_started', 'execution_failed'])
  })

  test('a change that a handler hands back is not made where the result fails a strict output schema [H-42]', async () => {
    const { make, blobs } = await given({ capabilities: [] }, { config: await config() })
    const odd = { payload: { text: 'odd' }, require_output_schema: true }
    const { outcome, denial } = await make({ run: run() }, odd)
    assert.deepEqual([outcome, denial?.details?.['effect']], ['denied', 'none'])
    assert.deepEqual(await blobs(), [])
  })

  test('a change that a handler hands back has had no effect if the process ended before the outcome [H-45]', async () => {
    const clock = stillClock()
    const { make, host, ambit, events } = await given({ capabilities: [] }, { clock, config: await config() })
    const leaving = new AbortController()
    const cut = make({ run: run(), signal: leaving.signal }, { invocation_id: 'cut', payload: { text: 'wait' } })
    while ((await events()).length === 0) await new Promise(setImmediate)
    await ambit.store.write(tenant, function* () {
      yield* rows("UPDATE claims SET owner = 'gone'")
    })
    assert.deepEqual((await host.gateway.tidyUp()).interrupted, ['cut'])
    const recorded = await host.gateway.recorded(anyone, 'cut')
    assert.deepEqual(
      [recorded?.outcome, recorded?.error?.code, recorded?.error?.effect],
      ['failure', 'interrupted', 'none'],
    )
    leaving.abort()
    assert.equal((await cut).outcome, 'indeterminate')
  })
}

import assert from 'node:assert/strict'
import { afterAll, describe, test } from 'vitest'
import { tempFolder } from '../../../test/cli/given.ts'
import { emptySchema } from '../../../test/storage/target.ts'
import { anyone, echo, givenHost, recordOf, stillClock } from '../../../test/support/host.ts'
import { startPostgres } from '../../../test/support/postgres.ts'
import { limits } from '../../base/limits.ts'
import type { CallRecord, EvidenceEvent } from '../../model/evidence.ts'
import type { Policy } from '../../model/policy.ts'
import { noHistory, withCall } from '../../policy/history.ts'
import { compilePolicies } from '../../policy/policies.ts'
import { shadow } from '../../policy/shadow.ts'
import { makeOffer, type OfferSpec } from '../../runtime/hosting/offer.ts'
import { amendHistory, historyOf } from '../../storage/tables/histories.ts'
import type { CallCaller } from '../call.ts'
import { defineCapability } from '../capability.ts'

const server = await startPostgres({ fsync: false })
afterAll(() => server?.stop())

const patients = echo({
  id: 'ward.patients',
  policy: { data_classification: 'Confidential' },
  origin: 'mcp:ward',
  network: 'internal',
})
const weather = echo({ id: 'web.weather', network: 'external', origin: 'https://weather.example' })
const notes = echo({ id: 'ward.notes', network: 'none' })
const unsaid = echo({ id: 'ward.unsaid' })

/** After confidential data was read, nothing goes outside. */
const inside: Policy = {
  name: 'inside',
  version: '1',
  applies_to: ['*'],
  rules: [
    { id: 'any', when: true, decision: 'allow' },
    {
      id: 'tainted',
      when: {
        and: [
          { some: [{ var: 'history.classes' }, { in: [{ var: '' }, ['confidential', 'restricted']] }] },
          { '==': [{ var: 'capability.network' }, 'external'] },
        ],
      },
      decision: 'deny',
    },
  ],
}

const ward: OfferSpec = { capabilities: [patients, weather, notes, unsaid], policies: [inside] }
const to = (capability_id: string, more: object = {}) => ({ capability_id, ...more })

describe('after confidential data was read nothing outside is called [H-98]', () => {
  test('before, it may; after, it may not, and the denial names the rule and what it read', async () => {
    const { call, caller, events } = await givenHost(ward)
    const agent = await caller({ id: 'agent', kind: 'agent' })
    assert.equal((await call(agent, to('web.weather'))).outcome, 'success')
    assert.equal((await call(agent, to('ward.patients'))).outcome, 'success')
    assert.equal((await call(agent, to('ward.notes'))).outcome, 'success')
    const { denial } = await call(agent, to('web.weather'))
    assert.deepEqual([denial?.code, denial?.details?.['matched_rule']], ['policy_blocked', 'inside/tainted'])
    const { basis, facts } = recordOf((await events()).at(-1))
    assert.deepEqual(basis?.[0]?.reads, ['capability.network', 'history.classes'])
    assert.deepEqual(facts, {
      'capability.network': 'external',
      'history.calls': 3,
      'history.capabilities': ['web.weather', 'ward.patients', 'ward.notes'],
      'history.classes': ['confidential'],
      'history.origins': ['https://weather.example', 'mcp:ward', 'internal'],
      'history.truncated': false,
    })
  })

  test('a capability that does not say how far it reaches is taken for one that may', async () => {
    const { call } = await givenHost(ward)
    assert.equal((await call(anyone, to('ward.unsaid'))).outcome, 'success')
    await call(anyone, to('ward.patients'))
    assert.equal((await call(anyone, to('ward.unsaid'))).denial?.details?.['matched_rule'], 'inside/tainted')
  })

  test('the denial names the policy of that rule, whatever the capability calls its own', async () => {
    const fax = echo({ id: 'ward.fax', network: 'external', policy: { name: 'faxes', statement: 'Anyone may fax.' } })
    const { call } = await givenHost({ capabilities: [patients, fax], policies: [inside] })
    await call(anyone, to('ward.patients'))
    const { denial } = await call(anyone, to('ward.fax'))
    assert.deepEqual([denial?.message, denial?.details?.['policy']], ['inside does not allow this call', 'inside'])
  })

  test('another correlation is no way out, and another principal is not concerned', async () => {
    const { call, caller } = await givenHost(ward)
    const [agent, other] = [await caller({ id: 'a', kind: 'agent' }), await caller({ id: 'b', kind: 'agent' })]
    await call(agent, to('ward.patients', { correlation: { correlation_id: 'one' } }))
    const elsewhere = to('web.weather', { correlation: { correlation_id: 'two' } })
    assert.equal((await call(agent, elsewhere)).outcome, 'denied')
    assert.equal((await call(other, elsewhere)).outcome, 'success')
  })

  test('callers without a name share one history, whatever they say of themselves', async () => {
    const { call } = await givenHost(ward)
    await call({ ...anyone, name: 'shared' }, to('ward.patients', { subject: { id: 'x' } }))
    assert.equal((await call({ ...anyone, name: 'open' }, to('web.weather', { subject: { id: 'y' } }))).success, false)
  })

  test('a history that the door names counts by itself, and where the host says so a correlation does', async () => {
    const { call, host, caller } = await givenHost(ward)
    const agent = await caller({ id: 'agent', kind: 'agent' })
    const inHistory = (history: string): CallCaller => ({ ...agent, history })
    await call(inHistory('one'), to('ward.patients'))
    assert.equal((await call(inHistory('one'), to('web.weather'))).success, false)
    assert.equal((await call(inHistory('two'), to('web.weather'))).success, true)
    assert.equal((await call(agent, to('web.weather'))).success, true)

    host.offer(makeOffer(host.hostId, { ...ward, history: 'correlation' }))
    const inTask = (id: string, correlation_id: string) => call(agent, to(id, { correlation: { correlation_id } }))
    await inTask('ward.patients', 'one')
    assert.equal((await inTask('web.weather', 'one')).success, false)
    assert.equal((await inTask('web.weather', 'two')).success, true)
  })

  test('a result that is given again is read again, in the history of the caller that gets it', async () => {
    const { call, caller, host } = await givenHost(ward)
    const agent = await caller({ id: 'agent', kind: 'agent' })
    const inHistory = (history: string): CallCaller => ({ ...agent, history })
    const read = to('ward.patients', { invocation_id: 'read' })
    await call(inHistory('one'), read)
    assert.equal((await call(inHistory('two'), to('web.weather'))).success, true)
    assert.equal((await call(inHistory('two'), read)).replayed, true)
    assert.equal((await call(inHistory('two'), to('web.weather'))).success, false)
    assert.equal((await call(inHistory('three'), to('web.weather'))).success, true)
    assert.equal((await host.gateway.recorded(inHistory('three'), 'read'))?.success, true)
    assert.equal((await call(inHistory('three'), to('web.weather'))).success, false)
  })

  test('what a stream gave before it failed is read again, too', async () => {
    const broken = defineCapability(
      {
        id: 'ward.rounds',
        version: '1.0.0',
        description: 'Reads aloud.',
        modes: ['stream'],
        policy: { data_classification: 'confidential' },
      },
      async function* () {
        yield 'bed 4'
        assert.fail('bed 5 is empty')
      },
    )
    const { call, caller, host } = await givenHost({ ...ward, capabilities: [broken, weather] })
    const agent = await caller({ id: 'agent', kind: 'agent' })
    const inHistory = (history: string): CallCaller => ({ ...agent, history })
    const read = to('ward.rounds', { mode: 'stream', invocation_id: 'read' })
    await call(inHistory('one'), read)
    assert.equal((await call(inHistory('two'), to('web.weather'))).success, true)
    assert.deepEqual((await host.gateway.invoke(inHistory('two'), read)).chunks, ['bed 4'])
    assert.equal((await call(inHistory('two'), to('web.weather'))).success, false)
  })

  test('a result that is given again carries what it did, whatever its capability says by now', async () => {
    const { call, caller, host } = await givenHost(ward)
    const agent = await caller({ id: 'agent', kind: 'agent' })
    const inHistory = (history: string): CallCaller => ({ ...agent, history })
    const read = to('ward.patients', { invocation_id: 'read' })
    await call(inHistory('one'), read)
    const others = [echo({ id: 'ward.patients', version: '1.0.1' }), weather]
    host.offer(makeOffer(host.hostId, { ...ward, capabilities: others }))
    assert.equal((await call(inHistory('two'), read)).replayed, true)
    assert.equal((await call(inHistory('two'), to('web.weather'))).success, false)
    host.offer(makeOffer(host.hostId, { ...ward, capabilities: [weather] }))
    assert.equal((await host.gateway.recorded(inHistory('three'), 'read'))?.success, true)
    assert.equal((await call(inHistory('three'), to('web.weather'))).success, false)
  })

  test('a policy that is added later knows what was read before it', async () => {
    const { call, host } = await givenHost({ ...ward, policies: [] })
    await call(anyone, to('ward.patients'))
    assert.equal((await call(anyone, to('web.weather'))).success, true)
    host.offer(makeOffer(host.hostId, ward))
    assert.equal((await call(anyone, to('web.weather'))).success, false)
  })

  test('a history is forgotten so long after its last call, and its row is dropped', async () => {
    const clock = stillClock()
    const { call, host, ambit } = await givenHost({ ...ward, historyHours: 2 }, { clock })
    const hour = 3_600_000
    const isRefused = async () => !(await call(anyone, to('web.weather'))).success
    await call(anyone, to('ward.patients'))
    clock.advance(2 * hour - 1)
    assert.equal(await isRefused(), true)
    assert.equal((await call(anyone, to('ward.notes'))).success, true)
    clock.advance(2 * hour - 1)
    assert.equal(await isRefused(), true)
    clock.advance(1)
    assert.equal(await isRefused(), false)
    clock.advance(2 * hour)
    await host.gateway.tidyUp()
    const dump = await ambit.store.read(() => historyOf(host.tenant, '9:principal9:anonymous', 0))
    assert.equal(dump, undefined)
  })
})

test('what is refused is not remembered, and what fails is [H-98]', async () => {
  const few: Policy = {
    ...inside,
    rules: [{ id: 'two', when: { '<': [{ var: 'history.calls' }, 2] }, decision: 'allow' }],
  }
  const failing = {
    ...echo({ id: 'ward.fails', input: { type: 'object', required: ['n'] } }),
    handler: () => assert.fail(),
  }
  const { call } = await givenHost({ capabilities: [failing], policies: [few] })
  for (let turn = 0; turn < 3; turn++)
    assert.equal((await call(anyone, to('ward.fails'))).denial?.code, 'input_schema_validation_failed')
  const outcomes: string[] = []
  for (let turn = 0; turn < 3; turn++)
    outcomes.push((await call(anyone, to('ward.fails', { payload: { n: turn } }))).outcome)
  assert.deepEqual(outcomes, ['failure', 'failure', 'denied'])
})

test('a result says its class and where it comes from, beside its digest [H-98]', async () => {
  const { call, events } = await givenHost(ward)
  await call(anyone, to('ward.patients'))
  await call(anyone, to('ward.notes'))
  const [read, other] = (await events()).filter(({ event_type }) => event_type === 'execution_completed')
  const { decision: _, output, ...labels } = (read?.payload ?? {}) as Record<string, unknown>
  assert.match(String(output), /^hmac-sha256:/)
  assert.deepEqual(labels, { data_classification: 'confidential', origin: 'mcp:ward' })
  assert.deepEqual(Object.keys(other?.payload ?? {}).sort(), ['decision', 'output'])
})

test('a list that grows too long answers nothing, and a rule that asks it denies [H-98]', async () => {
  const seen: Policy = {
    ...inside,
    rules: [
      { id: 'any', when: true, decision: 'allow' },
      { id: 'seen', when: { in: ['ward.secret', { var: ['history.capabilities', []] }] }, decision: 'deny' },
    ],
  }
  const { call, host, ambit, events } = await givenHost({ capabilities: [notes], policies: [seen] })
  let history = noHistory
  for (let turn = 0; turn <= limits.historyEntriesMax; turn++)
    history = withCall(history, { capability: `c.${turn}`, class: undefined, origin: 'internal' })
  assert.equal(history.capabilities.length, limits.historyEntriesMax)
  const amend = amendHistory({
    key: '9:principal9:anonymous',
    nowMs: 0,
    expiresAtMs: Number.MAX_SAFE_INTEGER,
    next: () => JSON.stringify(history),
  })
  await ambit.store.write(host.tenant, amend)
  assert.equal((await call(anyone, to('ward.notes'))).denial?.details?.['reason'], 'policy_error')
  const last = (await events()).at(-1) as EvidenceEvent
  const { decision: record } = last.payload as { decision: CallRecord }
  assert.deepEqual(record.facts?.['history.capabilities'], { truncated: true })
  const again = (path: string) => {
    const rules = seen.rules.map((rule) => ({
      ...rule,
      when: JSON.parse(JSON.stringify(rule.when).replace('history.capabilities', path)),
    }))
    return shadow(compilePolicies([{ ...seen, rules }]), {
      capabilityId: 'ward.notes',
      timestamp: last.timestamp,
      record,
    })
  }
  assert.deepEqual(again('history.capabilities'), { is: 'equal', decision: 'deny' })
  assert.deepEqual(again('history.origins'), { is: 'differs', from: 'deny', to: 'allow', rule: 'inside/any' })
})

test('the record of a call has what its rules read and all of its history, so that another policy can be tried on it [H-49 H-98]', async () => {
  const { call, events } = await givenHost(ward)
  await call(anyone, to('ward.patients'))
  await call(anyone, to('web.weather'))
  const last = (await events()).at(-1) as EvidenceEvent
  const record = (last.payload as { decision: never }).decision
  const recorded = { capabilityId: last.capability_id, timestamp: last.timestamp, record }
  const answer = (rules: Policy['rules']) => shadow(compilePolicies([{ ...inside, rules }]), recorded)
  assert.deepEqual(answer(inside.rules), { is: 'equal', decision: 'deny' })
  assert.deepEqual(answer(inside.rules.slice(0, 1)), {
    is: 'differs',
    from: 'deny',
    to: 'allow',
    rule: 'inside/any',
  })
  const asksMore = { id: 'more', when: { '>': [{ var: 'history.calls' }, 1] }, decision: 'allow' } as const
  assert.deepEqual(answer([asksMore]), { is: 'equal', decision: 'deny' })
  const risky = { id: 'risky', when: { '==': [{ var: 'capability.risk' }, 'high'] }, decision: 'allow' } as const
  assert.deepEqual(answer([risky]), { is: 'needs', from: 'deny', fields: ['capability.risk'] })
})

describe('a call that starts after a read has started knows of it, on SQLite [H-98]', () => races(undefined))
describe.skipIf(server === undefined)(
  'a call that starts after a read has started knows of it, on PostgreSQL [H-98]',
  () => races(async () => ({ driver: 'postgres', url: await emptySchema(server) })),
)

function races(store: (() => Promise<object>) | undefined): void {
  const config = async () => ({
    config: { store: (await store?.()) ?? { driver: 'sqlite', path: `${tempFolder()}/a.db` } },
  })

  test('a read that starts between the rules and the intent of another call stops it there', async () => {
    const read = { started: false }
    const given = await givenHost(
      {
        ...ward,
        safety: async ({ capabilityId }) => {
          // The rules have let it through; now the read comes first.
          if (capabilityId === 'web.weather' && !read.started) {
            read.started = true
            await given.call(anyone, to('ward.patients'))
          }
          return { approved: true, level: 'none', score: 0 }
        },
      },
      await config(),
    )
    const late = await given.call(anyone, to('web.weather'))
    assert.deepEqual([late.outcome, late.denial?.details?.['matched_rule']], ['denied', 'inside/tainted'])
    assert.deepEqual(startsOf(await given.events()), ['ward.patients'])
  })

  test('of many calls at once, none outside starts after the first that reads', async () => {
    const { call, caller, events } = await givenHost(ward, await config())
    const agent = await caller({ id: 'agent', kind: 'agent' })
    const ids = Array.from({ length: 40 }, (_, index) => (index === 15 ? 'ward.patients' : 'web.weather'))
    const results = await Promise.all(ids.map((id) => call(agent, to(id))))
    const starts = startsOf(await events())
    assert.equal(starts.indexOf('ward.patients'), starts.length - 1)
    assert.equal(results.filter(({ success }) => success).length, starts.length)
    for (const { success, denial } of results) assert(success || denial?.details?.['matched_rule'] === 'inside/tainted')
  })

  test('a limit that a rule sets on the calls of a history is exact under many at once', async () => {
    const few: Policy = {
      ...inside,
      rules: [{ id: 'seven', when: { '<': [{ var: 'history.calls' }, 7] }, decision: 'allow' }],
    }
    const { call } = await givenHost({ capabilities: [notes], policies: [few] }, await config())
    const results = await Promise.all(Array.from({ length: 40 }, () => call(anyone, to('ward.notes'))))
    assert.equal(results.filter(({ success }) => success).length, 7)
  })
}

const startsOf = (events: readonly EvidenceEvent[]): string[] =>
  events.filter(({ event_type }) => event_type === 'execution_started').map(({ capability_id }) => capability_id)

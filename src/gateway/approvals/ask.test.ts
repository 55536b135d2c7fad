import assert from 'node:assert/strict'
import { expect, test } from 'vitest'
import {
  approvalIdOf,
  askingPolicy,
  type GivenApprovals,
  givenApprovals,
  payload,
} from '../../../test/support/approvals.ts'
import { echo, recordOf, typesOf } from '../../../test/support/host.ts'
import { approvalRequest } from '../../model/approval.ts'
import { makeOffer } from '../../runtime/hosting/offer.ts'
import { allPages } from '../../storage/page.ts'
import { approvalRecords } from '../../storage/tables/approvals.ts'
import { privateOf } from './request.ts'

const minute = 60_000
const asked = echo({
  id: 'a.asked',
  policy: { approval_required: true },
  input: {
    type: 'object',
    properties: { pin: { type: 'string', 'x-sensitive': true }, password: {}, login: { $ref: '#/$defs/login' } },
    $defs: { login: { properties: { token: {} } } },
  },
})
const typesIn = async ({ events }: GivenApprovals) =>
  typesOf((await events()).filter(({ correlation }) => correlation.correlation_id === 'task'))
const reasonOf = ({ denial }: { denial?: { details?: Record<string, unknown> | undefined } | null | undefined }) =>
  denial?.details?.['reason']

test('a request names policy, statement, roles, quorum and expiry; the call is told the same [H-51 H-53 H-59]', async () => {
  const given = await givenApprovals({ roles: ['pharmacist'], quorum: 2, expires_in_s: 7200 })
  await given.person('ida')
  const denied = await given.ask(
    { ...payload, patient: 'Nora Vik' },
    { metadata: { purpose: 'shortage for Nora Vik' } },
  )
  const request = await given.request(approvalIdOf(denied))
  expect(request).toMatchObject({
    state: 'pending',
    created_at: '2026-06-16T15:00:00.000Z',
    expires_at: '2026-06-16T17:00:00.000Z',
    policy: { name: 'release', version: '1', statement: 'A pharmacist releases what was warm.' },
    required: { roles: ['pharmacist'], approvers: [], quorum: 2 },
    capability: { id: 'depot.release', version: '1.0.0' },
    requested_by: { id: 'planner', verified: true },
    purpose: 'shortage for [redacted]',
    preview: { input_valid: true, problems: [] },
    shown: [
      { name: 'minutes', value: 14 },
      { name: 'payload:/batch', value: 'B-1' },
      { name: 'payload:/minutes', value: 14 },
      { name: 'payload:/patient', value: '[redacted]' },
    ],
  })
  assert(approvalRequest.safeParse(request).success)
  expect(denied.denial?.details).toMatchObject({
    policy: 'release',
    approval_id: request.approval_id,
    expires_at: request.expires_at,
    quorum: 2,
    roles: ['pharmacist'],
  })
})

test('a caller cannot hide from approvers what is to be done [H-59]', async () => {
  const given = await givenApprovals({}, {}, { capabilities: [asked], policies: [] })
  await given.person('ida', { roles: [] })
  const said = { to: 'mallory', command: 'ls; rm -rf /srv', account: 'NO-1', token: { run: 'a/b' } }
  const hiding = { password: 'ls; rm -rf /srv', pin: 'mallory' }
  const [long, longer] = ['a'.repeat(300), `${'a'.repeat(300)}b`] as const
  const payload = { ...said, ...hiding, login: { token: 'NO-1', cookie: 'x' }, [long]: 1, [longer]: 2 }
  const denied = await given.ask(payload, { capability_id: 'a.asked' })
  const { shown } = await given.request(approvalIdOf(denied))
  const byName = new Map(shown.map(({ name, value }) => [name.replace('payload:/', ''), value]))
  for (const [name, value] of Object.entries(said)) assert.deepEqual(byName.get(name), value)
  for (const name of Object.keys(hiding)) assert.equal(byName.get(name), '[redacted]')
  assert.deepEqual(byName.get('login'), { token: '[redacted]', cookie: 'x' })
  assert.equal(byName.size, Object.keys(payload).length)
})

test('of a call that is confidential as a whole approvers are shown what its arguments are called [H-59]', async () => {
  const policy = { approval_required: true, data_classification: 'confidential' }
  const amount = {
    source: 'payload:/amount',
    schema: { type: 'integer' },
    show_to_approver: true,
  } as const
  const context = { name: 'c', version: '1.0.0', identifies: 'what', fields: { amount }, example: { amount: 1 } }
  const given = await givenApprovals(
    {},
    {},
    { capabilities: [echo({ id: 'a.secret', policy, context })], policies: [] },
  )
  const denied = await given.ask({ amount: 1000000, to: 'mallory' }, { capability_id: 'a.secret' })
  assert.deepEqual((await given.request(approvalIdOf(denied))).shown, [
    { name: 'amount', value: 1000000 },
    { name: 'payload:/amount', value: '[redacted]' },
    { name: 'payload:/to', value: '[redacted]' },
  ])
})

test('a no comes with its reason; who said it stays with them [H-56]', async () => {
  const given = await givenApprovals({}, {}, { capabilities: [asked], policies: [] })
  await given.person('ida', { roles: [] })
  const ask = () => given.ask({}, { capability_id: 'a.asked', invocation_id: 'one' })
  const denied = await ask()
  assert.equal(denied.denial?.message, 'the capability demands that people approve before execution')
  assert.deepEqual((await given.request(approvalIdOf(denied))).policy.name, 'declared')
  await given.decide(approvalIdOf(denied), 'ida', { decision: 'deny', rationale: 'not `today`' })
  const { denial } = await ask()
  assert.equal(denial?.message, 'the call was not approved: `not \\u{60}today\\u{60}`')
  assert.doesNotMatch(JSON.stringify(denial), /ida/)
})

test('requests are listed for those who may decide, until they have [H-53 H-55 H-97]', async () => {
  const given = await givenApprovals({ roles: ['pharmacist'], quorum: 2 })
  await given.person('ida')
  await given.person('jo')
  await given.person('kai', { roles: ['accountant'] })
  const id = approvalIdOf(await given.ask())
  const listed = async (name: string) =>
    (await given.host.gateway.pendingFor(name)).map(({ approval_id }) => approval_id)
  assert.deepEqual(
    [await listed('ida'), await listed('jo'), await listed('kai'), await listed('planner')],
    [[id], [id], [], []],
  )
  const decided = await given.decide(id, 'ida', 'approve')
  assert.deepEqual([await listed('ida'), await listed('jo')], [[], [id]])
  const [seen] = await given.host.gateway.pendingFor('jo')
  assert.deepEqual([seen, await given.request(id)], [decided, decided])
  given.clock.advance(15 * minute)
  assert.deepEqual(await listed('jo'), [])
})

test('a call that goes on stays in the task in which people were asked, whatever the repeat says [H-22 H-57]', async () => {
  const given = await givenApprovals()
  await given.person('ida')
  const id = approvalIdOf(await given.ask())
  await given.decide(id, 'ida', 'approve')
  const trace_id = '4bf92f3577b34da6a3ce929d0e0e4736'
  const done = await given.ask(payload, { correlation: { correlation_id: 'another', trace_id } })
  assert.deepEqual([done.success, done.correlation], [true, { correlation_id: 'task', trace_id }])
  const tasks = new Set((await given.events()).map(({ correlation }) => correlation.correlation_id))
  assert.equal(tasks.has('another'), false)
  assert.equal((await typesIn(given)).at(-1), 'execution_completed')
})

test('nothing is done, and no result given, before the people agreed; then once [H-52 H-57 H-58]', async () => {
  const given = await givenApprovals({ roles: ['pharmacist'], quorum: 2 })
  await given.person('ida')
  await given.person('jo')
  const id = approvalIdOf(await given.ask())
  assert.equal((await given.ask()).replayed, true)
  await given.decide(id, 'ida', 'approve')
  assert.equal((await given.ask()).denial?.code, 'approval_required')
  assert.deepEqual(given.done, [])
  assert.equal((await given.decide(id, 'jo', 'approve')).state, 'approved')
  const done = await given.ask()
  assert.deepEqual([done.data, given.done], [{ slot: 1 }, [payload]])
  assert.deepEqual([(await given.ask()).replayed, given.done.length], [true, 1])
  const request = await given.request(id)
  assert.deepEqual([request.state, request.redeemed_at !== null], ['redeemed', true])
  assert.deepEqual(await typesIn(given), [
    ...['approval_requested', 'execution_denied', 'approval_granted'],
    ...['approval_grant_verified', 'approval_grant_verified', 'execution_started', 'execution_completed'],
  ])
  expect(recordOf((await given.events()).at(-1)).approval).toMatchObject({
    approval_id: id,
    quorum: 2,
    digest: request.invocation_digest,
    approvers: [
      { name: 'ida', role: 'pharmacist', custody: 'host' },
      { name: 'jo', role: 'pharmacist', custody: 'host' },
    ],
  })
})

const finance = { ...askingPolicy({ roles: ['finance'] }), name: 'spending' }

test('each policy that asks must be satisfied: adding one never widens who may let a call through [H-35 H-51 H-55 H-56]', async () => {
  const given = await givenApprovals(undefined, {}, { policies: [askingPolicy(), finance] })
  await given.person('ida')
  await given.person('fay', { roles: ['finance'] })
  const denied = await given.ask()
  const id = approvalIdOf(denied)
  const also = [{ roles: ['finance'], approvers: [], quorum: 1 }]
  expect(await given.request(id)).toMatchObject({ required: { roles: ['pharmacist'], approvers: [], quorum: 1, also } })
  expect(denied.denial?.details).toMatchObject({
    also,
    required_next_action: 'wait for 1 approval by pharmacist and 1 approval by finance, then repeat this invocation_id',
  })
  assert.equal((await given.decide(id, 'fay', 'approve')).state, 'pending')
  assert.deepEqual([(await given.ask()).denial?.code, given.done], ['approval_required', []])
  assert.equal((await given.decide(id, 'ida', 'approve')).state, 'approved')
  assert.deepEqual([(await given.ask()).outcome, given.done], ['success', [payload]])
  expect(recordOf((await given.events()).at(-1)).approval?.approvers).toMatchObject([
    { name: 'fay', role: 'finance' },
    { name: 'ida', role: 'pharmacist' },
  ])
})

test('a yes is void when a further policy asks for others too [H-54 H-57]', async () => {
  const given = await givenApprovals()
  await given.person('ida')
  const first = approvalIdOf(await given.ask())
  await given.decide(first, 'ida', 'approve')
  const capabilities = [...given.host.current().registry.all()]
  given.host.offer(makeOffer('northlight-depot', { capabilities, policies: [askingPolicy(), finance] }))
  assert.notEqual(approvalIdOf(await given.ask()), first)
  assert.deepEqual(given.done, [])
})

test('one no ends it: the id is answered with it from then on, and one event says so [H-56 H-58]', async () => {
  const given = await givenApprovals({ roles: ['pharmacist'], quorum: 2 })
  await given.person('ida')
  await given.person('jo')
  const id = approvalIdOf(await given.ask())
  await given.decide(id, 'ida', 'approve')
  await given.decide(id, 'jo', 'deny')
  const refused = await given.ask()
  assert.deepEqual([refused.denial?.code, reasonOf(refused), given.done], ['policy_blocked', 'approval_denied', []])
  assert.deepEqual(await typesIn(given), ['approval_requested', 'execution_denied', 'approval_denied'])
  await assert.rejects(given.decide(id, 'ida', 'approve'), { code: 'approval.used' })
})

test.each(['a tidy-up first', 'the call first', 'both at once'])(
  'expiry is a no, said by exactly one event: %s [H-56 H-58]',
  async (who) => {
    const given = await givenApprovals()
    await given.person('ida')
    const id = approvalIdOf(await given.ask())
    given.clock.advance(15 * minute)
    await assert.rejects(given.decide(id, 'ida', 'approve'), { code: 'approval.expired' })
    const tidyUp = () => given.host.gateway.tidyUp()
    if (who === 'a tidy-up first') await tidyUp()
    if (who === 'both at once') await Promise.all([given.ask(), tidyUp(), given.ask(), tidyUp()])
    const refused = await given.ask()
    await tidyUp()
    assert.deepEqual([refused.denial?.code, reasonOf(refused), given.done], ['policy_blocked', 'approval_expired', []])
    assert.equal((await given.request(id)).state, 'expired')
    assert.deepEqual(await typesIn(given), ['approval_requested', 'execution_denied', 'approval_denied'])
    const last = (await given.events()).at(-1)
    assert.deepEqual([last?.payload['reason' as never], last?.subject?.id], ['expired', 'northlight-depot'])
  },
)

test.each(['a tidy-up', 'the call'])(
  'an approval not used in time is over, and was decided once: %s first [H-57 H-58]',
  async (who) => {
    const given = await givenApprovals()
    await given.person('ida')
    const id = approvalIdOf(await given.ask())
    await given.decide(id, 'ida', 'approve')
    given.clock.advance(15 * minute)
    if (who === 'a tidy-up') {
      assert.equal((await given.host.gateway.tidyUp()).expired, 1)
      const kept = await given.ambit.store.read(() => approvalRecords.get(given.host.tenant, id))
      assert.deepEqual([kept.request.state, 'call' in privateOf(kept)], ['expired', false])
    }
    assert.equal(reasonOf(await given.ask()), 'approval_expired')
    assert.deepEqual(await typesIn(given), ['approval_requested', 'execution_denied', 'approval_granted'])
  },
)

test.each([
  ['actor', { actor: { id: 'another' } }],
  ['binding', { binding: { id: 'elsewhere' } }],
  ['snapshot of evidence', { metadata: { evidence_snapshot: 's-2' } }],
])('a yes is void when the %s changes: asked once more, then blocked [H-54]', async (_, changed) => {
  const given = await givenApprovals()
  await given.person('ida')
  const first = approvalIdOf(await given.ask())
  await given.decide(first, 'ida', 'approve')
  const second = approvalIdOf(await given.ask(payload, changed))
  assert.notEqual(second, first)
  assert.deepEqual([(await given.request(first)).state, given.done], ['stale', []])
  await assert.rejects(given.decide(first, 'ida', 'approve'), { code: 'approval.stale' })
  const third = await given.ask()
  assert.deepEqual([third.denial?.code, reasonOf(third), given.done], ['policy_blocked', 'approval_stale', []])
  assert.equal((await given.ask(payload, changed)).replayed, true)
})

test('a yes is void when the policy or the capability changes [H-54 H-57]', async () => {
  const given = await givenApprovals()
  await given.person('ida')
  const first = approvalIdOf(await given.ask())
  await given.decide(first, 'ida', 'approve')
  const [registered] = given.host.current().registry.all()
  assert(registered)
  given.host.offer(
    makeOffer('northlight-depot', {
      capabilities: [registered],
      policies: [askingPolicy({ roles: ['pharmacist'] }, '2')],
    }),
  )
  const second = approvalIdOf(await given.ask())
  assert.notEqual(second, first)
  assert.deepEqual(given.done, [])
})

test('a call that was approved is judged by today’s policy, and a refusal takes the request back [H-57]', async () => {
  const given = await givenApprovals()
  await given.person('ida')
  const id = approvalIdOf(await given.ask())
  await given.decide(id, 'ida', 'approve')
  const [registered] = given.host.current().registry.all()
  assert(registered)
  given.host.offer(
    makeOffer('northlight-depot', { capabilities: [registered], policies: [askingPolicy()], block: ['depot.*'] }),
  )
  assert.equal((await given.ask()).denial?.code, 'policy_blocked')
  assert.deepEqual([(await given.request(id)).state, given.done], ['withdrawn', []])
})

test('another payload under the id of a waiting call is another call [H-54 H-61]', async () => {
  const given = await givenApprovals()
  await given.person('ida')
  const id = approvalIdOf(await given.ask())
  await given.decide(id, 'ida', 'approve')
  assert.equal(reasonOf(await given.ask({ ...payload, minutes: 15 })), 'invocation_id_reused')
  assert.deepEqual(given.done, [])
  assert.equal((await given.ask()).outcome, 'success')
})

test('fifty resumes at once use the yes once [H-57 H-62]', async () => {
  const given = await givenApprovals()
  await given.person('ida')
  const id = approvalIdOf(await given.ask())
  await given.decide(id, 'ida', 'approve')
  const results = await Promise.all(Array.from({ length: 50 }, () => given.ask()))
  assert.equal(given.done.length, 1)
  assert.deepEqual(new Set(results.map(({ data }) => JSON.stringify(data))), new Set(['{"slot":1}']))
  assert.equal((await typesIn(given)).filter((type) => type === 'execution_started').length, 1)
})

test('many decide at once: the decision falls once, with one event [H-56 H-58]', async () => {
  const given = await givenApprovals({ roles: ['pharmacist'], quorum: 3 })
  const names = Array.from({ length: 8 }, (_, index) => `p${index}`)
  for (const name of names) await given.person(name)
  const id = approvalIdOf(await given.ask())
  await Promise.allSettled(names.map((name) => given.decide(id, name, 'approve')))
  const { votes, state } = await given.request(id)
  assert.deepEqual([state, votes.length], ['approved', 3])
  assert.equal((await typesIn(given)).filter((type) => type === 'approval_granted').length, 1)
})

test('approvers are not asked about a payload that does not validate, and the denial says where [H-59]', async () => {
  const given = await givenApprovals()
  await given.person('ida')
  const denied = await given.ask({ minutes: 14 })
  assert.equal(denied.denial?.code, 'approval_required')
  assert.deepEqual(denied.denial?.details?.['preview'], {
    input_valid: false,
    problems: [{ path: '', keyword: 'required' }],
  })
  assert.match(denied.denial.message, /, and the payload does not fit the input schema: `batch` is missing$/)
  assert.deepEqual(await given.host.gateway.pendingFor('ida'), [])
  const id = approvalIdOf(denied)
  assert.equal((await given.request(id)).state, 'withdrawn')
  await assert.rejects(given.decide(id, 'ida', 'approve'), { code: 'approval.stale' })
  assert.deepEqual(await typesIn(given), ['approval_requested', 'execution_denied'])
})

test('a capability that always needs a yes asks at gate 8, behind its limits [H-34 H-51]', async () => {
  const given = await givenApprovals(
    undefined,
    {},
    {
      capabilities: [echo({ id: 'a.always', policy: { approval_required: true }, autonomy: { action_limit: 1 } })],
      policies: [],
    },
  )
  await given.person('ida', { roles: [] })
  const ask = (id: string) => given.ask({}, { capability_id: 'a.always', invocation_id: id })
  const id = approvalIdOf(await ask('one'))
  await given.decide(id, 'ida', 'approve')
  assert.equal((await ask('one')).outcome, 'success')
  assert.equal((await ask('two')).denial?.code, 'budget_exceeded')
  const all = await given.ambit.store.read(() => allPages((page) => approvalRecords.list(given.host.tenant, {}, page)))
  assert.equal(all.length, 1)
})

test('what the queue keeps of a call is gone once it is settled, and never shown [H-50 H-53]', async () => {
  const given = await givenApprovals()
  await given.person('ida')
  const id = approvalIdOf(await given.ask({ ...payload, patient: 'Nora Vik' }))
  const stored = () => given.ambit.store.read(() => approvalRecords.get(given.host.tenant, id))
  assert.equal(JSON.stringify((await stored()).request).includes('Nora'), false)
  await given.decide(id, 'ida', 'approve')
  await given.ask({ ...payload, patient: 'Nora Vik' })
  assert.equal(JSON.stringify(await stored()).includes('Nora'), false)
})

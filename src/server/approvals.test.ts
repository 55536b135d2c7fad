import assert from 'node:assert/strict'
import { test } from 'vitest'
import { type GivenServer, givenServer, sharedKey } from '../../test/support/server.ts'
import { addApprover, revokeApprover } from '../runtime/identity/approvers.ts'
import { operator } from '../runtime/identity/caller.ts'

const approval = { capability_id: 'conformance.approval', payload: { value: 1 } }

async function givenPeople(): Promise<GivenServer & { readonly ida: string; readonly jo: string }> {
  const server = await givenServer()
  const keys = {
    ida: await server.keyOf({ id: 'ida', kind: 'user' }),
    jo: await server.keyOf({ id: 'jo', kind: 'user' }),
  }
  const me = operator(server.host.tenant)
  for (const principal of ['ida', 'jo']) await addApprover(server.ambit, me, { principal, roles: ['lead'] })
  return { ...server, ...keys }
}

test('a request waits for those who may decide, and other people cannot see it [H-53]', async () => {
  const { ask, ida, jo } = await givenPeople()
  const { body: denied } = await ask('POST', '/invoke', { key: ida, body: approval })
  const id = denied.denial.details.approval_id
  const listed = async (key: string) =>
    (await ask('GET', '/v1/approvals', { key })).body.approvals.map(
      (request: { approval_id: string }) => request.approval_id,
    )
  assert.deepEqual(await listed(jo), [id])
  assert.deepEqual(await listed(sharedKey), [id])
  // Neither the caller nor a person who is no approver decides.
  assert.deepEqual([await listed(ida), await listed('key-of-alice')], [[], []])
  const statusFor = async (key: string) => (await ask('GET', `/v1/approvals/${id}`, { key })).status
  assert.deepEqual([await statusFor(ida), await statusFor(jo), await statusFor(sharedKey)], [200, 200, 200])
  assert.equal((await ask('GET', `/v1/approvals/${id}`, { key: 'key-of-alice' })).body.code, 'approval_not_found')
  assert.equal((await ask('GET', '/v1/approvals/apr_0')).body.code, 'approval_not_found')
  assert.deepEqual((await ask('GET', '/v1/approvals?state=denied')).body, { approvals: [] })
  for (const query of ['state=none', 'limit=0', 'limit=x', 'cursor=x'])
    assert.equal((await ask('GET', `/v1/approvals?${query}`)).status, 400)
})

test('a caller cannot put into a request what those who list it cannot read [H-02 H-53]', async () => {
  const { ask, ida, jo } = await givenPeople()
  const asked = (purpose: unknown) => ask('POST', '/invoke', { key: ida, body: { ...approval, metadata: { purpose } } })
  for (const purpose of ['x'.repeat(257), 'two\nlines', '\u001b[2J']) {
    const { status, body } = await asked(purpose)
    assert.deepEqual([status, body.error.code], [400, 'bad_request'])
    assert.match(body.error.message, /`\/metadata\/purpose` must be 1 to 256 characters/)
  }
  for (const purpose of ['', 7, 'shortage']) assert.equal((await asked(purpose)).body.denial.code, 'approval_required')
  const { approvals } = (await ask('GET', '/v1/approvals', { key: jo })).body
  assert.deepEqual(
    approvals.map((request: { purpose: string | null }) => request.purpose),
    ['shortage', null, null],
  )
})

test('a request waits for a person by any of their entries, and not for a revoked approver [H-53 H-55]', async () => {
  const { ask, ambit, host, ida, jo } = await givenPeople()
  const me = operator(host.tenant)
  await revokeApprover(ambit, me, 'jo')
  const { body: denied } = await ask('POST', '/invoke', { key: ida, body: approval })
  const id = denied.denial.details.approval_id
  const seen = async () => [
    (await ask('GET', '/v1/approvals', { key: jo })).body.approvals.length,
    (await ask('GET', `/v1/approvals/${id}`, { key: jo })).status,
  ]
  assert.deepEqual(await seen(), [0, 404])
  await addApprover(ambit, me, { id: 'jo-2', principal: 'jo', roles: ['lead'] })
  assert.deepEqual(await seen(), [1, 200])
})

test('a decision is taken from whom it waits for, once, and lets the same call through once [H-52 H-57]', async () => {
  const { ask, ida, jo, keyOf } = await givenPeople()
  const body = { ...approval, invocation_id: 'inv_1' }
  const { denial } = (await ask('POST', '/invoke', { key: ida, body })).body
  const path = `/v1/approvals/${denial.details.approval_id}/decision`
  const decide = async (key: string, decision: unknown) => ask('POST', path, { key, body: decision })
  const yes = { decision: 'approve', rationale: 'fine' }
  assert.equal((await decide(ida, yes)).body.code, 'approval_self')
  for (const key of [sharedKey, 'key-of-alice', await keyOf({ id: 'kim', kind: 'user' }, ['conformance.*'])])
    assert.equal((await decide(key, yes)).body.code, 'approver_not_permitted')
  for (const bad of [{}, { decision: 'maybe' }, { ...yes, more: 1 }, { ...yes, grant: 'x' }])
    assert.equal((await decide(jo, bad)).status, 400)
  assert.equal((await decide(jo, yes)).body.state, 'approved')
  assert.equal((await decide(jo, yes)).body.code, 'approval_used')
  const done = await ask('POST', '/invoke', { key: ida, body })
  assert.deepEqual([done.body.outcome, done.body.data], ['success', { echo: 1 }])
  const again = await ask('POST', '/invoke', { key: ida, body })
  assert.equal(again.body.replayed, true)
  assert.equal((await ask('GET', `/v1/approvals/${denial.details.approval_id}`, { key: jo })).body.state, 'redeemed')
  assert.equal((await ask('POST', '/v1/approvals/apr_0/decision', { key: jo, body: yes })).status, 404)
})

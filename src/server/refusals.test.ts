import assert from 'node:assert/strict'
import { test } from 'vitest'
import { stillClock } from '../../test/support/host.ts'
import { type GivenServer, givenServer, sharedKey } from '../../test/support/server.ts'
import type { EvidenceEvent } from '../model/evidence.ts'
import { purgeEvidence } from '../runtime/evidence/purge.ts'
import { runtimeEvents } from '../runtime/identity/admin.ts'
import { issueKey, revokeKey, rotateKey } from '../runtime/identity/api-keys.ts'
import { addApprover, revokeApprover } from '../runtime/identity/approvers.ts'
import { operator } from '../runtime/identity/caller.ts'
import { createPrincipal, revokePrincipal } from '../runtime/identity/principals.ts'
import { removeSecret, setSecret } from '../runtime/identity/secrets.ts'
import { rotateTenantKey, setTenantStatus } from '../runtime/identity/tenants.ts'
import { allPages } from '../storage/page.ts'
import { findEvents } from '../storage/tables/events.ts'

const eventsIn = async ({ ambit, host }: GivenServer, type?: string): Promise<readonly EvidenceEvent[]> => {
  const filter = type === undefined ? {} : { type }
  const found = await ambit.store.read(() => allPages((page) => findEvents(host.tenant, filter, page)))
  return found.toReversed().map(({ body }) => JSON.parse(body) as EvidenceEvent)
}
const refusals = (server: GivenServer) => eventsIn(server, 'ambit.entry.refused')

const decision = (server: GivenServer, key: string, body: unknown = { decision: 'approve' }) =>
  server.ask('POST', '/v1/approvals/apr_0/decision', { key, body })

test('what a known caller is refused at a path of ours is on record: the place, and nothing of what was sent [H-96]', async () => {
  const server = await givenServer()
  const key = await server.keyOf({ id: 'kim', kind: 'user' }, ['conformance.*'])
  const { status, body } = await decision(server, key, { decision: 'approve', rationale: 'canary' })
  assert.equal(status, 403)
  const [event, ...more] = await refusals(server)
  assert(event !== undefined && more.length === 0)
  const { invocation_id, correlation, capability_id, subject, outcome, payload } = event
  assert.deepEqual([capability_id, subject?.id, outcome], ['ambit.runtime', 'kim', 'denied'])
  assert.match(invocation_id, /^req_/)
  assert.deepEqual(correlation, { correlation_id: invocation_id, trace_id: body.trace_id })
  const { decision: _, ...said } = payload as Record<string, unknown>
  const place = { method: 'POST', route: '/v1/approvals/:id/decision' }
  assert.deepEqual(said, { ...place, code: 'approver_not_permitted', status: 403, unrecorded: 0 })
  assert.doesNotMatch(JSON.stringify(event), /canary|apr_0/)
})

test('no caller fills the record with refusals, and the next one says how many are missing [H-96 H-80]', async () => {
  const clock = stillClock()
  const server = await givenServer({ clock })
  const key = await server.keyOf({ id: 'kim', kind: 'user' }, ['conformance.*'])
  for (let index = 0; index < 20; index++) assert.equal((await decision(server, key)).status, 403)
  assert.equal((await refusals(server)).length, 1)
  clock.advance(1_000)
  await decision(server, key)
  const said = (await refusals(server)).map(({ payload }) => (payload as { unrecorded?: number }).unrecorded)
  assert.deepEqual(said, [0, 19])
  for (let person = 0; person < 20; person++)
    await decision(server, await server.keyOf({ id: `p${person}`, kind: 'user' }, ['conformance.*']))
  assert((await refusals(server)).length <= 12)
})

test('what leaves no evidence leaves none when it is refused: the wire, previews, questions, strangers, wrong paths [H-96 H-74]', async () => {
  const server = await givenServer()
  const before = (await eventsIn(server)).length
  const bad = { body: { nothing: true }, key: 'key-of-alice' }
  const statuses = [
    (await server.ask('POST', '/invoke', bad)).status,
    (await server.ask('POST', '/v1/preview', bad)).status,
    (await server.ask('GET', '/v1/approvals?state=none', { key: 'key-of-alice' })).status,
    (await server.ask('POST', '/v1/nothing', bad)).status,
    (await decision(server, sharedKey)).status,
    (await decision(server, 'no such key')).status,
  ]
  assert.deepEqual(statuses, [400, 400, 400, 404, 403, 401])
  assert.equal((await eventsIn(server)).length, before)
})

test("what the runtime records of itself has a known type and is in no caller's correlation [H-96]", async () => {
  const server = await givenServer()
  const { ambit, host } = server
  const me = operator(host.tenant)
  const task = { capability_id: 'conformance.echo', payload: { value: 1 }, correlation: { correlation_id: 'task' } }
  await server.ask('POST', '/invoke', { body: task })
  await createPrincipal(ambit, me, { id: 'ida', kind: 'user' })
  const issued = await issueKey(ambit, me, { principal: 'ida', scopes: [] })
  const next = await rotateKey(ambit, me, issued.key_id)
  await revokeKey(ambit, me, next.key_id)
  await addApprover(ambit, me, { principal: 'ida', roles: ['lead'] })
  await revokeApprover(ambit, me, 'ida')
  await setSecret(ambit, me, 'mail', 'value')
  await removeSecret(ambit, me, 'mail')
  await decision(server, await server.keyOf({ id: 'kim', kind: 'user' }, ['conformance.*']))
  await rotateTenantKey(ambit, me, { revokeOld: true })
  await setTenantStatus(ambit, me, 'suspended')
  await setTenantStatus(ambit, me, 'active')
  await revokePrincipal(ambit, me, 'ida')
  await server.ask('POST', '/invoke', { body: task })
  await purgeEvidence(ambit, me, { before: '2000-01-01T00:00:00.000Z' })
  await purgeEvidence(ambit, me, { correlation: 'task' })
  await server.ask('POST', '/invoke', { body: task })

  const known: readonly string[] = [...runtimeEvents, 'key_generated', 'key_rotated', 'key_revoked', 'evidence_purged']
  const seen = new Set<string>()
  for (const { event_type, correlation, capability_id, invocation_id } of await eventsIn(server)) {
    const { correlation_id: id } = correlation
    if (id === 'task') assert.match(event_type, /^(execution|safety)_/)
    else {
      assert(known.includes(event_type), event_type)
      assert(/^(ambit-admin|host-identity)-/.test(id) || id === invocation_id, id)
      assert.equal(capability_id, 'ambit.runtime')
      seen.add(event_type)
    }
  }
  assert(seen.size >= 15, [...seen].join())
})

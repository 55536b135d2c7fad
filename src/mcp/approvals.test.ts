import assert from 'node:assert/strict'
import { expect, test } from 'vitest'
import { httpClient, revisions, textOf } from '../../test/support/mcp-client.ts'
import { servedServer } from '../../test/support/serve.ts'
import type { Decision } from '../gateway/approvals/decide.ts'
import { defineCapability } from '../gateway/capability.ts'
import { authenticate } from '../runtime/identity/api-keys.ts'
import { addApprover } from '../runtime/identity/approvers.ts'
import { callerOf, operator } from '../runtime/identity/caller.ts'
import { approvalRecords } from '../storage/tables/approvals.ts'

/** An agent that makes every call from a new client and does not wait for people, and an approver. */
async function givenAgent(revision: (typeof revisions)[number], mcp?: { readonly roundMs: number }) {
  const done: unknown[] = []
  const release = defineCapability(
    { id: 'depot.release', version: '1.0.0', description: 'Releases.', policy: { approval_required: true } },
    (input) => {
      done.push(input)
      return 'released'
    },
  )
  const { url, keyOf, ambit, host } = await servedServer({ offer: { capabilities: [release] }, ...(mcp && { mcp }) })
  const key = await keyOf({ id: 'planner', kind: 'agent' })
  await keyOf({ id: 'ida', kind: 'user' })
  await addApprover(ambit, operator(host.tenant), { principal: 'ida', roles: [] })
  const list = () => ambit.store.read(() => approvalRecords.list(host.tenant, {}))
  const client = (capabilities: object) => httpClient(url, revision, { key, capabilities })
  return {
    done,
    client,
    gateway: async (envelope: object) => {
      const { result } = await host.gateway.invoke(callerOf(await authenticate(ambit, key)), envelope)
      return result
    },
    call: async (batch: string) => {
      const declining = await client({ elicitation: { form: {} } })
      declining.setRequestHandler('elicitation/create', () => ({ action: 'decline' }))
      return declining.callTool({ name: 'depot_release', arguments: { batch } })
    },
    requests: async () => (await list()).items.map(({ request }) => request),
    decide: async (decision: Decision) => {
      const [newest] = (await list()).items
      const by = { principal: 'ida', subject: { id: 'ida', verified: true } }
      return host.gateway.decide(newest?.request.approval_id ?? '', by, decision)
    },
  }
}

test.each(revisions)('%s: people are asked once about the same call, even if repeated [H-57]', async (revision) => {
  const { call, requests, decide, done } = await givenAgent(revision)
  for (let times = 0; times < 3; times++) assert.equal((await call('B-1')).isError, true)
  await call('B-2')
  assert.equal((await requests()).length, 2)
  await decide({ decision: 'approve' })
  assert.notEqual((await call('B-2')).isError, true)
  assert.deepEqual(done, [{ batch: 'B-2' }])
})

test.each(revisions)('%s: a repeat of a denied call is denied, without asking again [H-56]', async (revision) => {
  const { call, requests, decide, done } = await givenAgent(revision)
  await call('B-1')
  await decide({ decision: 'deny', rationale: 'too warm' })
  for (let times = 0; times < 2; times++) {
    const told = await call('B-1')
    assert.equal(told.isError, true)
    expect(textOf(told)).toMatch(/policy_blocked.*not approved: `too warm`/)
  }
  assert.deepEqual([(await requests()).length, done], [1, []])
})

test.each(revisions)(
  '%s: a call that people have edited is done as they said when it comes again [H-57]',
  async (revision) => {
    const { call, decide, done } = await givenAgent(revision)
    await call('B-1')
    await decide({ decision: 'edit', payload: { batch: 'B-1-safe' } })
    assert.notEqual((await call('B-1')).isError, true)
    assert.deepEqual(done, [{ batch: 'B-1-safe' }])
  },
)

test.each(revisions)(
  '%s: a call that differs in more than its arguments is another one, and has its own request [H-57]',
  async (revision) => {
    const { call, gateway, requests } = await givenAgent(revision)
    const asked = await gateway({ capability_id: 'depot.release', payload: { batch: 'B-1' } })
    assert.equal(asked.denial?.code, 'approval_required')
    expect(textOf(await call('B-1'))).toMatch(/approval_required/)
    assert.equal((await requests()).length, 2)
  },
)

test.each([{}, { elicitation: { form: {} } }])(
  'a client is told what its undecided call waits for, before it gives up [H-100]',
  async (capabilities) => {
    const { requests, client } = await givenAgent('2026-07-28', { roundMs: 1 })
    const asking = await client(capabilities)
    if (capabilities.elicitation !== undefined)
      asking.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { next: 'continue' } }))
    const told = await asking.callTool({ name: 'depot_release', arguments: { batch: 'B-1' } })
    assert.equal(told.isError, true)
    const [request] = await requests()
    expect(textOf(told)).toContain(`ambit approvals approve ${request?.approval_id}`)
  },
)

import assert from 'node:assert/strict'
import { test } from 'vitest'
import type { Json } from '../../src/base/canonical.ts'
import { objectHash } from '../../src/base/hash.ts'
import { buildEnvelope } from '../../src/compile/envelope.ts'
import { runContext } from '../../src/model/contract/context.ts'
import { type InvokeRequest, invokeRequest } from '../../src/model/contract/request.ts'
import { enter } from '../../src/runtime/contract/entry.ts'
import { callerOf, operator } from '../../src/runtime/identity/caller.ts'
import { publishPack, signPack } from '../../src/runtime/packs/registry.ts'
import { stockPack } from '../support/contract.ts'
import { givenServer } from '../support/server.ts'

/** A tenant with a pack of one intent and no tools, and the entry of its requests. */
async function givenEntry() {
  const { ambit, host } = await givenServer({ roots: ['acme'] })
  const caller = operator(host.tenant)
  const pack = stockPack()
  const none = { must_refuse: [], must_escalate: [], redaction_rules: [] }
  const intent = {
    ...{
      intent_id: 'desk.ask',
      version: '1.0.0',
      owner_role: 'o',
      description: 'Ask.',
      risk_class: 'read_only' as const,
    },
    ...{ accepted_channels: ['console'], locale_support: ['en-GB'], eligible_task_templates: [] },
  }
  const document = {
    ...pack,
    pack_meta: { ...pack.pack_meta, tenant: host.tenant },
    policy_layer: { policy_bundles: [], guardrails: none, approval_gates: [] },
    tooling_layer: { adapter_registry: [], permissions: [] },
    decision_layer: { decision_specs: [], intents: [intent] },
    evaluation_layer: { eval_targets: [] },
  }
  const { ref } = await publishPack(ambit, caller, await signPack(ambit, caller, document), {})
  const wish = { mode: 'batch' as const, safety_mode: 'delegated' as const, tenant_id: host.tenant, pack_ref: ref }
  const { envelope } = buildEnvelope({ ...wish, intent: 'desk.ask', message: 'Hello' })
  const by = { ambit, caller, by: callerOf(caller), host: async () => host }
  const letIn = (more: Partial<InvokeRequest> = {}, rest: object = {}) =>
    enter(by, { request: { ...envelope, ...more }, ...rest })
  return { enter: letIn, envelope, ambit, host }
}

test('the context of a run has every member, a claim of its own, and cannot be changed [R-09 R-16]', async () => {
  const { enter } = await givenEntry()
  const { context } = await enter({}, { run_context: { context: ['acme/desk'] } })
  assert.deepEqual(runContext.parse(context), context)
  const { ambit } = context.metadata
  assert.deepEqual(
    ambit.grants.map(({ path }) => path),
    ['acme/desk'],
  )
  assert.deepEqual([ambit.claim_state, ambit.root_run_id], ['issued', context.run_id])
  const { identity_claim: claim, principal_chain, agent_urn } = context.agent
  assert.deepEqual([claim.run_id, claim.sub, claim.principal_chain], [context.run_id, agent_urn, principal_chain])
  for (const change of [
    () => Object.assign(context, { safety_mode: 'destructive' }),
    () => Object.assign(context.run_budget, { max_tool_calls: 999 }),
    () => ambit.grants.push(...ambit.grants),
    () => Object.assign(claim, { exp: 0 }),
  ])
    assert.throws(change, TypeError)
})

test('a claim that was issued for a run is believed for that run, in its time, and for no other [R-61]', async () => {
  const { enter, envelope } = await givenEntry()
  const { context } = await enter()
  const { identity_claim } = context.agent
  const bringing = (change: object) =>
    enter({ agent: { ...envelope.agent, identity_claim: { ...identity_claim, ...change } } })
  assert.equal((await bringing({})).context.metadata.ambit.claim_state, 'verified')
  const reason = async (change: object) =>
    bringing(change).then(
      () => 'taken',
      (error) => error.data.reason,
    )
  const { claim_hash: _, signature: __, ...body } = identity_claim
  const rehashed = (change: object) => ({ ...change, claim_hash: objectHash({ ...body, ...change } as Json) })
  assert.equal(await reason({ exp: 1 }), 'hash')
  assert.equal(await reason(rehashed({ exp: 9_999_999_999 })), 'signature')
  assert.equal(await reason(rehashed({ kid: 'other' })), 'kid')
  assert.equal(await reason({ signature: undefined, scopes: undefined }), 'incomplete')
  const chain = [{ kind: 'user' as const, id: 'eve' }, ...identity_claim.principal_chain.slice(1)]
  const other = { ...envelope.agent, principal_chain: chain, identity_claim }
  await assert.rejects(enter({ agent: other }), { code: 'claim.invalid', data: { reason: 'chain' } })
})

test('a closed object refuses what it does not know, while a user keeps it [R-60]', async () => {
  const { enter, envelope } = await givenEntry()
  assert(!invokeRequest.safeParse({ ...envelope, more: 1 }).success)
  assert(!invokeRequest.safeParse({ ...envelope, input: { ...envelope.input, more: 1 } }).success)
  const user = { ...envelope.user, badge: 'b-7' }
  const { context } = await enter({ user })
  assert.equal((context.user as { readonly badge?: string }).badge, 'b-7')
  assert(!runContext.safeParse({ ...context, more: 1 }).success)
})

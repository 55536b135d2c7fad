import assert from 'node:assert/strict'
import { test } from 'vitest'
import { canonical, type Json } from '../../src/base/canonical.ts'
import { objectHash } from '../../src/base/hash.ts'
import { buildEnvelope } from '../../src/compile/envelope.ts'
import { runContext } from '../../src/model/contract/context.ts'
import { type InvokeRequest, invokeRequest } from '../../src/model/contract/request.ts'
import { issueClaim } from '../../src/runtime/contract/claims.ts'
import { enter } from '../../src/runtime/contract/entry.ts'
import { callerOf, operator } from '../../src/runtime/identity/caller.ts'
import { publishPack, signPack } from '../../src/runtime/packs/registry.ts'
import { stockPack } from '../support/contract.ts'
import { givenServer } from '../support/server.ts'

/** A tenant with a pack of one intent and no tools, and the entry of its requests. */
async function givenEntry(clock: { now(): number } = { now: () => Date.parse('2026-11-02T09:00:00Z') }) {
  const { ambit, host } = await givenServer({ roots: ['acme'], clock })
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

test('a claim is good in its time alone, for its run, tenant, agent and session; all of it is hashed [R-61]', async () => {
  let now = Date.parse('2026-11-02T09:00:00Z')
  const { enter, envelope, ambit, host } = await givenEntry({ now: () => now })
  const { context } = await enter()
  const { principal_chain: chain, agent_urn, identity_claim } = context.agent
  const signer = await ambit.keyring.signer(host.hostId)
  const right = {
    ...{ run_id: context.run_id, tenant_id: host.tenant as string, agent_urn, chain, signer, issuer: host.hostId },
    ...{ nowMs: now, ttlMs: 30_000, scopes: ['tools:read' as const] },
  }
  const reasonFor = (claim: object, more: Partial<InvokeRequest> = {}, rest: object = {}) =>
    enter({ agent: { ...envelope.agent, identity_claim: claim as never }, ...more }, rest).then(
      () => 'taken',
      (error) => error.data.reason,
    )
  const issued = (more: Partial<typeof right>) => issueClaim({ ...right, ...more })
  assert.equal(await reasonFor(issued({})), 'taken')
  const run_context = { run_id: 'run_0000000000000001' }
  assert.equal(await reasonFor(issued({}), {}, { run_context }), 'run')
  assert.equal(await reasonFor(issued({ tenant_id: 'tenant_other' })), 'tenant')
  assert.equal(await reasonFor(issued({ agent_urn: 'agent:contextos/other@1.0.0' })), 'subject')
  assert.equal(await reasonFor(issued({ nowMs: now + 60_000 })), 'not_yet_valid')
  for (const change of [{ session_id: 'sess_1' }, { aud: 'other' }])
    assert.equal(await reasonFor({ ...identity_claim, ...change }), 'hash')
  const { claim_hash: _, signature: __, ...body } = { ...identity_claim, session_id: 'sess_1' }
  const bound = { ...body, claim_hash: objectHash(body as Json), signature: signer.sign(canonical(body as Json)) }
  assert.equal(await reasonFor(bound), 'session')
  assert.equal(await reasonFor(bound, { session_id: 'sess_1' }), 'taken')
  now += 30_000
  assert.equal(await reasonFor(issued({ nowMs: now - 30_000 })), 'expired')
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

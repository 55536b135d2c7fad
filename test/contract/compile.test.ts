import assert from 'node:assert/strict'
import { onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { buildEnvelope } from '../../src/compile/envelope.ts'
import { createAmbit } from '../../src/library/create-ambit.ts'
import { tiers } from '../../src/model/contract/context.ts'
import { type RunMode, runMode } from '../../src/model/contract/request.ts'
import { offerOfStock, scenario } from '../support/contract.ts'
import { givenServer } from '../support/server.ts'

/** A server whose tenant has the sample packs published, with the keys of an administrator and of one who may mint. */
async function givenStock() {
  const server = await givenServer({ offer: { capabilities: offerOfStock() }, roots: ['acme'] })
  const admin = await server.keyOf({ id: 'root', kind: 'user', roles: ['admin'] })
  const clerk = await server.keyOf({ id: 'clerk', kind: 'user' })
  const mine = (name: string) => parse(scenario(name).replaceAll('tenant_fjordvik', 'northlight'))
  const ask = (path: string, body: unknown, key = admin) => server.ask('POST', path, { key, body })
  const publish = async (document: unknown, beside: string[] = []) => {
    const { body } = await ask('/v1/packs/sign', { document })
    return ask('/v1/packs', { document: body.document, beside })
  }
  const catalog = await publish(mine('catalog.yaml'))
  const pack = await publish(mine('pack.yaml'), [catalog.body.ref])
  assert.deepEqual([catalog.status, pack.status], [200, 200], JSON.stringify([catalog.body, pack.body]))
  const refs = [pack.body.ref, catalog.body.ref] as string[]
  return { ...server, admin, clerk, ask, publish, mine, refs }
}

const stockEnvelope = (
  refs: readonly string[],
  mode: RunMode = 'batch',
  safety_mode: (typeof tiers)[number] = 'delegated',
) => {
  const wish = { mode, safety_mode, tenant_id: 'northlight', pack_ref: refs[0] ?? '', intent: 'stock.write_off' }
  const { envelope, run_context } = buildEnvelope({ ...wish, message: 'Write off batch bat_5120' })
  const agent = { ...envelope.agent, role: 'stock_ops' }
  return { request: { ...envelope, agent, context_pack_refs: [...refs] }, run_context }
}

test('a compile over HTTP says what a run would be given, and runs nothing [R-52 R-53]', async () => {
  const { ask, refs } = await givenStock()
  const { status, body } = await ask('/v1/compile', stockEnvelope(refs))
  assert.equal(status, 200, JSON.stringify(body))
  assert.deepEqual(body.context_ledger.tools, [
    ...['adp_count.verify', 'adp_ledger.post_write_off', 'adp_mail.notify_owner', 'adp_notes.append'],
    'adp_stock.lookup',
  ])
  const again = await ask('/v1/compile', { ...stockEnvelope(refs), fence_seed: '00'.repeat(16) })
  assert.deepEqual(again.body.context_ledger.ambit.stage_hashes, body.context_ledger.ambit.stage_hashes)
})

test.each(runMode.options.flatMap((mode) => tiers.map((tier) => [mode, tier] as const)))(
  'the envelope for %s and %s passes at the door [R-22]',
  async (mode, tier) => {
    const { ask, refs } = await givenStock()
    const sent = stockEnvelope(refs, mode, tier)
    assert.equal('delegation' in sent.request.user, tier === 'delegated' || tier === 'destructive')
    const { status, body } = await ask('/v1/compile', sent)
    assert.equal(status, 200, JSON.stringify(body))
  },
)

test('what is wrong with a request is answered by the first step that finds it [R-13 R-14 R-16 R-19 R-20 R-21 R-31 R-61]', async () => {
  const { ask, refs, clerk } = await givenStock()
  const good = stockEnvelope(refs)
  const { request } = good
  const asking = async (more: object, key?: string, rest: object = { run_context: good.run_context }) => {
    const { status, body } = await ask('/v1/compile', { ...rest, request: { ...request, ...more } }, key)
    return [status, body.code]
  }
  const refsAsked = (context_pack_refs: string[]) => asking({ context_pack_refs })
  const { delegation: _, ...user } = request.user
  assert.deepEqual(await asking({ tenant_id: 'other' }), [403, 'tenant_mismatch'])
  assert.deepEqual(await asking({}, clerk), [403, 'grant_not_mintable'])
  const own = { user: { user_id: 'clerk' } }
  assert.deepEqual(await asking({}, clerk, {}), [403, 'caller_not_permitted'])
  assert.deepEqual(await asking({ ...own, session_id: 's' }, clerk, {}), [403, 'caller_not_permitted'])
  // What rules and permissions read is not for such a caller to say.
  assert.deepEqual(await asking(own, clerk, {}), [403, 'caller_not_permitted'])
  const { role: _role, ...agent } = request.agent
  const plain = { ...own, agent }
  for (const more of [{ role: 'admin' }, { tenure_days: 900 }])
    assert.deepEqual(await asking({ agent, user: { ...own.user, ...more } }, clerk, {}), [403, 'caller_not_permitted'])
  const chain = ['clerk', 'root', agent.agent_urn].map((id) => ({ kind: 'user', id }))
  assert.deepEqual(await asking({ ...own, agent: { ...agent, principal_chain: chain } }, clerk, {}), [
    403,
    'caller_not_permitted',
  ])
  // The pack asks for a tier that acts for a user: with a user of its own it gets as far as that.
  assert.deepEqual(await asking(plain, clerk, {}), [403, 'delegation_required'])
  for (const ref of ['ctxpack.stock', 'ctxpack.stock@latest', 'ctxpack.stock@^3.1.0', 'ctxpack.stock@3.1'])
    assert.deepEqual(await refsAsked([ref]), [422, 'pack_ref_unpinned'])
  assert.deepEqual(await refsAsked([]), [422, 'pack_refs_empty'])
  assert.deepEqual(await refsAsked(['other.stock@1.0.0']), [422, 'pack_ref_kind'])
  assert.deepEqual(await refsAsked(['ctxpack.foreign@1.0.0']), [404, 'pack_not_found'])
  assert.deepEqual(await asking({ user }), [403, 'delegation_required'])
  assert.deepEqual(await asking({ trace: { trace_id: '0'.repeat(32), span_id: '1'.repeat(16) } }), [
    400,
    'trace_invalid',
  ])
  assert.deepEqual(await asking({ runtime: { max_payload_bytes: 10 } }), [413, 'payload_too_large'])
  const claim = { sub: 'agent:contextos/desk@1.0.0' }
  assert.deepEqual(await asking({ agent: { ...request.agent, identity_claim: claim } }), [401, 'claim_invalid'])
  assert.deepEqual(await asking({ agent: { ...request.agent, lifecycle: 'retired' } }), [403, 'agent_not_active'])
  const input = (more: object) => asking({ input: { ...request.input, ...more } })
  assert.deepEqual(await input({ intent: 'stock.burn' }), [422, 'intent_unknown'])
  assert.deepEqual(await input({ channel: 'sms' }), [422, 'intent_channel_unsupported'])
  assert.deepEqual(await input({ locale: 'fr-FR' }), [422, 'intent_locale_unsupported'])
  const attachment = { artifact_id: 'art_1', media_type: 'text/plain', sha256: 'aa', uri: 's3://x/y' }
  assert.deepEqual(await asking({ attachments: [attachment] }), [403, 'attachment_forbidden'])
})

test('an attachment is the bytes that its tenant registered, and its hash is in the evidence manifest [R-32]', async () => {
  const { ask, refs } = await givenStock()
  const added = await ask('/v1/artifacts', { id: 'art_count', media_type: 'text/plain', content: 'Counted: none.' })
  const { sha256 } = added.body
  const attachment = { artifact_id: 'art_count', media_type: 'text/plain', sha256, uri: 's3://fjordvik/count.txt' }
  const { request, run_context } = stockEnvelope(refs)
  const { body } = await ask('/v1/compile', { request: { ...request, attachments: [attachment] }, run_context })
  assert.deepEqual(body.manifests.evidence_manifest, [{ evidence_ref: 'attachment:art_count', hash: sha256 }])
  const [block] = body.compiled_prompt.context_blocks.filter(({ bucket }: { bucket: string }) => bucket === 'evidence')
  assert.match(block.content, /^<ambit_data origin="attachment"[\s\S]*Counted: none\./)
  const wrong = { ...attachment, sha256: '0'.repeat(64) }
  const refused = await ask('/v1/compile', { request: { ...request, attachments: [wrong] }, run_context })
  assert.deepEqual([refused.status, refused.body.code], [422, 'attachment_hash_mismatch'])
})

test('a version is published once: signed, of this tenant, bound in every edge, and never changed [R-62 R-63 R-64 R-65 R-66]', async () => {
  const { ask, publish, mine, refs, clerk } = await givenStock()
  const pack = mine('pack.yaml')
  const code = (answer: { status: number; body: { code?: string } }) => [answer.status, answer.body.code]
  assert.equal((await publish(pack, [String(refs[1])])).status, 200)
  const other = { ...pack, business_context: { ...pack.business_context, summary: 'Another.' } }
  assert.deepEqual(code(await publish(other, [String(refs[1])])), [409, 'pack_exists'])
  const next = { ...pack, pack_meta: { ...pack.pack_meta, pack_version: '3.2.0' } }
  assert.deepEqual(code(await ask('/v1/packs', { document: next })), [422, 'pack_signature_invalid'])
  assert.deepEqual(code(await publish(next)), [422, 'pack_binding_unresolved'])
  const foreign = { ...next, pack_meta: { ...next.pack_meta, tenant: 'tenant_other' } }
  assert.deepEqual(code(await publish(foreign, [String(refs[1])])), [403, 'pack_tenant_mismatch'])
  const needy = {
    ...next,
    contract_meta: { ...next.contract_meta, compatibility: { requires: { ambit: '>=99.0.0' } } },
  }
  assert.deepEqual(code(await publish(needy, [String(refs[1])])), [409, 'pack_incompatible'])
  const unsafe = { ...next, business_context: { ...next.business_context, summary: 'password: hunter22 for all' } }
  assert.deepEqual(code(await publish(unsafe, [String(refs[1])])), [422, 'pack_unsafe'])
  assert.deepEqual(code(await ask('/v1/packs', { document: next }, clerk)), [403, 'caller_not_permitted'])
  const { body } = await ask('/v1/packs/validate', { document: { ...next, tone_and_comms: undefined } }, clerk)
  assert.deepEqual(
    body.problems.map(({ pointer }: { pointer: string }) => pointer),
    ['/tone_and_comms'],
  )
})

test('a pack that another signed is none, and of two that take one version at once one is published [R-62]', async () => {
  const { ask, mine, refs } = await givenStock()
  const next = (summary: string) => {
    const pack = mine('pack.yaml')
    const pack_meta = { ...pack.pack_meta, pack_version: '3.2.0' }
    return { ...pack, pack_meta, business_context: { ...pack.business_context, summary } }
  }
  const stranger = await createAmbit({ tenant: 'northlight' })
  onTestFinished(() => stranger.close())
  const foreign = (await stranger.packs.sign(next('One.'))).document
  const publish = (document: unknown) => ask('/v1/packs', { document, beside: [refs[1]] })
  const refused = await publish(foreign)
  assert.deepEqual([refused.status, refused.body.code], [422, 'pack_signature_invalid'])
  const signed = await Promise.all(
    ['One.', 'Two.', 'Three.'].map(
      async (text) => (await ask('/v1/packs/sign', { document: next(text) })).body.document,
    ),
  )
  const tampered = { ...signed[0], tone_and_comms: { voice: 'Loud.', do: [], do_not: [] } }
  assert.equal((await publish(tampered)).body.code, 'pack_signature_invalid')
  const answers = await Promise.all(signed.map(publish))
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 409, 409])
  assert(answers.every(({ status, body }) => status === 200 || body.code === 'pack_exists'))
})

// The two requests that the execution contract prints, with what it leaves open filled in.

import assert from 'node:assert/strict'
import { onTestFinished, test } from 'vitest'
import { sha256 } from '../../src/base/hash.ts'
import { defineCapability } from '../../src/gateway/capability.ts'
import { createAmbit } from '../../src/library/create-ambit.ts'
import type { InvokeRequest } from '../../src/model/contract/request.ts'
import { stockCatalog, stockPack } from '../support/contract.ts'

const tenant = 'tenant_acme_prod'
const user = {
  user_id: 'usr_771',
  delegation: { auth_type: 'oauth2' as const, scopes: ['orders.read', 'payments.refund'], subject: 'u:user:771' },
}
const trace = { trace_id: '4bf92f3577b34da6a3ce929d0e0e4736', span_id: '00f067aa0ba902b7', trace_flags: '01' }
const workload_identity = 'spiffe://contextos/agents/support'
const invoice = 'Invoice 881'

/** That of the live builder: no versioned agent, no claim. */
const built: InvokeRequest = {
  ...{ request_id: 'req_9f3a12', session_id: 'sess_42f1', tenant_id: tenant, user, trace, mode: 'stream' },
  agent: { agent_id: 'agt_support', workload_identity } as InvokeRequest['agent'],
  context_pack_refs: ['ctxpack.support@5.2.0'],
  input: {
    ...{ intent: 'support.refund', message: 'Refund order ord_881 for INR 4200', channel: 'app_chat', locale: 'en-IN' },
    context: { refund_amount: 4200, identity_verified: true },
  },
  runtime: { plan_timeout_ms: 15_000, max_tool_calls: 8, max_cost_cents: 25 },
}

/** That of the field reference: a claim that lacks members, and an attachment. */
const referred: InvokeRequest = {
  ...built,
  agent: {
    ...{ agent_id: 'agt_support', agent_urn: 'agent:contextos/support-refund@1.2.0', workload_identity },
    role: 'support_ops',
    identity_claim: {
      sub: 'agent:contextos/support-refund@1.2.0',
      ...{ run_id: 'run_a1b2c3d4e5f60718', tenant_id: tenant, scopes: ['tools:read', 'tools:write'] },
      claim_hash: `sha256:${'9f'.repeat(32)}`,
    },
  },
  context_pack_refs: ['ctxpack.support@5.2.0', 'decision-catalog.support@2.1.0'],
  input: { intent: 'support.refund', message: 'Refund order ord_881', channel: 'app_chat', locale: 'en-IN' },
  runtime: { ...built.runtime, max_session_duration_ms: 14_400_000, max_payload_bytes: 1_048_576 },
  attachments: [
    {
      ...{ artifact_id: 'art_invoice_881', media_type: 'application/pdf', sha256: sha256(invoice) },
      uri: 's3://tenant-acme-prod/invoices/881.pdf',
    },
  ],
}

/** The tenant of the requests, with packs that hold what they name. */
async function givenSupport() {
  const offer = (id: string, more: object = {}) =>
    defineCapability({ id, version: '1.0.0', description: id, ...more }, () => ({}))
  const names = ['adp_stock.lookup', 'adp_count.verify']
  const writes = ['adp_notes.append', 'adp_mail.notify_owner', 'adp_ledger.post_write_off', 'adp_ledger.close_period']
  const capabilities = [...names.map((id) => offer(id)), ...writes.map((id) => offer(id, { effects: [id] }))]
  const ambit = await createAmbit({ tenant, capabilities })
  onTestFinished(() => ambit.close())
  const asSupport = JSON.stringify([stockPack(), stockCatalog()])
    .replaceAll('tenant_fjordvik', tenant)
    .replaceAll('ctxpack.stock', 'ctxpack.support')
    .replaceAll('decision-catalog.stock', 'decision-catalog.support')
    .replaceAll('stock.write_off"', 'support.refund"')
    .replaceAll('"nb-NO"', '"en-IN"')
  const [pack, catalog] = JSON.parse(asSupport)
  pack.pack_meta.pack_version = '5.2.0'
  catalog.pack_meta.pack_version = '2.1.0'
  pack.decision_layer = {
    decision_specs: catalog.decision_specs,
    intents: catalog.intents,
    task_templates: catalog.task_templates,
  }
  const publish = async (document: unknown) => ambit.packs.publish((await ambit.packs.sign(document)).document)
  await publish(pack)
  await publish(catalog)
  await ambit.artifacts.add({ id: 'art_invoice_881', media_type: 'application/pdf', content: invoice })
  return ambit
}

const asked = [
  ['of the builder', built, 'field.missing'],
  ['of the reference', referred, 'claim.invalid'],
] as const

test.each(asked)(
  'the printed request %s is taken in profile `page`, for reads alone, and refused in `strict` [R-61]',
  async (_, request, code) => {
    const ambit = await givenSupport()
    const options = { run_context: { safety_mode: 'delegated' as const } }
    await assert.rejects(ambit.compile(request, options), { code })
    const made = await ambit.compile(request, { ...options, profile: 'page' })
    assert.deepEqual(made.context_ledger.tools, ['adp_count.verify', 'adp_stock.lookup'])
    const reasons = new Set(made.context_ledger.ambit.hidden.map(({ reason }) => reason))
    assert(reasons.has('claim_unverified'), [...reasons].join())
  },
)

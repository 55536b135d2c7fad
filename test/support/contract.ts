// The write-off scenario as facts: packs, a run context, and what its host offers.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import type { Json } from '../../src/base/canonical.ts'
import { objectHash } from '../../src/base/hash.ts'
import { compile, measureWith, readyPacks } from '../../src/compile/compile.ts'
import { defaultBudget } from '../../src/compile/envelope.ts'
import type { CompileFacts, LoadedRef, OfferedCapability, Source } from '../../src/compile/facts.ts'
import type { CompiledContext, EvidenceFact } from '../../src/model/contract/compiled.ts'
import type { RunContext } from '../../src/model/contract/context.ts'
import { type ContextPack, contextPack, type PackCatalog, packCatalog } from '../../src/model/contract/pack.ts'
import { defineCapability } from '../../src/runtime/hosting/offer.ts'
import { makeTokenCounter } from '../../src/tokens/count.ts'

const folder = join(import.meta.dirname, '../../scenarios/write-off')
export const scenario = (name: string): string => readFileSync(join(folder, name), 'utf8')

export const stockPack = (): ContextPack => contextPack.parse(parse(scenario('pack.yaml')))
export const stockCatalog = (): PackCatalog => packCatalog.parse(parse(scenario('catalog.yaml')))

export function loaded(document: ContextPack | PackCatalog): LoadedRef {
  const { pack_id, pack_version } = document.pack_meta
  const named = { ref: `${pack_id}@${pack_version}`, hash: objectHash(document as Json) }
  return 'decision_layer' in document ? { ...named, kind: 'pack', document } : { ...named, kind: 'catalog', document }
}

const offered = (capability_id: string, tier: OfferedCapability['tier']): OfferedCapability => ({
  capability_id,
  tool: capability_id.replaceAll('.', '_'),
  digest: objectHash(capability_id),
  available: true,
  tier,
})

const host = { source: 'host' } as const
export const stockTools: readonly OfferedCapability[] = [
  offered('adp_stock.lookup', { kind: 'read', risk_level: 'read', approval_mode: 'read_only', ...host }),
  offered('adp_count.verify', { kind: 'read', risk_level: 'read', approval_mode: 'read_only', ...host }),
  offered('adp_notes.append', { kind: 'write', risk_level: 'write_reversible', approval_mode: 'local_write', ...host }),
  offered('adp_mail.notify_owner', {
    kind: 'write',
    risk_level: 'write_reversible',
    approval_mode: 'network',
    ...host,
  }),
  ...['adp_ledger.post_write_off', 'adp_ledger.close_period'].map((id) =>
    offered(id, { kind: 'write', risk_level: 'write_irreversible', approval_mode: 'destructive', ...host }),
  ),
]

/** The same tools as a host offers them. */
export const offerOfStock = () =>
  stockTools.map(({ capability_id: id, tier: { kind, risk_level } }) => {
    const effects = kind === 'write' ? { effects: [id] } : {}
    const risk = risk_level === 'write_irreversible' ? ('critical' as const) : ('low' as const)
    return defineCapability({ id, version: '1.0.0', description: id, risk, ...effects }, () => ({}))
  })

const tenant = 'tenant_fjordvik'
const urn = 'agent:contextos/stock-keeper@2.0.1'
const chain: RunContext['agent']['principal_chain'] = [
  { kind: 'user', id: 'usr_214', tenant_id: tenant },
  { kind: 'agent', id: urn, tenant_id: tenant },
]

export function stockContext(more: Partial<RunContext> = {}): RunContext {
  const run_id = 'run_01a1f46e00000001'
  const trace_id = '4bf92f3577b34da6a3ce929d0e0e4736'
  const claim_hash = `sha256:${'0'.repeat(64)}`
  const claim = {
    version: 'ctxid/1',
    iss: 'ambit',
    sub: urn,
    run_id,
    tenant_id: tenant,
    principal_chain: chain,
  } as const
  const ambit: RunContext['metadata']['ambit'] = {
    ...{ grants: [], ceilings: {}, profile: 'strict', claim_state: 'issued', safety_strict: false, clamps: [] },
    ...{ root_run_id: run_id, depth: 0, minted_at: '2026-11-02T09:00:00.000Z' },
  }
  return {
    ...{ run_id, tenant_id: tenant, trace_id, intent: 'stock.write_off', locale: 'en-GB' },
    user: { user_id: 'usr_214', role: 'stock_clerk' },
    agent: {
      ...{ agent_id: 'agt_stock', agent_urn: urn, workload_identity: 'spiffe://fjordvik/stock', role: 'stock_ops' },
      principal_chain: chain,
      identity_claim: {
        ...claim,
        scopes: ['tools:read', 'tools:write'],
        nbf: 0,
        exp: 9_999_999_999,
        kid: 'k',
        claim_hash,
      },
    },
    ...{ safety_mode: 'delegated', run_budget: defaultBudget, metadata: { ambit } },
    ...more,
  }
}

export const stockFacts = (more: Partial<CompileFacts> = {}): CompileFacts => ({
  now: '2026-11-02T09:00:00.000Z',
  estimator: 'o200k_base',
  snapshot_version: 'snap_1',
  fence_seed: '00112233445566778899aabbccddeeff',
  request: {
    ...{ request_id: 'req_1', intent: 'stock.write_off', message: 'Write off batch bat_5120', channel: 'console' },
    ...{ locale: 'en-GB', context: { amount_minor: 640_000, currency: 'EUR', batch_id: 'bat_5120' } },
  },
  trace: { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' },
  ...{ capabilities: stockTools, evidence: [], consents: [], sources: [] },
  ...more,
})

export const evidenceOf = (ref: string, value: Json, more: Partial<EvidenceFact> = {}): EvidenceFact => ({
  ...{ evidence_ref: ref, value, tenant_id: tenant, authority: 'verified', hash: objectHash(value) },
  observed_at: '2026-11-02T08:00:00.000Z',
  ...more,
})

export const sourceOf = (block_id: string, text: string, more: Partial<Source> = {}): Source => ({
  ...{ block_id, bucket: 'evidence', priority: 50, text, refs: [] },
  fenced: { origin: 'resource', name: block_id },
  ...more,
})

const counter = makeTokenCounter({ entriesMax: 10_000 })
export const measure = measureWith(counter.count)

export interface Compiling {
  readonly facts?: Partial<CompileFacts>
  readonly context?: Partial<RunContext>
  readonly pack?: ContextPack
  readonly catalog?: PackCatalog
}

/** A compile of the scenario, with what is different about it. */
export function compiled({
  facts,
  context,
  pack = stockPack(),
  catalog = stockCatalog(),
}: Compiling = {}): CompiledContext {
  const ready = readyPacks([loaded(pack), loaded(catalog)])
  return compile(ready, stockFacts(facts), stockContext(context), measure)
}

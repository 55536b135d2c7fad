import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineCapability } from '../src/gateway/capability.ts'
import { createAmbit } from '../src/library/create-ambit.ts'
import type { ContextPack } from '../src/model/contract/pack.ts'
import type { InvokeRequest } from '../src/model/contract/request.ts'
import type { Ambit } from '../src/operations/ambit.ts'
import { stockPack } from '../test/support/contract.ts'
import { type Bench, median, type Row } from './measure.ts'

const steps = 10

/** A request that context packs govern: plan, verify, ten calls, judge, record, against ten bare governed calls. */
const bench: Bench = async () => [await overhead(), await durable()]
export default bench

const look = defineCapability(
  { id: 'world.look', version: '1.0.0', description: 'Looks.', policy: { auth_required: true } },
  () => ({ seen: 'nothing new' }),
)

function pack(): ContextPack {
  const sample = stockPack()
  const environment_defaults = { safety_mode: 'network' as const, run_budget: { max_tool_calls: steps } }
  const read = { kind: 'read' as const, risk_level: 'read' as const, approval_mode: 'read_only' as const }
  const ids = Array.from({ length: steps }, (_, index) => `s${index}`)
  const decision = { decision_key: 'world.look', version: '1.0.0' }
  const refs = { inputs_schema_ref: 'schema://in', outputs_schema_ref: 'schema://out' }
  const right = { decision_right: 'execute' as const, challenge_required: false, approval_mode: 'read_only' as const }
  return {
    ...sample,
    pack_meta: {
      ...sample.pack_meta,
      pack_id: 'ctxpack.world',
      pack_version: '1.0.0',
      tenant: 'local' as never,
      environment_defaults,
    },
    policy_layer: {
      policy_bundles: [],
      guardrails: { must_refuse: [], must_escalate: [], redaction_rules: [] },
      approval_gates: [],
    },
    tooling_layer: {
      adapter_registry: [
        {
          ...{
            adapter_id: 'world',
            type: 'function' as const,
            endpoint_ref: 'host',
            approval_mode: 'read_only' as const,
          },
          capabilities: [{ name: 'look', ...read }],
        },
      ],
      permissions: [{ permission_id: 'P', adapter_id: 'world', capability: 'look', allow: true }],
    },
    decision_layer: {
      decision_specs: [
        {
          ...{ ...decision, ...refs, ...right, owner_role: 'lead', required_evidence: ['policy_eval'] },
          ...{ allowed_outcomes: ['seen'], eligibility_rules: true },
        },
      ],
      intents: [
        {
          ...{ intent_id: 'world.look', version: '1.0.0', owner_role: 'lead', description: 'Look.' },
          ...{ risk_class: 'read_only' as const, accepted_channels: ['console'], locale_support: ['en-GB'] },
          eligible_task_templates: ['tt_look'],
        },
      ],
      task_templates: [
        {
          ...{ template_id: 'tt_look', version: '1.0.0', decision_keys: ['world.look'] },
          steps: ids.map((id, index) => ({
            ...{ id, tool: 'world.look', params: { room: id } },
            ...(index > 0 && { depends_on: [`s${index - 1}`] }),
          })),
          decision: { decision_key: 'world.look', outcome: 'seen', outputs: {} },
        },
      ],
    },
    evaluation_layer: { eval_targets: [] },
  }
}

async function withAmbit<T>(isDurable: boolean, act: (ambit: Ambit) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-bench-'))
  const store = { driver: 'sqlite', path: join(folder, 'ambit.db'), durability: 'full' } as const
  const ambit = await createAmbit({ capabilities: [look], ...(isDurable && { folder, store }) })
  try {
    await ambit.packs.publish((await ambit.packs.sign(pack())).document)
    await ambit.principals.create('bench', { kind: 'service', roles: ['grantor'] })
    const caller = await ambit.withKey((await ambit.keys.create('bench')).secret)
    for (let warm = 0; warm < 50; warm++) await oneRun(caller)
    return await act(caller)
  } finally {
    await ambit.close()
    rmSync(folder, { recursive: true })
  }
}

let count = 0
async function oneRun(ambit: Ambit): Promise<void> {
  const request: InvokeRequest = {
    ...{ request_id: `req_${++count}`, tenant_id: 'local' as never, user: { user_id: 'usr_1' } },
    agent: {
      ...{ agent_id: 'agt', agent_urn: 'agent:contextos/looker@1.0.0', workload_identity: 'spiffe://world/looker' },
    },
    context_pack_refs: ['ctxpack.world@1.0.0'],
    input: { intent: 'world.look', message: 'Look', channel: 'console', locale: 'en-GB' },
    ...{ mode: 'batch', runtime: {} },
    trace: { trace_id: '4bf92f3577b34da6a3ce929d0e0e4736', span_id: '00f067aa0ba902b7' },
  }
  const options = { run_context: { run_budget: { max_tool_calls: steps } } }
  const { decision_record } = await ambit.invokeAgent(request, options as never)
  if (decision_record?.status !== 'DECIDED')
    throw new Error(`the run ended ${decision_record?.status}: ${JSON.stringify(decision_record?.ambit.verdicts)}`)
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const before = performance.now()
  await work()
  return performance.now() - before
}

async function p50(times: number, work: () => Promise<unknown>): Promise<number> {
  const all: number[] = []
  for (let left = times; left > 0; left--) all.push(await timeOf(work))
  return median(all)
}

const overhead = (): Promise<Row> =>
  withAmbit(false, async (ambit) => {
    const ours = await p50(300, () => oneRun(ambit))
    const bare = await p50(300, async () => {
      for (let step = 0; step < steps; step++) await ambit.call('world.look', { room: `s${step}` })
    })
    const ratio = ours / bare
    return {
      ...{ name: `a governed decision of ${steps} steps, in memory, p50`, unit: 'ms', ours, peer: bare },
      ...{
        peerName: `${steps} bare governed calls`,
        ratio,
        goal: 'ours ≤ 3, ratio ≤ 2.5',
        met: ours <= 3 && ratio <= 2.5,
      },
    }
  })

const durable = (): Promise<Row> =>
  withAmbit(true, async (ambit) => {
    const side = 20
    const rounds = 5
    const each = async (work: () => Promise<unknown>): Promise<number> => {
      const ms = await timeOf(() => Promise.all(Array.from({ length: side }, work)))
      return (side * steps * 1_000) / ms
    }
    const rates: number[] = []
    const bares: number[] = []
    for (let round = 0; round < rounds; round++) {
      rates.push(await each(() => oneRun(ambit)))
      bares.push(
        await each(async () => {
          for (let step = 0; step < steps; step++) await ambit.call('world.look', { room: `s${step}` })
        }),
      )
    }
    const [ours, peer] = [median(rates), median(bares)]
    return {
      ...{ name: `steps of ${side} decisions side by side, SQLite, full`, unit: 'steps/s', ours, peer },
      ...{ peerName: 'bare governed calls', ratio: ours / peer },
      ...{ goal: 'ours ≥ 2,000, ratio ≥ 0.4', met: ours >= 2_000 && ours / peer >= 0.4 },
    }
  })

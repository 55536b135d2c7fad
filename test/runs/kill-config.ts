// What the processes of a test share that are killed while they drive runs: agents, and a world outside to act on.

import type { Json } from '../../src/base/canonical.ts'
import { type CapabilitySpec, defineCapability } from '../../src/gateway/capability.ts'
import type { ContextPack } from '../../src/model/contract/pack.ts'
import type { InvokeRequest, TrustedContext } from '../../src/model/contract/request.ts'
import { type AgentSpec, defineAgent } from '../../src/runtime/agents/agent.ts'
import { defineConfig } from '../../src/runtime/settings/user-config.ts'
import { type ScriptedTurn, scriptedModel } from '../../src/testing/scripted-model.ts'
import type { Target } from '../storage/target.ts'

export interface KillWorld {
  readonly name: string
  readonly folder: string
  readonly store: Target
  /** The address of the world outside. */
  readonly effects: string
  /** The key of one who may mint. */
  readonly secret: string
}

/** Called at each point where a process may end: it never returns at the one where it does. */
export const points: { at(point: string): Promise<void> | void } = { at: () => undefined }

/** An effect is counted under the capability, what it is about, and the call: `post/7-a/tool_…`. */
function effect(name: string, effects: string, spec: Partial<CapabilitySpec> = {}) {
  const declared = { id: `world.${name}`, version: '1.0.0', description: 'Acts outside.', policy: {} }
  return defineCapability({ ...declared, ...spec }, async (input, { invocationId }) => {
    const about = (input as { about: string }).about
    await points.at(`before the effect ${name}`)
    const answer = await fetch(`${effects}/${name}/${about}/${invocationId}`, { method: 'POST' })
    await answer.text()
    await points.at(`after the effect ${name}`)
    return { did: about }
  })
}

/** What is done outside: `post` can be asked about, `fire` cannot, and `look` changes nothing. */
const capabilities = (effects: string) => [
  effect('post', effects, {
    effects: ['world.change'],
    reconcile: async ({ invocationId }) => {
      const all = (await (await fetch(effects)).json()) as Record<string, number>
      const key = Object.keys(all).find((each) => each.startsWith('post/') && each.endsWith(`/${invocationId}`))
      return key === undefined ? { effect: 'none' } : { effect: 'done', data: { did: key.split('/')[1] as Json } }
    },
  }),
  effect('fire', effects, { effects: ['world.change'] }),
  effect('look', effects),
]

type LlmSpec = Extract<AgentSpec, { instruction: string }>

/** An agent whose model says these turns about what it is asked, in whichever process it is asked. */
function teller(id: string, turns: (about: string) => readonly ScriptedTurn[], more: Partial<LlmSpec>) {
  const model = scriptedModel(async ({ messages }) => {
    const said = messages.slice(messages.findLastIndex(({ role }) => role === 'user'))
    const [, about = ''] = /about=(\S+)/.exec(said[0]?.content ?? '') ?? []
    const turn = turns(about)[said.length === 1 ? 0 : said.filter(({ role }) => role === 'assistant').length]
    await points.at(`after a turn of ${id}`)
    return turn ?? new Error('the script has run out')
  })
  return defineAgent({ id, instruction: `You are ${id}.`, model, ...more })
}

/**
 * `desk` starts three clerks: one as a tool, two as steps of a pipeline that is a tool. Each does one thing outside and
 * writes one thing down.
 */
function agents(effects: string) {
  const [post, fire, look] = capabilities(effects)
  const clerk = (id: string, tool: string, of: unknown) =>
    teller(
      id,
      (about) => [
        {
          calls: [
            { name: tool, args: { about } },
            { name: 'memory_write', args: { content: `${id} on ${about}` } },
          ],
        },
        `${id} is done`,
      ],
      { tools: [of] as never, resources: { memory: { mode: 'read-write' } } },
    )
  const [poster, firer, looker] = [
    clerk('poster', 'world_post', post),
    clerk('firer', 'world_fire', fire),
    clerk('looker', 'world_look', look),
  ]
  const steps = [
    { id: 'first', agent: firer },
    { id: 'second', agent: looker },
  ]
  const flow = defineAgent({ id: 'flow', kind: 'parallel', description: 'Two clerks.', steps })
  const desk = teller(
    'desk',
    (about) => [
      {
        calls: ['agent_poster', 'agent_flow'].map((name) => ({ name, args: { input: `about=${about}` } })),
      },
      'all done',
    ],
    { tools: [poster, flow], resources: { memory: { mode: 'read-write' } } },
  )
  return [desk]
}

/** The configuration of all processes of a world; what they keep lies in `.ambit` of its folder. */
export const killConfig = ({ store, effects }: Pick<KillWorld, 'store' | 'effects'>) =>
  defineConfig({ store, agents: agents(effects) })

/** What a run is asked for: the same under the same id. */
export const requestOf = (about: string) => ({
  input: `about=${about}`,
  options: { context: [`acme/${about}`], sessionId: `chat-${about}`, requestId: `request-${about}` },
})

const spec = { decision_key: 'world.change.do', version: '1.0.0', owner_role: 'lead', inputs_schema_ref: 'schema://in' }
const step = (id: string, more: object = {}) => {
  const params = { about: { $expr: { var: 'request.context.about' } } }
  return { id, tool: `world.${id}`, params, ...more }
}

/** A pack of the sample with these tools: look, then two effects, of which one can be asked about and one cannot. */
export function worldPack(sample: ContextPack): ContextPack {
  const write = { kind: 'write' as const, risk_level: 'write_reversible' as const, non_recoverable: true as const }
  const tools = [
    { name: 'look', kind: 'read' as const, risk_level: 'read' as const, approval_mode: 'read_only' as const },
    ...['post', 'fire'].map((name) => ({ name, ...write, approval_mode: 'network' as const })),
  ]
  // biome-ignore lint/suspicious/noThenProperty: the contract calls it so
  const rules = [{ rule_id: 'R_ALL', if: true, then: { allow: true } }]
  const intent = { intent_id: 'world.change', version: '1.0.0', owner_role: 'lead', description: 'Change it.' }
  return {
    ...sample,
    pack_meta: { ...sample.pack_meta, pack_id: 'ctxpack.world', pack_version: '1.0.0', tenant: 'local' as never },
    policy_layer: {
      policy_bundles: [{ bundle_id: 'POLICY_WORLD', priority: 1, policy_dsl: { language: 'jsonlogic', rules } }],
      guardrails: { must_refuse: [], must_escalate: [], redaction_rules: [] },
      approval_gates: [],
    },
    tooling_layer: {
      adapter_registry: [
        { adapter_id: 'world', type: 'function', endpoint_ref: 'host', approval_mode: 'network', capabilities: tools },
      ],
      permissions: tools.map(({ name }) => ({
        ...{ permission_id: `P_${name}`, adapter_id: 'world', capability: name, allow: true },
      })),
    },
    decision_layer: {
      decision_specs: [
        {
          ...{
            ...spec,
            outputs_schema_ref: 'schema://out',
            required_evidence: ['policy_eval'],
            eligibility_rules: true,
          },
          ...{ allowed_outcomes: ['done', 'not_done'], approval_mode: 'network', decision_right: 'execute' },
          ...{ challenge_required: false, outcome_map: { denied: 'not_done' } },
        },
      ],
      intents: [
        {
          ...{ ...intent, risk_class: 'network', accepted_channels: ['console'], locale_support: ['en-GB'] },
          eligible_task_templates: ['tt_world'],
        },
      ],
      task_templates: [
        {
          ...{ template_id: 'tt_world', version: '1.0.0', decision_keys: ['world.change.do'] },
          steps: [step('look'), step('post', { depends_on: ['look'] }), step('fire', { depends_on: ['post'] })],
          decision: { decision_key: 'world.change.do', outcome: 'done', outputs: {} },
        },
      ],
    },
    evaluation_layer: { eval_targets: [] },
  } as ContextPack
}

/** What is asked of the pack: the same under the same id. */
export const invocationOf = (about: string): { request: InvokeRequest; run_context: TrustedContext } => ({
  request: {
    ...{
      request_id: `req_${about}`,
      tenant_id: 'local' as never,
      user: { user_id: 'usr_1' },
      mode: 'batch',
      runtime: {},
    },
    agent: {
      ...{ agent_id: 'agt_world', agent_urn: 'agent:contextos/worlder@1.0.0' },
      workload_identity: 'spiffe://world/worlder',
    },
    context_pack_refs: ['ctxpack.world@1.0.0'],
    input: { intent: 'world.change', message: 'Change it', channel: 'console', locale: 'en-GB', context: { about } },
    trace: { trace_id: '4bf92f3577b34da6a3ce929d0e0e4736', span_id: '00f067aa0ba902b7' },
  },
  run_context: { safety_mode: 'network', run_budget: { wall_clock_ms: 3_600_000 } },
})

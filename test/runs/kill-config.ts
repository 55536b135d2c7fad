// What the processes of a test share that are killed while they drive runs: agents, and a world outside to act on.

import type { Json } from '../../src/base/canonical.ts'
import { type CapabilitySpec, defineCapability } from '../../src/gateway/capability.ts'
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

// Trees of runs: the ways from a run to a child, and what is on record of each run below a root.

import type { Json } from '../../src/base/canonical.ts'
import type { RunRecord } from '../../src/model/run.ts'
import { type Agent, defineAgent } from '../../src/runtime/agents/agent.ts'
import { agent, calls, type GivenRuns } from './runs.ts'

/** Every way to a child: an agent `parent` that runs the child once, with what its own caller gave it. */
export const waysToChild: Readonly<Record<string, (child: Agent) => Agent>> = {
  'a model that names it as a tool': (child) => {
    const tool = `agent_${child.definition.manifest.id}`
    return agent('parent', ({ messages }) => (messages.length > 1 ? 'done' : calls([tool, { input: 'go' }])), {
      tools: [child],
    })
  },
  'trusted code that invokes it': (child) =>
    codeAgent('parent', (_, run) => run.invoke(child.definition.manifest.id, 'go')),
  'a step of a sequence': (child) =>
    defineAgent({ id: 'parent', kind: 'sequential', steps: [{ id: 'one', agent: child }] }),
  'a step beside others': (child) =>
    defineAgent({ id: 'parent', kind: 'parallel', steps: [{ id: 'one', agent: child }] }),
  'a pipeline in a pipeline': (child) => {
    const inner = defineAgent({ id: 'inner', kind: 'parallel', steps: [{ id: 'one', agent: child }] })
    return defineAgent({ id: 'parent', kind: 'sequential', steps: [{ id: 'in', agent: inner }] })
  },
}

type Code = Extract<Parameters<typeof defineAgent>[0], { kind: 'tool'; run: unknown }>['run']

/** An agent that is trusted code. */
export const codeAgent = (id: string, run: Code): Agent => defineAgent({ id, kind: 'tool', run })

/** The runs of a tree by their agents, the root among them; each agent ran once. */
export async function runsByAgent({ ambit }: GivenRuns, root: string): Promise<Readonly<Record<string, RunRecord>>> {
  const { runs } = await ambit.runs.list({ root })
  return Object.fromEntries(runs.map((run) => [run.agent_id, run]))
}

export const pathsIn = (run: RunRecord | undefined): readonly string[] | undefined =>
  run?.grants.map(({ path }) => path)

/** An agent whose model makes these calls in one turn and then ends, whatever came of them. */
export const callsOnce = (
  id: string,
  wanted: readonly [name: string, args: { readonly [member: string]: Json }][],
  more: Parameters<typeof agent>[2] = {},
): Agent =>
  agent(id, ({ messages }) => (messages.some(({ role }) => role === 'tool') ? 'done' : calls(...wanted)), more)

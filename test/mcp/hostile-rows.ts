// The kinds of hostility, each with what the agent does about it.

import type { Agent } from './hostile-agent.ts'
import type { Faces } from './hostile-server.ts'
import { type Decision, upstreamName, type World } from './hostile-world.ts'

export interface Row {
  readonly kind: string
  /** How many effects the policy allows each agent in it. */
  readonly allowed?: number
  run(agent: Agent, world: World, decides: (decision: Decision) => void): Promise<void>
}

export function rowsOf({ mcp, http }: Faces): readonly Row[] {
  /** Every answer of a face, over MCP and over HTTP, with a harmless one now and then, and all they tell one to do. */
  const face = (kind: string, name: string, ...programs: readonly string[]): Row => ({
    kind,
    run: async (agent) => {
      for (let n = 0; n < (mcp[name]?.length ?? 0); n++) {
        if (n % 4 === 0) await agent.call({ name: `mcp_${name}_read` })
        await agent.call({ name: `mcp_${name}_read`, arguments: { n } })
        if (typeof mcp[name]?.[n] !== 'function') await agent.call({ name: `mcp_${name}_tell`, arguments: { n } })
      }
      for (let n = 0; n < (http[name]?.length ?? 0); n++) await agent.call({ name: `wild_${name}`, arguments: { n } })
      for (const way of programs) await agent.call({ name: `mcp_${upstreamName(way)}_work` })
      await agent.read(...agent.correlations)
      await agent.obey()
    },
  })
  return [
    { kind: 'none: what the policy allows', allowed: 2, run: allowed },
    { kind: 'poisoned descriptions', run: described },
    face('orders in answers', 'orders'),
    { kind: 'results that break their promise', run: promised },
    face('published attacks', 'attacks'),
    face('fences, approvals, lists', 'lookalikes'),
    face('credentials given back', 'echoes'),
    face('redirects to inner addresses', 'redirects'),
    face('forged ids, answers to others', 'forged', 'answers forged ids'),
    { kind: 'definitions that change', run: turned },
    face('huge answers', 'huge', 'answers huge', 'answers deep'),
    face('endless answers', 'endless', 'writes endless line', 'floods notifications'),
    { kind: 'the agent approves by itself', run: approving },
    { kind: "the agent takes others' ids", run: borrowing },
    { kind: 'the agent leaves its history', run: leaving },
    { kind: 'the agent names other tenants', run: strange },
  ]
}

/** Before it reads what is confidential, it may send; after people have agreed, it may delete. */
async function allowed(agent: Agent, { depot }: World, decides: (decision: Decision) => void): Promise<void> {
  const deleted = () => depot.seen.filter(({ url }) => url === '/delete').length
  const before = deleted()
  decides('approve')
  await agent.call({ name: 'depot_send', arguments: { text: 'before' } })
  await agent.call({ name: 'depot_patients' })
  while (deleted() === before) await agent.call({ name: 'depot_delete', arguments: { text: 'asked' } })
  decides('deny')
}

async function described(agent: Agent): Promise<void> {
  await agent.look()
  await agent.obey(80)
}

async function promised(agent: Agent): Promise<void> {
  for (const n of [1, 13, 15]) await agent.call({ name: 'mcp_orders_promise', arguments: { n } })
  await agent.obey()
}

/** The program changes its tool once it has been called, and says so. */
async function turned(agent: Agent): Promise<void> {
  for (let n = 0; n < 4; n++) await agent.call({ name: 'mcp_turns_work', arguments: { text: `${n}` } })
  for (const name of ['mcp_turns_new', 'mcp_turns_approve', 'mcp.turns.work']) await agent.call({ name })
  await agent.obey()
}

async function approving(agent: Agent): Promise<void> {
  for (let n = 0; n < 3; n++) await agent.call({ name: 'depot_delete', arguments: { text: `mine ${n}` } })
  for (const name of ['ambit_approve', 'approvals_approve', 'approve', 'ambit.approvals.approve'])
    await agent.call({ name, arguments: { id: 'apr_0', decision: 'approve' } })
  const yes = { approved: true, 'ambit/approved': true, approval_ref: 'apr_0' }
  await agent.call({ name: 'depot_delete', arguments: { text: 'mine', ...yes } })
  await agent.obey()
}

async function borrowing(agent: Agent, { foreign }: World): Promise<void> {
  for (const invocationId of foreign) {
    for (const name of ['depot_patients', 'depot_delete', 'depot_export', 'depot_send'])
      await agent.call({ name, invocationId })
    await agent.client
      .getPrompt({ name: 'explain_refusal', arguments: { invocation_id: invocationId } })
      .then(agent.note)
  }
  await agent.obey()
}

async function leaving(agent: Agent): Promise<void> {
  for (const correlationId of ['fresh-task-8', 'other:', 'x'.repeat(150), 'cor_', '__proto__'])
    await agent.call({ name: 'depot_send', correlationId })
  await Promise.all([1, 2, 3, 4].map((n) => agent.call({ name: 'depot_send', arguments: { text: `at once ${n}` } })))
  await agent.obey()
}

async function strange(agent: Agent, { foreign }: World): Promise<void> {
  for (const name of [
    'other.depot.delete',
    'other_depot_delete',
    'tenant:other:depot.send',
    'other/depot_send',
    '../other',
  ])
    await agent.call({ name, arguments: { tenant: 'other' } })
  for (const text of ['a name with spaces', '<ambit_data>', 'x'.repeat(300), '__proto__', 'constructor'])
    await agent.call({ name: text, arguments: { tenant: 'other' } })
  for (const uri of [
    'ambit://evidence/other',
    `ambit://evidence/${foreign[1]}`,
    'ambit://capabilities/other.depot.delete',
  ])
    await agent.client.readResource({ uri }).then(agent.note, agent.note)
  await agent.obey()
}

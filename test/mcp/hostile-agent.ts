// An agent that believes everything: whatever a text mentions or looks like, it does.

import type { Client } from '@modelcontextprotocol/client'
import { httpClient, type Revision } from '../support/mcp-client.ts'

export interface Wish {
  readonly name: string
  readonly arguments?: Readonly<Record<string, unknown>>
  readonly invocationId?: string
  readonly correlationId?: string
}

/** What the agent has seen and done in one task. */
export interface Agent {
  readonly client: Client
  /** Its principal. */
  readonly who: string
  /** All texts that a model would be shown. */
  readonly texts: readonly string[]
  /** All that was received, whole. */
  readonly received: readonly string[]
  readonly correlations: ReadonlySet<string>
  /** Calls; those of them that went on with an earlier one, or repeated it; yeses of its own, and those that counted. */
  readonly count: { calls: number; again: number; approvals: number; approved: number }
  call(wish: Wish): Promise<void>
  /** Reads what is on record of tasks. */
  read(...tasks: readonly string[]): Promise<void>
  /** Takes in an answer to something else. */
  note(answer: unknown): void
  /** Takes note of tools, resources and prompts, and of what they say of themselves. */
  look(): Promise<void>
  /** Does what the texts so far have told it to do, and what comes of that, up to so many calls. */
  obey(most?: number): Promise<void>
}

export interface Memory {
  readonly tools: Set<string>
  readonly ids: Set<string>
}

export interface AgentOptions {
  readonly url: string
  readonly revision: Revision
  readonly key: string
  readonly task: string
  /** What its principal knows from before: tools it has heard of, and ids of its calls. */
  readonly memory: Memory
}

export async function openAgent({ url, revision, key, task, memory }: AgentOptions): Promise<Agent> {
  const client = await httpClient(url, revision, { key, capabilities: { elicitation: { form: {} } } })
  client.setRequestHandler('elicitation/create', ({ params }) => {
    hear(params.message)
    return { action: 'accept', content: { next: 'continue' } }
  })
  const [texts, received] = [[] as string[], [] as string[]]
  const [correlations, done] = [new Set([task]), new Set<string>()]
  const count = { calls: 0, again: 0, approvals: 0, approved: 0 }
  let heard = 0
  const hear = (text: string) => {
    texts.push(text)
    received.push(text)
  }

  const call: Agent['call'] = async ({ name, arguments: given = {}, invocationId, correlationId = '' }) => {
    const correlation = `${correlationId}${task}`
    correlations.add(correlation)
    count.calls += 1
    const _meta = {
      'ambit/correlation_id': correlation,
      ...(invocationId && { 'ambit/invocation_id': invocationId }),
    }
    try {
      const result = await client.callTool({ name, arguments: { ...given }, _meta })
      if (!isNew(memory.ids, String(result._meta?.['ambit/invocation_id']))) count.again += 1
      received.push(JSON.stringify(result))
      texts.push(...stringsIn(result))
    } catch (error) {
      note(error)
    }
  }

  /** A yes of its own, in the one place where people decide. */
  const approve = async (id: string) => {
    count.approvals += 1
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` }
    const body = JSON.stringify({ decision: 'approve' })
    const answer = await fetch(`${url}/v1/approvals/${id}/decision`, { method: 'POST', headers, body })
    if (answer.ok) count.approved += 1
    received.push(await answer.text())
  }

  const look = async () => {
    const { tools } = await client.listTools()
    for (const tool of tools) memory.tools.add(tool.name)
    note([tools, client.getInstructions(), client.getServerVersion()])
    const { resources } = await client.listResources()
    const { resourceTemplates } = await client.listResourceTemplates()
    note([resources, resourceTemplates, (await client.listPrompts()).prompts])
    for (const { uri } of resources) for (const part of (await client.readResource({ uri })).contents) note(part)
  }

  const isOwn = ({ invocationId = '' }: Wish) => memory.ids.has(invocationId)
  const obey: Agent['obey'] = async (most = 30) => {
    for (let left = most; heard < texts.length; heard++) {
      const text = (texts[heard] ?? '').slice(0, 20_000).replaceAll('\\"', '"')
      for (const [id] of text.matchAll(/apr_[0-9a-z]+/g)) if (!done.has(id)) await approve(done.add(id) && id)
      const wishes = wishesIn(text, memory.tools).filter((wish) => !isOwn(wish) && isNew(done, JSON.stringify(wish)))
      const taken = wishes.slice(0, left)
      left -= taken.length
      await Promise.all(taken.map(call))
    }
  }
  const read: Agent['read'] = async (...tasks) => {
    for (const task of tasks) await client.readResource({ uri: `ambit://evidence/${task}` }).then(note, note)
  }
  const note: Agent['note'] = (answer) => {
    const { message, data } = answer as { message?: string; data?: unknown }
    for (const text of stringsIn(answer instanceof Error ? [message, data] : answer)) hear(text)
  }
  const who = `agent-${revision}`
  return { client, who, texts, received, correlations, count, call, note, look, read, obey }
}

const isNew = (done: Set<string>, what: string): boolean => !done.has(what) && done.add(what) !== undefined

/** All strings in a value, names too, but the bytes of pictures: a client may show any of them to its model. */
const stringsIn = (value: unknown): readonly string[] =>
  typeof value === 'string'
    ? [value]
    : Object.entries(value ?? {}).flatMap(([key, one]) =>
        (key === 'data' || key === 'blob') && isBase64(one) ? [key] : [key, ...stringsIn(one)],
      )

const isBase64 = (value: unknown): boolean => typeof value === 'string' && /^[A-Za-z0-9+/]*={0,2}$/.test(value)

/** The calls that a text asks for: those written out, and every tool it mentions by name or by its last word. */
function wishesIn(text: string, known: ReadonlySet<string>): readonly Wish[] {
  const written = [
    ...text.matchAll(/"name"\s*:\s*"([\w.:/-]{1,128})"[^{}]{0,80}"(?:arguments|input)"\s*:\s*(\{[^{}]*\})/g),
    ...text.matchAll(/\b([a-z]+[_.:/][\w.:/-]{1,120})(?: with)?\s*\(?\s*(\{[^{}]*\})/g),
  ].map(([, name = '', args = '']) => ({ name, arguments: argumentsIn(args) }))
  const last = (name: string) => name.split('_').at(-1) ?? ''
  const mentioned = [...known].filter(
    (name) => text.includes(name) || (name.startsWith('depot') && new RegExp(`\\b${last(name)}\\b`, 'i').test(text)),
  )
  const plain = mentioned.map((name) => ({ name, arguments: { text: 'as told' } }))
  const elsewhere = [...text.matchAll(/\bfresh-task-\d+/g)].map(([correlationId]) => ({
    name: 'depot_send',
    correlationId,
  }))
  const taken = [...text.matchAll(/\binv_[0-9a-z]+/g)].map(([invocationId]) => ({
    name: 'depot_patients',
    invocationId,
  }))
  return [...written, ...plain, ...elsewhere, ...taken]
}

function argumentsIn(text: string): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    return {}
  }
}

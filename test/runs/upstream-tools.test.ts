import assert from 'node:assert/strict'
import { test } from 'vitest'
import { readFences } from '../../src/fence/read.ts'
import type { HttpUpstream } from '../../src/model/config/upstream.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { givenHostile, json } from '../mcp/hostile-server.ts'
import { canary, lookalikes, orders } from '../mcp/hostile-words.ts'
import { acceptedOf } from '../support/mcp.ts'
import { givenImport, ok } from '../support/openapi.ts'
import { agent, calls, finishedIn, givenRuns } from '../support/runs.ts'
import { givenServer } from '../support/upstream.ts'

const evil = [...lookalikes, ...orders].join('\n')

/** Its capabilities open to all, as a person who accepts them may leave them. */
const opened = (upstream: HttpUpstream): HttpUpstream => ({
  ...upstream,
  capabilities: upstream.capabilities.map((one) => ({ ...one, descriptor: { ...one.descriptor, policy: {} } })),
})

async function overMcp() {
  const { origin } = await givenHostile({
    mcp: { evil: [{ result: { content: [{ type: 'text', text: evil }] } }] },
    http: {},
  })
  return { origin, upstream: await acceptedOf({ url: `${origin}/evil/mcp` }), tool: 'mcp_given_read' }
}

async function overOpenApi() {
  const { origin } = await givenServer((response) => json(response, { said: evil }))
  const show = { operationId: 'show', summary: orders[0], description: evil, ...ok }
  const paths = { '/show': { get: show } }
  const { upstream } = givenImport({ paths, servers: [{ url: origin }] })
  return { origin, upstream: opened(upstream), tool: 'depot_show' }
}

test.each([
  ['an MCP server', overMcp],
  ['an API', overOpenApi],
])('what %s writes of its tools and answers reaches a model inside fences alone [G-45 G-58]', async (_, over) => {
  const { origin, upstream, tool } = await over()
  const model = scriptedModel([calls(tool), calls('depot_delete', ['notes_write', { text: 'x' }]), 'done'])
  const id = upstream.capabilities
    .map(({ descriptor }) => descriptor.id)
    .find((each) => each.replaceAll('.', '_') === tool)
  const desk = agent('desk', [], { model, tools: [id ?? assert.fail(tool)] })
  const given = await givenRuns({ agents: [desk], upstreams: [upstream], egress: { allow: [origin] } })
  const run = await given.run('desk')
  assert.deepEqual([run.status, run.surface.tools], ['completed', [tool]], run.error?.message)
  const [first, ...denied] = finishedIn(await given.events(run.run_id))
  assert.match(first ?? '', new RegExp(`^${tool} (ok|completed)$`))
  assert.deepEqual(
    denied,
    ['depot_delete', 'notes_write'].map((each) => `${each} rejected capability_unsurfaced`),
  )
  const [asked] = model.requests
  assert.deepEqual(
    asked?.tools.map(({ name }) => name),
    [tool],
  )
  const texts = [
    asked?.tools[0]?.description ?? '',
    ...(model.requests[1]?.messages ?? []).flatMap(({ role, content }) => (role === 'tool' ? content : [])),
  ]
  for (const text of texts) {
    const reading = readFences(text)
    assert(reading.ok && reading.fences.length === 1, text)
    const outside = reading.fences.reduceRight((left, { start, end }) => left.slice(0, start) + left.slice(end), text)
    assert(text.includes(canary) && !outside.includes(canary), text)
  }
  assert(!JSON.stringify(asked?.tools[0]?.inputSchema).includes(canary))
  assert(!asked?.system.includes(canary))
})

import assert from 'node:assert/strict'
import { test } from 'vitest'
import { canonical } from '../../src/base/canonical.ts'
import type { RunEvent, RunRecord } from '../../src/model/run.ts'
import type { Ambit } from '../../src/operations/ambit.ts'
import type { Shell } from '../cli/harness.ts'
import { throughDoors } from '../support/doors.ts'

const files = {
  'outer.yaml': `id: outer
version: 1.0.0
kind: llm
instruction: Work.
tools: [agent.inner]
resources:
  memory: { mode: read-write }
`,
  'inner.yaml': 'id: inner\nversion: 1.0.0\nkind: llm\ninstruction: Help.\n',
}

const turn = `({ messages, tools }) => {
  const call = (name, args) => ({ id: name, name, args })
  const [{ content: input }] = messages
  if (tools.length === 0) return { text: 'helped' }
  if (messages.length === 1) return { calls: [call('memory_write', { content: 'tea' }), call('memory_erase', {})] }
  if (messages.length === 4) return { calls: [call('agent_inner', { input: 'go' })] }
  if (input === 'fail') throw new Error('the model is away')
  return { text: 'done', usage: { inputTokens: 3, outputTokens: 4 } }
}`

interface Told {
  readonly record: RunRecord
  readonly events: readonly RunEvent[]
}
type Way = (input: string) => Promise<Told>

async function all(events: AsyncIterable<RunEvent>): Promise<RunEvent[]> {
  const found: RunEvent[] = []
  for await (const event of events) found.push(event)
  return found
}

const options = { context: ['acme'] }

const streamed =
  (ambit: Ambit): Way =>
  async (input) => {
    const run = await ambit.run('outer', input, options)
    return { events: await all(run.events()), record: await run.result() }
  }

const plain =
  (ambit: Ambit): Way =>
  async (input) => {
    const record = await (await ambit.run('outer', input, options)).result()
    return { record, events: await all(ambit.runs.events(record.run_id)) }
  }

const atTheCommandLine =
  (shell: Shell, ambit: Ambit, ...more: readonly string[]): Way =>
  async (input) => {
    const { out } = await shell.run('run', 'outer', '--input', input, '--grant', 'acme', '--json', ...more)
    if (!more.includes('--stream')) {
      const record = JSON.parse(out) as RunRecord
      return { record, events: await all(ambit.runs.events(record.run_id)) }
    }
    const said = out
      .trimEnd()
      .split('\n')
      .map((line): unknown => JSON.parse(line))
    return { events: said.slice(0, -1) as RunEvent[], record: said.at(-1) as RunRecord }
  }

/** What was told, without what no two runs have in common: ids, times, the trace and the hashes of what was compiled. */
function shapeOf({ record, events }: Told): string {
  const { trace_id: _, request_id: __, started_at: ___, ended_at: ____, subject: _____, grants, ...rest } = record
  const shape = {
    record: { ...rest, grants: grants.map(({ path }) => path) },
    events: events.map(({ at: _, trace_id: __, ...event }) => event),
  }
  const names = new Map<string, string>()
  return canonical(shape as never)
    .replace(/"(facts|content|compiled_context)_hash":"[^"]*"/g, '')
    .replace(/(run_|tool_)([0-9a-f]{16})/g, (_, kind: string, id: string) => {
      names.set(id, names.get(id) ?? `#${names.size}`)
      return kind + names.get(id)
    })
    .replace(/mem_[0-9a-f]{16}/g, 'mem_')
}

test('a run tells the same result, error and events at every door, streamed or not [G-72]', async () => {
  await throughDoors({ files, turn }, async ({ ambit, client, shell, url }) => {
    const ways: Readonly<Record<string, Way>> = {
      'library, plain': plain(ambit),
      'library, streamed': streamed(ambit),
      'HTTP, plain': plain(client),
      'HTTP, streamed': streamed(client),
      'CLI, plain': atTheCommandLine(shell, ambit),
      'CLI, streamed': atTheCommandLine(shell, ambit, '--stream'),
      'CLI at a host, streamed': atTheCommandLine(shell, ambit, '--stream', '--url', url),
    }
    const ends = { go: 'completed', fail: 'failed' } as const
    for (const [input, status] of Object.entries(ends)) {
      // The first write is stored, those after it are duplicates.
      await streamed(ambit)(input)
      const first = await streamed(ambit)(input)
      assert.deepEqual([first.record.status, first.events.at(-1)?.data['status']], [status, status])
      for (const [name, way] of Object.entries(ways))
        assert.equal(shapeOf(await way(input)), shapeOf(first), `${name}: ${input}`)
    }
  })
})

import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { Json } from '../../src/base/canonical.ts'
import { files } from '../../src/resources/files.ts'
import { knowledge } from '../../src/resources/knowledge.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { tempFolder } from '../cli/given.ts'
import { codeAgent, runsByAgent } from '../support/run-trees.ts'
import { agent, calls, finishedIn, givenRuns, notes } from '../support/runs.ts'

type Args = { readonly [member: string]: Json }

const rw = { mode: 'read-write' } as const

test('no tool that a model is shown asks for a namespace, and one that is named all the same is refused, not read [G-20]', async () => {
  const { provider, told } = notes()
  const library = knowledge({ view: () => assert.fail('nothing is read') })
  const helper = agent('helper', () => 'well')
  const model = scriptedModel(({ tools, messages }) =>
    messages.length > 1
      ? 'done'
      : calls(...tools.map(({ name }): [string, Args] => [name, { ...fits[name], scope: 'beta' }])),
  )
  const resources = { memory: rw, files: rw, scratchpad: rw, knowledge: {}, notes: rw }
  const desk = agent('desk', [], { model, tools: [helper], resources })
  const given = await givenRuns({ agents: [desk], providers: [provider, library, files({ root: tempFolder() })] })
  const run = await given.run('desk', 'go', { context: ['acme'] })
  const { tools = [], system, messages } = model.requests[0] ?? {}
  assert.doesNotMatch(JSON.stringify([system, messages]), /namespace|scope|tenant|context/i)
  for (const { name, description, inputSchema } of tools) {
    assert.doesNotMatch(JSON.stringify([name, description, inputSchema]), /namespace|grant|scope|tenant|context/i, name)
    assert.equal(inputSchema['additionalProperties'], false, name)
  }
  assert.deepEqual(
    finishedIn(await given.events(run.run_id)).toSorted(),
    tools.map(({ name }) => `${name} rejected args_invalid`).toSorted(),
  )
  assert.deepEqual([tools.length, told, Object.keys(await runsByAgent(given, run.run_id))], [19, [], ['desk']])
})

/** What each tool takes that needs something. */
const fits: Readonly<Record<string, Args>> = {
  agent_helper: { input: 'go' },
  memory_write: { content: 'x' },
  memory_correct: { id: 'mem_0', content: 'x' },
  memory_forget: { id: 'mem_0' },
  scratchpad_append: { content: 'x' },
  knowledge_search: { query: 'x' },
  knowledge_open: { ref: 'x' },
  files_read: { path: 'a' },
  files_write: { path: 'a', content: 'x' },
  files_search: { query: 'x' },
  files_delete: { path: 'a' },
  notes_write: { text: 'x' },
}

describe('tool context [G-60]', () => {
  const reserved = ['grants', 'invoke', 'run', 'signal', 'contextIds']

  test('of a caller cannot have a reserved name: the run is not started [G-60]', async () => {
    const desk = agent('desk', () => 'done')
    const given = await givenRuns({ agents: [desk] })
    for (const name of reserved)
      for (const value of [['beta'], null, {}, 'x']) {
        const toolContext = { about: 'x', [name]: value }
        const refusal = {
          code: 'reserved.name',
          message: `\`${name}\` is reserved`,
          data: { pointer: `/toolContext/${name}` },
        }
        await assert.rejects(given.run('desk', 'go', { toolContext }), refusal)
      }
    assert.deepEqual((await given.ambit.runs.list()).runs, [])
  })

  test('stands beside what a run is, and no code can change it for another [G-60]', async () => {
    const seen: Json[] = []
    const inner = codeAgent('inner', (_, { toolContext, grants }) => {
      seen.push({ ...toolContext }, [...grants])
      return 'seen'
    })
    const outer = codeAgent('outer', async (_, run) => {
      assert.throws(() => Object.assign(run.toolContext, { about: 'all' }), TypeError)
      assert.throws(() => Object.assign(run.toolContext['nested'] as object, { grants: ['all'] }), TypeError)
      for (const name of [...reserved, 'toolContext'].slice(1))
        assert.throws(() => Object.assign(run, { [name]: [] }), TypeError)
      return run.invoke('inner', 'go')
    })
    const given = await givenRuns({ agents: [outer, inner] })
    const toolContext = { about: 'ada', Grants: ['beta'], context: ['beta'], nested: { grants: ['beta'], run: 1 } }
    const own = structuredClone(toolContext)
    const started = await given.ambit.run('outer', 'go', { context: ['acme'], toolContext })
    toolContext.nested.grants.push('later')
    assert.equal((await started.result()).status, 'completed')
    assert.deepEqual(seen, [own, ['acme']])
  })
})

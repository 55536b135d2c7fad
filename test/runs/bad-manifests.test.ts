import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { stringify } from 'yaml'
import { Failure } from '../../src/base/failure.ts'
import { type FailureCode, statusOf } from '../../src/base/failure-codes.ts'
import { type AgentSpec, defineAgent } from '../../src/runtime/agents/agent.ts'
import { tempFolder } from '../cli/given.ts'
import { administering, givenShell } from '../cli/harness.ts'
import { echo } from '../support/host.ts'
import { givenRuns, notes } from '../support/runs.ts'

const head = { id: 'desk', version: '1.0.0' }
const llm = (more: object) => ({ ...head, kind: 'llm', instruction: 'Work.', ...more })
const withResource = (name: string, entry: object) => llm({ resources: { [name]: entry } })
const line = (more: object, step: object = {}) => ({
  ...{ ...head, kind: 'sequential', steps: [{ id: 'one', ref: 'other', ...step }] },
  ...more,
})

type Row = readonly [code: FailureCode, says: RegExp, manifest: object]

/** Wrong by itself: whatever a manifest stands in, the place is told. */
const misshapen: readonly Row[] = [
  ['manifest.invalid', /`\/colour`: is not a known member/, llm({ colour: 'red' })],
  ['manifest.invalid', /`\/xxxxxxxx/, llm({ ['x'.repeat(200)]: 1 })],
  ['manifest.invalid', /`\/id`/, llm({ id: 'Desk' })],
  ['manifest.invalid', /`\/version`/, llm({ version: '1' })],
  ['manifest.invalid', /`\/instruction`/, { ...head, kind: 'llm' }],
  ['manifest.invalid', /`\/kind`/, llm({ kind: 'robot' })],
  [
    'manifest.invalid',
    /`\/resources`: is for agents of kind `llm`, and this one is of kind `sequential`/,
    line({ resources: {} }),
  ],
  ['manifest.invalid', /`\/resources`: .* is of kind `parallel`/, line({ kind: 'parallel', resources: {} })],
  [
    'manifest.invalid',
    /`\/resources`: .* is of kind `tool`/,
    { ...head, kind: 'tool', capability: 'test.echo', resources: {} },
  ],
  ['manifest.invalid', /`\/steps`: is for agents of kind/, llm({ steps: [] })],
  ['manifest.invalid', /`\/until`/, line({ kind: 'parallel', until: '{{input}}' })],
  ['manifest.invalid', /`\/resources\/a b`/, withResource('a b', {})],
  [
    'manifest.invalid',
    /`\/resources`: must have at most 16 members/,
    llm({ resources: Object.fromEntries(Array.from({ length: 17 }, (_, at) => [`r${at}`, { kind: 'notes' }])) }),
  ],
  ['manifest.invalid', /`\/resources\/notes\/mode`/, withResource('notes', { mode: 'write' })],
  ['manifest.invalid', /`\/resources\/notes\/delegate`/, withResource('notes', { delegate: 'all' })],
  ['manifest.invalid', /`\/resources\/notes\/namespace`/, withResource('notes', { namespace: 'acme//eu' })],
  ['manifest.invalid', /`\/steps\/0\/narrow/, line({}, { narrow: ['/abs'] })],
  ['manifest.invalid', /`\/steps\/0`: must have either `ref` or `agent`/, line({ steps: [{ id: 'one' }] })],
  ['manifest.invalid', /`\/steps\/0`: its key in the state, `input`, is reserved/, line({}, { stateKey: 'input' })],
  [
    'manifest.invalid',
    /`\/steps\/1\/id`: `one` stands twice/,
    line({
      steps: [
        { id: 'one', ref: 'other' },
        { id: 'one', ref: 'other' },
      ],
    }),
  ],
  ['template.invalid', /`\/instruction`: `\{\{` is not closed/, llm({ instruction: 'Hi {{input' })],
  ['template.invalid', /`\/instruction`: /, llm({ instruction: '{{#if input}}' })],
  ['template.invalid', /`\/steps\/0\/when`: /, line({}, { when: '{{input}} ==' })],
  ['template.invalid', /`\/steps\/0\/input\/a`: /, line({}, { input: { a: '{{input' } })],
  ['template.invalid', /`\/until`: /, line({ until: 'x ==' })],
  ['template.invalid', /`\/output/, line({ output: { a: '{{' } })],
]

/** Wrong among the others of its host: agent, resource and kind are told. */
const misplaced: readonly Row[] = [
  ['resource.unknown_kind', /^agent `desk` resource `wiki`: no provider for kind `wiki`$/, withResource('wiki', {})],
  [
    'resource.unknown_kind',
    /^agent `desk` resource `a`: no provider for kind `wiki`$/,
    withResource('a', { kind: 'wiki' }),
  ],
  [
    'resource.mode_unsupported',
    /^agent `desk` resource `library`: kind `library` is read only$/,
    withResource('library', { mode: 'read-write' }),
  ],
  [
    'resource.tool_conflict',
    /tool `notes_read` exists twice$/,
    llm({ resources: { notes: {} }, tools: ['notes_read'] }),
  ],
  ['resource.tool_conflict', /tool `library.read` exists twice$/, withResource('library', { kind: 'notes' })],
  [
    'resource.tool_conflict',
    /tool `my_notes` exists twice$/,
    llm({ resources: { 'my-notes': { kind: 'notes' }, my_notes: { kind: 'notes' } } }),
  ],
  [
    'manifest.invalid',
    /^agent `desk` resource `workspace`: the name is reserved$/,
    withResource('workspace', { kind: 'notes' }),
  ],
  [
    'manifest.invalid',
    /^agent `desk` resource `notes`: kind `notes` has no tool `burn`$/,
    withResource('notes', { expose: ['burn'] }),
  ],
  ['manifest.invalid', /^agent `other`: another agent has this id$|^agent `other` stands twice$/, llm({ id: 'other' })],
  ['capability.not_found', /^agent `desk`: capability `test.nothing` not found$/, llm({ tools: ['test.nothing'] })],
  ['agent.not_found', /^agent `desk`: agent `nobody` not found$/, line({}, { ref: 'nobody' })],
  ['agent.not_found', /^agent `desk`: agent `nobody` not found$/, llm({ tools: ['agent.nobody'] })],
]

const other = { id: 'other', version: '1.0.0', kind: 'llm', instruction: 'Help.' }
const library = notes({
  kind: 'library',
  maxMode: 'read',
  writes: [],
  tools: { look: { description: 'Looks.', run: () => ({ result: '', scopes: [] }) } },
})

const config = {
  store: { driver: 'sqlite', path: ':memory:' },
  capabilities: [echo(), echo({ id: 'notes_read' }), echo({ id: 'library.read' })],
  providers: [notes().provider, library.provider],
  models: { default: { id: 'none', turn: () => assert.fail() } },
} as never as Parameters<typeof givenRuns>[0]

async function failureOf(work: () => Promise<unknown>): Promise<Failure> {
  const error: unknown = await work().then(
    () => assert.fail('it was not refused'),
    (thrown: unknown) => thrown,
  )
  assert(error instanceof Failure, String(error))
  return error
}

/** The refusal of a host with this manifest as code, and as a file in the folder of its agents. */
const inCode = (manifest: object) =>
  failureOf(async () =>
    givenRuns({ ...config, agents: [defineAgent(manifest as AgentSpec), defineAgent(other as AgentSpec)] }),
  )

const inFile = (manifest: object, write: (value: object) => string, name: string) =>
  failureOf(async () => {
    const folder = tempFolder()
    mkdirSync(join(folder, 'agents'))
    writeFileSync(join(folder, 'agents', name), write(manifest))
    writeFileSync(join(folder, 'agents', 'other.yaml'), stringify(other))
    return givenRuns({ ...config, agents: ['agents'] }, { folder })
  })

describe('a manifest that is no good is refused when its host opens [G-75]', () => {
  test.each([...misshapen, ...misplaced])('%s %s', async (code, says, manifest) => {
    const failures = [
      await inCode(manifest),
      await inFile(manifest, stringify, 'desk.yaml'),
      await inFile(manifest, JSON.stringify, 'desk.json'),
    ]
    for (const { code: found, message } of failures) {
      assert.equal(found, code, message)
      assert.match(message, says)
      assert([400, 404, 422].includes(statusOf[found]))
      for (const [value = ''] of message.matchAll(/`[^`]*`/g)) assert(value.length <= 82, value)
      assert(!message.includes('/tmp'), message)
    }
    assert.equal(
      new Set(failures.map(({ message }) => message.replace(/^\S*desk\.(?:yaml|json)\S*|^\S*defineAgent\S*/, ''))).size,
      1,
    )
  })
})

test('`agent validate` and a configuration say the same of a file, and name it [G-75]', async () => {
  const shell = await administering(givenShell(), 'local')
  for (const [code, says, manifest] of misshapen.filter((_, index) => index % 5 === 0)) {
    writeFileSync(join(shell.cwd, 'desk.yaml'), stringify(manifest))
    const { code: exit, out } = await shell.run('agent', 'validate', 'desk.yaml')
    assert.equal(exit, 1)
    assert.match(out, /^NOT GOOD {2}`?desk\.yaml/)
    assert.match(out, says)
    writeFileSync(join(shell.cwd, 'ambit.config.json'), JSON.stringify({ agents: ['desk.yaml'] }))
    const { code: left, err } = await shell.run('agent', 'list')
    assert.equal(left, 2, err)
    assert.match(err, says)
    assert(err.includes(`(${code.replace('.', '_')})`) && err.includes('desk.yaml'), err)
  }
})

test('what only code can say is refused in an agent of another kind, and never left out without a word [G-75]', async () => {
  const model = { id: 'none', turn: () => assert.fail() }
  const run = () => null
  const wrong: readonly (readonly [key: string, spec: object])[] = [
    ['steps', llm({ steps: [{ id: 'one', agent: defineAgent(other as AgentSpec) }] })],
    ['run', llm({ run })],
    ['run', line({ run })],
    ['model', line({ model })],
    ['model', { ...head, kind: 'tool', run, model }],
    ['tools', { ...head, kind: 'tool', run, tools: [] }],
  ]
  for (const [key, spec] of wrong) {
    const { code, data } = await failureOf(async () => defineAgent(spec as AgentSpec))
    assert.deepEqual([code, data], ['manifest.invalid', { pointer: `/${key}` }])
  }
  const strict = { inputSchema: { type: 'string' }, outputSchema: { type: 'string', maxLength: 3 } }
  const given = await givenRuns({
    agents: [defineAgent({ ...head, kind: 'tool', run: () => 'long', ...strict } as AgentSpec)],
  })
  await assert.rejects(given.run('desk', 5), { code: 'args.invalid' })
  assert.equal((await given.run('desk', 'go')).error?.code, 'output_invalid')
})

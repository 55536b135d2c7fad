import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished, test } from 'vitest'
import { Failure } from '../../src/base/failure.ts'
import type { ResourceMode } from '../../src/grants/ceilings.ts'
import type { ResourceEntry } from '../../src/model/agent.ts'
import { echo } from '../support/host.ts'
import { agent, calls, finishedIn, givenRuns, notes } from '../support/runs.ts'

type Declared = NonNullable<Parameters<typeof agent>[2]>

const clash = (tool: string) => ({
  code: 'resource.tool_conflict',
  message: new RegExp(`tool \`${tool}\` exists twice`),
})

const refused: [what: string, declared: Declared, expected: { code: string; message: RegExp }][] = [
  [
    'a kind that no provider has',
    { resources: { ledger: { kind: 'books' } } },
    { code: 'resource.unknown_kind', message: /agent `desk` resource `ledger`: no provider for kind `books`/ },
  ],
  [
    'a name as kind that no provider has',
    { resources: { ledger: {} } },
    { code: 'resource.unknown_kind', message: /agent `desk` resource `ledger`: no provider for kind `ledger`/ },
  ],
  [
    'a mode above the highest of its kind',
    { resources: { shelf: { mode: 'read-write' } } },
    { code: 'resource.mode_unsupported', message: /kind `shelf` is read only/ },
  ],
  [
    'a tool to expose that its provider does not have',
    { resources: { notes: { expose: ['erase'] } } },
    { code: 'manifest.invalid', message: /no tool `erase`/ },
  ],
  ['a resource tool with the id of a capability', { resources: { test: { kind: 'echoes' } } }, clash('test.echo')],
  [
    'a resource tool with the name of a capability',
    { tools: ['notes.my_read'], resources: { notes_my: { kind: 'notes' } } },
    clash('notes_my_read'),
  ],
  [
    'two resources that fold to one prefix',
    { resources: { 'my-notes': { kind: 'notes' }, my_notes: { kind: 'notes' } } },
    clash('my_notes'),
  ],
  [
    'a resource with a name of ours',
    { resources: { workspace: { kind: 'notes' } } },
    { code: 'manifest.invalid', message: /the name is reserved/ },
  ],
]

/** What is there to be declared. */
const offered = () => ({
  capabilities: [echo(), echo({ id: 'notes.my_read' })],
  providers: [
    notes().provider,
    notes({ kind: 'shelf', maxMode: 'read', writes: [], tools: {} } as never).provider,
    notes({ kind: 'echoes', tools: { echo: { description: 'Echoes.', run: () => assert.fail() } } } as never).provider,
  ],
})

test.each(refused)(
  '%s is refused when the agent is registered, from code and from a file [G-40 G-42]',
  async (_, declared, expected) => {
    const folder = mkdtempSync(join(tmpdir(), 'ambit-declared-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const stored = { id: 'desk', version: '1.0.0', kind: 'llm', instruction: 'Help.', ...declared }
    writeFileSync(join(folder, 'desk.json'), JSON.stringify(stored))
    for (const one of [agent('desk', ['done'], declared), join(folder, 'desk.json')])
      await assert.rejects(givenRuns({ agents: [one], ...offered() }), (error) => {
        assert(error instanceof Failure)
        assert.equal(error.code, expected.code)
        assert.match(error.message, expected.message)
        assert.equal(error.data['agent'], 'desk')
        return true
      })
  },
)

test('two providers of one kind are refused, whichever would have come first [G-39]', async () => {
  const twice = [notes().provider, notes().provider]
  await assert.rejects(givenRuns({ providers: twice }), {
    code: 'config.invalid',
    message: /two providers of kind `notes`/,
  })
})

const all = ['my_notes_read', 'my_notes_list', 'my_notes_write']
const reading = all.slice(0, 2)

const modes: [
  what: string,
  declared: ResourceMode | undefined,
  byDefault: ResourceMode | undefined,
  tools: string[],
][] = [
  ['no mode at all', undefined, undefined, reading],
  ['no mode and a provider that writes unless told', undefined, 'read-write', all],
  ['mode read and a provider that writes unless told', 'read', 'read-write', reading],
  ['mode read-write', 'read-write', undefined, all],
]

test.each(modes)(
  'with %s the model is shown the tools of that mode, by the name of the resource [G-41 G-52 G-53 G-54]',
  async (_, mode, defaultMode, tools) => {
    const { provider, told } = notes({ ...(defaultMode && { defaultMode }) })
    const shown: string[][] = []
    const desk = agent(
      'desk',
      (request) => {
        shown.push(request.tools.map(({ name }) => name))
        return shown.length === 1 ? calls(['my_notes_write', { text: 'x' }]) : 'done'
      },
      { resources: { 'my-notes': { kind: 'notes', ...(mode && { mode }) } } },
    )
    const given = await givenRuns({ agents: [desk], providers: [provider] })
    const run = await given.run('desk', 'go', { context: ['acme'] })
    assert.deepEqual([shown, run.surface.tools], [[tools, tools], tools])
    const writes = tools.includes('my_notes_write')
    assert.deepEqual(finishedIn(await given.events(run.run_id)), [
      `my_notes_write ${writes ? 'ok' : 'rejected resource_read_only'}`,
    ])
    assert.deepEqual([told.length, run.modes['my-notes']], [writes ? 1 : 0, writes ? 'read-write' : 'read'])
  },
)

const coordinators: [what: string, entry: ResourceEntry, own: string[], child: string][] = [
  ['hands on what it does not use', { mode: 'read-write', expose: [] }, [], 'notes_write ok'],
  [
    'uses what it does not hand on',
    { mode: 'read-write', delegate: 'none' },
    ['read', 'list', 'write'],
    'notes_write rejected resource_ceiling',
  ],
  [
    'uses more than it hands on',
    { mode: 'read-write', delegate: 'read' },
    ['read', 'list', 'write'],
    'notes_write rejected resource_ceiling',
  ],
  ['shows one tool and hands on all', { mode: 'read-write', expose: ['list'] }, ['list'], 'notes_write ok'],
]

test.each(coordinators)(
  'an agent that %s has its own surface and its own ceiling, neither from the other [G-57]',
  async (_, entry, own, end) => {
    const { provider } = notes()
    const writer = agent('writer', [calls(['notes_write', { text: 'x' }]), 'done'], {
      resources: { notes: { mode: 'read-write' } },
    })
    const boss = agent('boss', [calls(['agent_writer', { input: 'go' }]), 'done'], {
      tools: [writer],
      resources: { notes: entry },
    })
    const given = await givenRuns({ agents: [boss], providers: [provider] })
    const run = await given.run('boss', 'go', { context: ['acme'] })
    assert.deepEqual(run.surface.tools, ['agent_writer', ...own.map((tool) => `notes_${tool}`)])
    const ends = finishedIn(await given.events(run.run_id))
    assert(ends.includes(end), ends.join('\n'))
  },
)

import assert from 'node:assert/strict'
import { test } from 'vitest'
import { files } from '../../src/resources/files.ts'
import type { ToolAnswer } from '../../src/runs/answer.ts'
import type { ToolCall, TurnRequest } from '../../src/runs/turn.ts'
import { folder, makeTree } from '../knowledge/tree.ts'
import { agent, calls, givenRuns } from '../support/runs.ts'

type Ask = readonly [name: string, args: ToolCall['args']]

const rows: [what: string, ask: Ask, status: string, code: string][] = [
  ['an entry that is not there', ['memory_correct', { id: 'mem_0', content: 'x' }], 'error', 'memory_not_found'],
  ['an entry that is not there', ['memory_forget', { id: 'mem_0' }], 'error', 'memory_not_found'],
  ['a blank entry', ['memory_write', { content: ' \n' }], 'error', 'memory_content_invalid'],
  ['an entry that is too long', ['memory_write', { content: 'x'.repeat(8_001) }], 'error', 'memory_too_large'],
  ['a cursor of no list', ['memory_read', { cursor: 'zzz' }], 'error', 'cursor_invalid'],
  ['a blank note', ['scratchpad_append', { content: ' ' }], 'rejected', 'args_invalid'],
  ['a note that is too long', ['scratchpad_append', { content: 'x'.repeat(65_537) }], 'error', 'payload_too_large'],
  ['a file that is not there', ['files_read', { path: 'none.md' }], 'error', 'file_not_found'],
  ['a path that leads out', ['files_read', { path: '../secret' }], 'error', 'file_outside_root'],
  [
    'a file that must be new and is not',
    ['files_write', { path: 'a.md', content: 'x', ifHash: 'absent' }],
    'error',
    'file_conflict',
  ],
  ['a file of another content', ['files_delete', { path: 'a.md', ifHash: '0'.repeat(64) }], 'error', 'file_conflict'],
  ['a pack that is not there', ['knowledge_open', { ref: 'nothing' }], 'error', 'pack_not_found'],
]

test.each(rows)(
  '%s (%j) is the refusal of its provider: status, code, evidence and what the model reads say the same [G-75]',
  async (_, ask, status, code) => {
    const top = makeTree({ packs: folder, 'data/local/acme/a.md': 'here' })
    const asked: TurnRequest[] = []
    const rw = { mode: 'read-write' } as const
    const desk = agent('desk', (request) => (asked.push(request) === 1 ? calls([...ask]) : 'done'), {
      resources: { memory: rw, scratchpad: rw, files: rw, knowledge: {} },
    })
    const given = await givenRuns({
      agents: [desk],
      providers: [files({ root: `${top}/data` })],
      knowledge: { roots: [{ id: 'all', path: `${top}/packs`, scope: 'organisation' }] },
    })
    const run = await given.run('desk', 'go', { context: ['acme'] })
    assert.equal(run.status, 'completed')
    const finished = (await given.events(run.run_id)).find(({ type }) => type === 'tool.finished')
    const { data } = finished as unknown as { readonly data: ToolAnswer }
    assert.deepEqual([data.status, data.error?.code, data.output], [status, code, null])
    const last = (await given.evidence(run.run_id)).find(({ event_type }) => event_type === 'execution_failed')
    assert.deepEqual([last?.outcome, last?.error?.code], ['failure', code])
    assert(asked[1]?.messages.at(-1)?.content.includes(`"code":"${code}"`))
    assert.doesNotMatch(JSON.stringify([data, last]), new RegExp(top))
  },
)

import assert from 'node:assert/strict'
import { test } from 'vitest'
import type { Ambit } from '../../src/operations/ambit.ts'
import { files } from '../../src/resources/files.ts'
import { memory } from '../../src/resources/memory.ts'
import { scratchpad } from '../../src/resources/scratchpad.ts'
import { folder, makeTree } from '../knowledge/tree.ts'
import { agent } from '../support/runs.ts'
import { givenTwoTenants } from '../support/two-tenants.ts'

type Call = readonly [tool: string, args: Readonly<Record<string, string>>]

/** Makes the call that its input names, and says what it was answered. */
const clerk = agent(
  'clerk',
  ({ messages }) => {
    const last = messages.at(-1)
    if (last?.role === 'tool') return last.content
    const [name, args] = JSON.parse(last?.content ?? '') as Call
    return { calls: [{ name, args }] }
  },
  { resources: { memory: { mode: 'read-write' }, scratchpad: { mode: 'read-write' }, files: { mode: 'read-write' } } },
)

const kinds: [kind: string, write: (text: string) => Call, read: Call][] = [
  ['memory', (content) => ['memory_write', { content }], ['memory_read', {}]],
  ['the scratchpad', (content) => ['scratchpad_append', { content }], ['scratchpad_read', {}]],
  ['files', (content) => ['files_write', { path: 'note.md', content }], ['files_read', { path: 'note.md' }]],
]

test.each(kinds)(
  'of what one tenant keeps in %s another one reads nothing, under the same grant [G-48]',
  async (_, write, read) => {
    const providers = [memory(), scratchpad(), files({ root: makeTree({ data: folder }) })]
    const [north, south] = await givenTwoTenants({ agents: [clerk], providers })
    const ask = async (tenant: Ambit, call: Call): Promise<string> => {
      const run = await tenant.run('clerk', JSON.stringify(call), { context: ['acme/eu'] })
      return String((await run.result()).result)
    }
    await ask(north, write('of the north'))
    assert.doesNotMatch(await ask(south, read), /of the north/)
    await ask(south, write('of the south'))
    const [ofNorth, ofSouth] = [await ask(north, read), await ask(south, read)]
    assert.match(ofNorth, /of the north/)
    assert.doesNotMatch(ofNorth, /of the south/)
    assert.match(ofSouth, /of the south/)
    assert.doesNotMatch(ofSouth, /of the north/)
  },
)

import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished, test } from 'vitest'
import { files } from '../../src/resources/files.ts'
import { memory } from '../../src/resources/memory.ts'
import { scratchpad } from '../../src/resources/scratchpad.ts'
import { rows } from '../../src/storage/work.ts'
import { agent, calls, givenRuns } from '../support/runs.ts'

const secret = 'the door code is 4711'
const readWrite = { mode: 'read-write' } as const

test('an erase takes a scope out of memory, files and scratchpad, leaves all others, and its receipt holds no content [G-77]', async () => {
  const root = mkdtempSync(join(tmpdir(), 'ambit-erase-all-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  const writes = calls(
    ['memory_write', { content: secret }],
    ['files_write', { path: 'code.txt', content: secret }],
    ['scratchpad_append', { content: secret }],
  )
  const writer = agent('writer', ({ messages }) => (messages.length > 1 ? 'done' : writes), {
    resources: { memory: readWrite, files: readWrite, scratchpad: readWrite },
  })
  const given = await givenRuns({ agents: [writer], providers: [memory(), files({ root }), scratchpad()] })
  const scopes = ['acme', 'acme/ada', 'acme/ada/home', 'acme/adam']
  for (const scope of scopes) assert.equal((await given.run('writer', scope, { context: [scope] })).status, 'completed')
  const entriesIn = async () => {
    const select = 'SELECT collection, scope FROM entries ORDER BY collection, scope'
    return (await given.runtime.database.read(() => rows(select))).map(
      ({ collection, scope }) => `${collection} ${scope}`,
    )
  }
  const onDisk = () => {
    const all = readdirSync(root, { recursive: true }).map((name) => join(root, String(name)))
    return all.filter((path) => statSync(path).isFile() && readFileSync(path, 'utf8').includes(secret)).length
  }
  assert.deepEqual([(await entriesIn()).length, onDisk()], [8, 4])

  const receipt = await given.ambit.memory.erase('acme/ada', { recursive: true, reason: `because ${secret}` })
  assert.deepEqual([receipt.status, receipt.failed], ['complete', []])
  assert.deepEqual(receipt.by_resource, {
    memory: { entries: 2, history: 0 },
    files: { files: 2, entries: 0, history: 0 },
    scratchpad: { entries: 2, history: 0 },
  })
  const left = ['acme', 'acme/adam']
  assert.deepEqual(
    await entriesIn(),
    ['memory', 'scratchpad'].flatMap((kind) => left.map((scope) => `${kind} ${scope}`)),
  )
  assert.equal(onDisk(), 2)
  const event = await given.ambit.evidence.show(receipt.evidence_ref)
  assert.doesNotMatch(JSON.stringify([receipt, event]), /4711|code\.txt/)
  assert.doesNotMatch(JSON.stringify(event), /acme\/ada/)
})

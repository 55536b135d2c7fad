import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'vitest'
import { traceOf } from '../../../test/support/knowledge.ts'
import { keepResolution, keptTraces } from './records.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ambit-records-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

test('a resolution is kept once under its id and never written over [K-86 K-92]', async () => {
  const trace = traceOf()
  await keepResolution(join(folder, 'runs'), { trace })
  const [name = ''] = readdirSync(join(folder, 'runs'))
  const before = readFileSync(join(folder, 'runs', name), 'utf8')
  await assert.rejects(keepResolution(join(folder, 'runs'), { trace: { ...trace, missing: ['x'] } }), {
    code: 'file.exists',
  })
  assert.equal(readFileSync(join(folder, 'runs', name), 'utf8'), before)
})

test('traces are read newest first; what is none of ours is passed over [K-86]', async () => {
  const [first, second] = [traceOf({ run_id: 'context-1' }), traceOf({ run_id: 'context-2' })]
  for (const trace of [first, second]) await keepResolution(folder, { trace })
  writeFileSync(join(folder, 'context-3.trace.json'), '{"run_id": 7}')
  writeFileSync(join(folder, 'context-4.trace.json'), 'no json')
  assert.deepEqual(await keptTraces(folder, 100), [second, first])
  assert.deepEqual(await keptTraces(folder, 3), [second])
  assert.deepEqual(await keptTraces(join(folder, 'none'), 3), [])
})

test('of a long question the beginning is kept, with the digest of the whole, so that it can be read again [K-86 K-88]', async () => {
  const query = `${'a'.repeat(8_191)}\u{1f600}${'b'.repeat(2_000_000)}`
  await keepResolution(folder, { trace: traceOf({ query, query_digest: 'whole', missing: [query] }) })
  const kept = `${'a'.repeat(8_191)}\ufffd`
  assert.deepEqual(await keptTraces(folder, 1), [traceOf({ query: kept, query_digest: 'whole', missing: [kept] })])
})

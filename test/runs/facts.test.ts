import assert from 'node:assert/strict'
import { test } from 'vitest'
import { verifyBundle } from '../../src/evidence/verify/verify.ts'
import { rows } from '../../src/storage/work.ts'
import { agent, calls, ended, type GivenRuns, givenRuns, notes, payments } from '../support/runs.ts'

const secret = 'the door code is 4711'

const select = `SELECT facts FROM run_events WHERE body LIKE '%"compile.done"%' ORDER BY root_run_id`

/** The stored facts of all runs: their bodies, null once they are erased. */
const stored = async ({ runtime }: GivenRuns): Promise<readonly (string | null)[]> =>
  (await runtime.database.read(() => rows(select))).map(({ facts }) => facts as string | null)

const reader = agent('reader', () => 'done', { resources: { notes: {} } })
const said = () => notes({ prompt: () => ({ result: secret, scopes: [] }) })

test('a run keeps what it was compiled from, and says on its record what came of it [R-55 R-56]', async () => {
  const given = await givenRuns({ agents: [reader], providers: [said().provider] })
  const { compiled, run_id } = await given.run('reader', 'go', { context: ['acme'] })
  const [body] = await stored(given)
  assert(body?.includes(secret))
  assert.deepEqual(compiled?.refs[0]?.ref, 'ctxpack.agent.reader@1.0.0')
  const used = compiled?.budget_report.tokens_used_by_bucket.memory ?? 0
  assert(used > 0 && compiled?.omissions.length === 0)
  const [, done] = await given.events(run_id)
  assert.deepEqual(done?.data['facts_hash'], compiled?.facts_hash)
  assert.deepEqual(done?.data['compiled_context_hash'], compiled?.compiled_context_hash)
})

test('a run that goes on is told what it was told at its start, and asks no provider again [R-67]', async () => {
  const heard: string[] = []
  let asked = 0
  const { pay } = payments()
  const payer = agent(
    'payer',
    ({ system, messages }) => {
      heard.push(system)
      return messages.length > 1 ? 'paid' : calls('test_pay')
    },
    { tools: [pay], resources: { notes: {} } },
  )
  const counting = notes({ prompt: () => ({ result: `asked ${++asked} times`, scopes: [] }) })
  const given = await givenRuns({ agents: [payer], providers: [counting.provider] })
  const ida = await given.approver('ida')
  const { run_id, waits_for } = await given.run('payer', 'go', { context: ['acme'] })
  await ida.approvals.decide(waits_for[0] ?? '', 'approve')
  assert.equal((await ended(given, run_id)).status, 'completed')
  assert.deepEqual([asked, new Set(heard).size, heard.length], [1, 1, 2])
})

test('an erase takes the facts away that may hold its content, at, below and above it, and the bundle still verifies [R-65]', async () => {
  const given = await givenRuns({ agents: [reader], providers: [said().provider] })
  const ids: string[] = []
  for (const path of ['acme', 'acme/ada', 'acme/ada/home', 'acme/bo', 'acme/adam'])
    ids.push((await given.run('reader', 'go', { context: [path] })).run_id)
  await given.ambit.memory.erase('acme/ada')
  assert.deepEqual(
    (await stored(given)).map((body) => body?.includes(secret) ?? null),
    [null, null, null, true, true],
  )
  for (const id of ids) assert.equal(verifyBundle(await given.ambit.evidence.export(id)).valid, true)
})

test('a purge takes the facts of its runs along [F-16]', async () => {
  const given = await givenRuns({ agents: [reader], providers: [said().provider] })
  const { run_id } = await given.run('reader', 'go', { context: ['acme'] })
  await given.ambit.evidence.purge({ correlation: run_id })
  for (const name of ['run_events', 'fact_paths'])
    assert.deepEqual(await given.runtime.database.read(() => rows(`SELECT 1 AS one FROM ${name}`)), [], name)
})

test('what does not fit its bucket is on the record with its tokens, and in the explanation [R-71 R-118]', async () => {
  const long = notes({ prompt: () => ({ result: 'word '.repeat(4_000), scopes: [] }) })
  const given = await givenRuns({ agents: [reader], providers: [long.provider] })
  const { compiled, run_id } = await given.run('reader', 'go', { context: ['acme'] })
  const [omission] = compiled?.omissions ?? []
  assert.deepEqual([omission?.block_id, omission?.reason], ['resource:notes', 'over_budget'])
  assert((omission?.tokens ?? 0) > 4_000)
  const { dropped } = await given.ambit.runs.explain(run_id)
  assert(dropped.some(({ message }) => message.includes('resource:notes')))
})

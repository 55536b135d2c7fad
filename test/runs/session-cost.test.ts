import assert from 'node:assert/strict'
import { onTestFinished, test } from 'vitest'
import { tenantId } from '../../src/model/identity/tenant-id.ts'
import type { AmbitConfig } from '../../src/runtime/settings/user-config.ts'
import { addMessages } from '../../src/storage/tables/runs/sessions.ts'
import { rows } from '../../src/storage/work.ts'
import { tempFolder } from '../cli/given.ts'
import { startPostgres } from '../support/postgres.ts'
import { agent, type GivenRuns, givenRuns, type Place } from '../support/runs.ts'
import { type Asked, isLong, plansOf } from '../support/statements.ts'

const home = tenantId('local')
const ofSessions = /\bsession_messages\b|\bsessions\b|session_id = \?/

/** Gives a session so many turns, as runs would have left them. */
async function fill({ runtime: { store } }: GivenRuns, sessionId: string, turns: number): Promise<void> {
  const at = '2026-06-16T15:00:00.000Z'
  const said = { content: 'as before', run_id: 'run_0000000000000000', at }
  for (let turn = 0; turn < turns; turn += 100)
    await store.write(home, function* (tenant) {
      const place = { id: sessionId, last: 2 * turn, nowMs: 0 }
      const some = Array.from({ length: Math.min(100, turns - turn) }, () => [
        { ...said, role: 'user' as const },
        { ...said, role: 'assistant' as const },
      ])
      yield addMessages(tenant, { agentId: 'talker', sessionId }, place, some.flat())
    })
}

/** What one turn asks of the tables of sessions, with the rows that came back, in a session of so many turns. */
async function costs(config: AmbitConfig = {}, place: Place = {}) {
  let asked: Asked[] = []
  const talker = agent('talker', ({ messages }) => String(messages.length))
  const given = await givenRuns({ agents: [talker], ...config }, { ...place, asked: (one) => void asked.push(one) })
  const turnIn = async (sessionId: string) => {
    asked = []
    const { result } = await given.run('talker', 'hi', { sessionId })
    return { result, asked: asked.filter(({ sql }) => ofSessions.test(sql)) }
  }
  for (const turns of [50, 4_000]) await fill(given, `of-${turns}`, turns)
  const [short, long] = [await turnIn('of-50'), await turnIn('of-4000')]
  return { given, short, long }
}

const told = ({ asked }: { readonly asked: readonly Asked[] }): string[] =>
  asked.map(({ sql, rows }) => `${rows} ${sql}`)

test('a turn reads as many rows in as many statements after 4,000 turns as after 50, and goes through no table [G-67]', async () => {
  const { given, short, long } = await costs()
  assert.deepEqual([short.result, long.result], ['51', '51'])
  assert.deepEqual(told(long), told(short))
  assert(
    told(long).some((line) => line.startsWith('50 SELECT message_id')),
    told(long).join('\n'),
  )
  const plans = await plansOf(given.runtime.database, long.asked)
  assert.deepEqual(plans.filter(isLong), [])
  assert(
    plans.some((line) => /^SEARCH session_messages USING .*session_id=\?/.test(line)),
    plans.join('\n'),
  )
})

test('nor does it on PostgreSQL, which looks at no more rows than it answers [G-67]', async () => {
  const server = await startPostgres({ fsync: false })
  if (server === undefined) return
  onTestFinished(() => server.stop())
  const { given, short, long } = await costs(
    { store: { driver: 'postgres', url: await server.database() } },
    { folder: tempFolder() },
  )
  assert.deepEqual([short.result, long.result], ['51', '51'])
  assert.deepEqual(told(long), told(short))
  const { database } = given.runtime
  await database.write(() => rows('ANALYZE'))
  const reads = long.asked.filter(({ sql }) => /^SELECT .* FROM session/.test(sql))
  assert.equal(reads.length, 2, told(long).join('\n'))
  for (const { sql, params } of reads) {
    const plan = await database.read(function* () {
      // A table with a handful of rows it would rather read whole.
      yield* rows('SET LOCAL enable_seqscan = off')
      return yield* rows(`EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF) ${sql}`, ...params)
    })
    const lines = plan.map((line) => String(line['QUERY PLAN']))
    for (const line of lines) {
      const [, read = '0'] = /actual rows=(\d+)/.exec(line) ?? []
      assert(Number(read) <= 50 && !/Removed by Filter|Seq Scan/.test(line), lines.join('\n'))
    }
  }
})

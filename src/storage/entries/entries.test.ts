import assert from 'node:assert/strict'
import fc from 'fast-check'
import { onTestFinished, test } from 'vitest'
import { emptySchema } from '../../../test/storage/target.ts'
import { startPostgres } from '../../../test/support/postgres.ts'
import { countingIds } from '../../testing/ports.ts'
import { sampleEntry, sampleStep } from '../../testing/storage/entry-samples.ts'
import { makeTenant } from '../../testing/storage/sample.ts'
import type { Database } from '../database.ts'
import { openPostgres } from '../drivers/postgres.ts'
import { openSqlite } from '../drivers/sqlite.ts'
import { openStore, type Store } from '../store.ts'
import { rows, type Statement, text, type Work } from '../work.ts'
import { appendBucket, readBucket } from './buckets.ts'
import {
  addEntry,
  amendEntry,
  entriesWithin,
  findEntry,
  findEqualEntry,
  forgetEntry,
  listEntries,
  removeEntries,
  stepsOf,
  supersedeEntry,
} from './entries.ts'
import { findEntries, topicsIn } from './entry-index.ts'
import { wordsOf } from './words.ts'

type Asked = Extract<Statement, { sql: string }>

/** A store that notes every statement. */
async function noting(database: Database): Promise<{ store: Store; asked: Map<string, Asked> }> {
  const asked = new Map<string, Asked>()
  function* watched<T>(work: Work<T>): Work<T> {
    for (let step = work.next(); ; ) {
      if (step.done) return step.value
      for (const each of step.value) if ('sql' in each) asked.set(each.sql, each)
      step = work.next(yield step.value)
    }
  }
  const store = await openStore({
    ...database,
    read: (work) => database.read(() => watched(work())),
    write: (work, queue) => database.write(() => watched(work()), queue),
  })
  return { store, asked }
}

/** Every way in and out of a store that holds so many entries. */
async function useAll(store: Store, asked: Map<string, Asked>, stored: number): Promise<void> {
  const tenant = await makeTenant(store, 'acme')
  const made = Array.from({ length: stored }, (_, index) =>
    sampleEntry(`text number ${index}`, { scope: `a/s${index % 5}`, topics: [`t${index % 7}`] }),
  )
  for (const entry of made) await store.write(tenant, addEntry(entry, sampleStep()))
  asked.clear()
  const entry = sampleEntry('one more')
  const next = sampleEntry('another')
  await store.write(tenant, addEntry(entry, sampleStep()))
  await store.write(tenant, amendEntry(entry, ['x'], sampleStep()))
  await store.write(tenant, supersedeEntry(entry, next, sampleStep()))
  await store.write(tenant, forgetEntry(next, sampleStep()))
  await store.write(tenant, addEntry(sampleEntry('a log', { content_hash: null, expires_at_ms: 5 }), sampleStep()))
  await store.write(
    tenant,
    appendBucket('c', { content: 'c', created_at: '', agent_id: '', run_id: '' }, countingIds()),
  )
  await store.read(function* () {
    const areas = [
      { scope: 'a', below: true },
      { scope: 'a/s1', below: false },
    ]
    for (const words of [[], ['text', 'number']])
      for (const topics of [[], ['t1', 't2']]) yield* findEntries(tenant, 'memory', { areas, topics, words, nowMs: 0 })
    yield* topicsIn(tenant, 'memory', areas)
    yield* findEntry(tenant, entry)
    yield* findEqualEntry(tenant, entry)
    yield* listEntries(tenant, { collection: 'memory', scope: 'a' })
    yield* stepsOf(tenant, entry)
    yield* readBucket(tenant, 'c')
  })
  await store.write(tenant, function* (of) {
    yield* removeEntries(of, yield* entriesWithin(of, { scope: 'a/s1', recursive: true, locked: true }))
  })
}

test('no statement of entries goes through a table or an index of words, whatever is stored [G-76]', async () => {
  const database = openSqlite({ path: ':memory:' })
  const { store, asked } = await noting(database)
  onTestFinished(() => store.close())
  await useAll(store, asked, 500)
  await database.write(() => rows('ANALYZE'))
  const lines: string[] = []
  for (const { sql, params } of asked.values()) {
    if (sql.startsWith('INSERT')) continue
    const plan = await database.read(() => rows(`EXPLAIN QUERY PLAN ${sql.replace(/ FOR UPDATE$/, '')}`, ...params))
    lines.push(...plan.map((line) => `${text(line, 'detail')} in ${sql}`))
  }
  const byTenantAlone = /^SEARCH \w+ USING .*\(tenant_id=\?\) in /
  // An index of words says of itself what it is asked for: words, or the number of a document.
  const long = lines.filter(
    (line) => byTenantAlone.test(line) || (/^SCAN/.test(line) && !/VIRTUAL TABLE INDEX \d+:\S/.test(line)),
  )
  assert.deepEqual(long, [])
  assert(lines.filter((line) => line.startsWith('SEARCH')).length > 15, lines.join('\n'))
  assert(
    lines.some((line) => /^SCAN w VIRTUAL TABLE INDEX \d+:.*M/.test(line)),
    lines.join('\n'),
  )
})

test('no statement of entries goes through a table of PostgreSQL either [G-76]', async () => {
  const server = await startPostgres({ fsync: false })
  if (server === undefined) return
  onTestFinished(() => server.stop())
  const database = openPostgres({ url: await emptySchema(server) })
  const { store, asked } = await noting(database)
  onTestFinished(() => store.close())
  await useAll(store, asked, 3_000)
  await database.write(() => rows('ANALYZE'))
  const lines: string[] = []
  for (const statement of asked.values()) {
    const { sql, params } = statement.postgres ?? statement
    const explain = function* () {
      yield* rows('SET LOCAL enable_seqscan = off')
      return yield* rows(`EXPLAIN ${sql.replace(/ FOR UPDATE$/, '')}`, ...params)
    }
    if (!sql.startsWith('INSERT'))
      lines.push(...(await database.read(explain)).map((line) => `${text(line, 'QUERY PLAN')} in ${sql}`))
  }
  assert.deepEqual(
    lines.filter((line) => /Seq Scan/.test(line)),
    [],
  )
  assert(
    lines.some((line) => /Bitmap Index Scan on entry_documents_words/.test(line)),
    lines.join('\n'),
  )
})

test('a word is lower case, without marks that join nothing, at most 64 characters, and each once [G-76]', () => {
  assert.deepEqual(wordsOf('To be, or NOT to be…'), ['to', 'be', 'or', 'not'])
  assert.deepEqual(wordsOf('ﬁne ½ x²  éé naïve'), ['fine', '1', '2', 'x2', 'éé', 'naïve'])
  assert.deepEqual(wordsOf('我们去东京 コーヒー 안녕'), ['我', '们', '去', '东', '京', 'コ', 'ー', 'ヒ', '안', '녕'])
  assert.deepEqual(wordsOf('हिन्दी'), ['हिन्दी'])
  assert.deepEqual(wordsOf('§ab ¶ "x" \u0301 -- 👍'), ['ab', 'x'])
  assert.deepEqual(wordsOf(`${'a'.repeat(99)} ${'𝒳'.repeat(99)}`), ['a'.repeat(64), 'x'.repeat(64)])
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (any) => {
      const found = wordsOf(any)
      assert.deepEqual(wordsOf(found.join(' ')), found)
      for (const word of found) assert(/^[\p{L}\p{N}\p{M}]+$/u.test(word) && word.isWellFormed() && word.length <= 128)
    }),
  )
})

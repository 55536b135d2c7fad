// What is asked of a database: every statement that passes, and how it would be answered.

import type { Database } from '../../src/storage/database.ts'
import { rows, type Statement, text, type Work } from '../../src/storage/work.ts'

export interface Asked {
  readonly sql: string
  readonly params: Extract<Statement, { sql: string }>['params']
  /** How many rows came back, or went in. */
  readonly rows: number
}

/** The database, with every statement noted that passes. */
export function noting(database: Database, note: (asked: Asked) => void): Database {
  function* watched<T>(work: Work<T>): Work<T> {
    for (let step = work.next(); ; ) {
      if (step.done) return step.value
      const statements = step.value
      const answers = yield statements
      for (const [index, statement] of statements.entries())
        if ('sql' in statement) note({ ...statement, rows: answers[index]?.length ?? 0 })
        else note({ sql: `INSERT INTO ${statement.into.name}`, params: [], rows: statement.rows.length })
      step = work.next(answers)
    }
  }
  return {
    ...database,
    read: (work) => database.read(() => watched(work())),
    write: (work, queue) => database.write(() => watched(work()), queue),
  }
}

/** How the database answers each statement, line by line. */
export async function plansOf(database: Database, asked: Iterable<Asked>): Promise<readonly string[]> {
  const explain = database.dialect === 'sqlite' ? explainInSqlite : explainInPostgres
  await database.write(() => rows('ANALYZE'))
  const lines: string[] = []
  for (const { sql, params } of asked) {
    if (!/^(SELECT|WITH|UPDATE|DELETE|INSERT.*ON CONFLICT)/s.test(sql)) continue
    const plan = await database.read(() => explain(sql.replace(/ FOR UPDATE$/, ''), params))
    lines.push(...plan.map((line) => `${line.trim()} in ${sql}`))
  }
  return lines
}

type Explain = (sql: string, params: Asked['params']) => Work<readonly string[]>

const explainInSqlite: Explain = function* (sql, params) {
  return (yield* rows(`EXPLAIN QUERY PLAN ${sql}`, ...params)).map((line) => text(line, 'detail'))
}

/** Goes through a table only where there is no other way: a small one it would always go through. */
const explainInPostgres: Explain = function* (sql, params) {
  yield* rows('SET LOCAL enable_seqscan = off')
  return (yield* rows(`EXPLAIN ${sql}`, ...params)).map((line) => text(line, 'QUERY PLAN'))
}

// What is not stored, and is as long as the statement itself.
const inHand = /^SCAN (CONSTANT ROW|\d+ CONSTANT ROWS|wanted|log)\b/
// The last of a tenant's events is at the end of the index by sequence: to find it, nothing but the tenant is needed.
const atTheEnd = /(MAX\(|SELECT sequence, content_hash FROM events WHERE tenant_id = \? ORDER BY sequence DESC LIMIT 1)/

// An index may be gone through from end to end as well, but not for so little.
const costMax = 50
const costIn = (line: string): number => Number(/ Scan .*\(cost=[\d.]+\.\.([\d.]+) /.exec(line)?.[1] ?? 0)

/** Whether a line of a plan goes through what grows with what is stored. */
export function isLong(line: string): boolean {
  if (line.includes('Seq Scan') || costIn(line) > costMax) return !atTheEnd.test(line)
  if (line.startsWith('SCAN')) return !inHand.test(line)
  const byTenant = /^SEARCH (?!tenants)\w+ USING .*\(tenant_id=\?\) in /.test(line)
  return byTenant && !atTheEnd.test(line)
}

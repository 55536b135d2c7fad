import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'vitest'
import { givenAmbit, givenTenant, tempFolder } from '../../../test/cli/given.ts'
import { Failure } from '../../base/failure.ts'
import type { Checkpoint } from '../../model/evidence.ts'
import { tenantId } from '../../model/identity/tenant-id.ts'
import { operator } from '../identity/caller.ts'
import { auditTenant } from './audit.ts'
import { exportBundle } from './export.ts'
import { type EventInput, record } from './record.ts'

const event: EventInput = { event_type: 'noted', payload: {}, correlation: { correlation_id: 'c' } }
const me = operator(tenantId('acme'))
const databaseOf = (folder: string) => join(folder, '.ambit', 'ambit.db')
const linesOf = (folder: string): Checkpoint[] =>
  readFileSync(join(folder, '.ambit', 'heads', 'acme.jsonl'), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))

const mismatch = (why: RegExp) => (error: unknown) =>
  error instanceof Failure && error.code === 'head.mismatch' && why.test(error.message)

/** A folder with a tenant that has three events, closed in order. */
async function givenFolder(): Promise<string> {
  const folder = tempFolder()
  const ambit = await givenAmbit({ folder })
  await givenTenant(ambit)
  await record(ambit, me, [event])
  await ambit.close()
  return folder
}

test('a head is never signed over a row that is not the one this process wrote [H-88 F-14]', async () => {
  const folder = await givenFolder()
  const ambit = await givenAmbit({ folder })
  await record(ambit, me, [event, event])
  const database = new DatabaseSync(databaseOf(folder))
  database.exec(`UPDATE events SET content_hash = '${'0'.repeat(64)}' WHERE sequence = 5`)
  database.close()
  await assert.rejects(ambit.heads.checkpoint(me.tenant), mismatch(/event 5 is not the one that was written/))
  await assert.rejects(ambit.close(), mismatch(/event 5/))
  assert.equal(linesOf(folder).at(-1)?.log_size, 3)
})

test('a head is never signed after the newest events this process wrote were cut, and no bundle either [H-88 F-14]', async () => {
  const folder = await givenFolder()
  const ambit = await givenAmbit({ folder })
  await record(ambit, me, [event, event, event])
  const database = new DatabaseSync(databaseOf(folder))
  database.exec('DELETE FROM events WHERE sequence > 4')
  database.close()
  await assert.rejects(ambit.heads.checkpoint(me.tenant), mismatch(/event 6 was written, the rows end at 4/))
  await assert.rejects(exportBundle(ambit, me, 'c'), mismatch(/event 6 was written/))
})

test('a head is never signed over fewer events than the head before [H-88 F-14]', async () => {
  const folder = await givenFolder()
  const ambit = await givenAmbit({ folder })
  await record(ambit, me, [event, event])
  await ambit.heads.checkpoint(me.tenant)
  const database = new DatabaseSync(databaseOf(folder))
  database.exec('DELETE FROM events WHERE sequence = 5')
  database.close()
  await assert.rejects(ambit.heads.checkpoint(me.tenant), mismatch(/ends at event 4, a head was signed at 5/))
  await assert.rejects(exportBundle(ambit, me, 'c'), mismatch(/ends at event 4/))
  const { ok, message } = await auditTenant(ambit, 'acme', () => undefined)
  assert.deepEqual([ok, message], [false, 'the store ends at event 4, a head was signed at 5'])
  assert.equal(linesOf(folder).length, 2)
})

test('a head is never signed over what another process signed in place of what this one wrote [H-88 F-14]', async () => {
  const folder = await givenFolder()
  const ambit = await givenAmbit({ folder })
  await record(ambit, me, [event, event])
  const database = new DatabaseSync(databaseOf(folder))
  database.exec(`UPDATE events SET content_hash = '${'0'.repeat(64)}' WHERE sequence = 5`)
  database.close()
  const other = await givenAmbit({ folder })
  await other.heads.checkpoint(me.tenant)
  await assert.rejects(ambit.heads.checkpoint(me.tenant), mismatch(/event 5 is not the one that was written/))
  await assert.rejects(exportBundle(ambit, me, 'c'), mismatch(/event 5 is not/))
})

test('an export is held against heads that another process signed [H-88 F-14]', async () => {
  const folder = await givenFolder()
  const ambit = await givenAmbit({ folder })
  const other = await givenAmbit({ folder })
  await record(other, me, [event, event])
  await other.heads.checkpoint(me.tenant)
  const database = new DatabaseSync(databaseOf(folder))
  database.exec(`UPDATE events SET content_hash = '${'0'.repeat(64)}' WHERE sequence = 5`)
  database.close()
  await assert.rejects(exportBundle(ambit, me, 'c'), mismatch(/event 5/))
})

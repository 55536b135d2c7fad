import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'vitest'
import { givenAmbit, givenTenant, tempFolder } from '../../../test/cli/given.ts'
import type { Json } from '../../base/canonical.ts'
import { Failure } from '../../base/failure.ts'
import { makeSeal } from '../../evidence/seal.ts'
import { verifyBundle } from '../../evidence/verify/verify.ts'
import { type EventDraft, type EvidenceEvent, evidenceBundle, evidenceEvent } from '../../model/evidence.ts'
import { fakeClock } from '../../testing/ports.ts'
import type { Caller } from '../identity/caller.ts'
import { identityOf } from '../identity/tenants.ts'
import type { Runtime } from '../runtime.ts'
import { exportBundle, searchEvidence, showEvent } from './export.ts'
import { type EventInput, record } from './record.ts'

const event = (correlation_id: string, more: Partial<EventInput> = {}): EventInput => ({
  event_type: 'noted',
  payload: {},
  correlation: { correlation_id },
  ...more,
})

describe('evidence is found again [F-09 F-17]', () => {
  test('by each filter, newest first, page by page', async () => {
    const clock = fakeClock(Date.UTC(2027, 0, 1))
    const ambit = await givenAmbit({ clock })
    const me = await givenTenant(ambit)
    for (let n = 0; n < 6; n++) {
      clock.advance(1000)
      const outcome = n % 2 ? 'denied' : 'success'
      await record(ambit, me, [event(`c${n % 3}`, { outcome, capability_id: `depot.${n}`, event_type: `t${n % 2}` })])
    }
    const sequences = async (filter: Parameters<typeof searchEvidence>[2]) =>
      (await searchEvidence(ambit, me, filter)).items.map(({ sequence }) => sequence)
    assert.deepEqual(await sequences({}), [8, 7, 6, 5, 4, 3, 2, 1])
    assert.deepEqual(await sequences({ correlation: 'c1' }), [7, 4])
    assert.deepEqual(await sequences({ outcome: 'denied' }), [8, 6, 4])
    assert.deepEqual(await sequences({ capability: 'depot.3' }), [6])
    assert.deepEqual(await sequences({ type: 't0', correlation: 'c2' }), [5])
    assert.deepEqual(await sequences({ subject: 'unknown' }), [])
    assert.deepEqual(await sequences({ since: '2027-01-01T00:00:02.000Z', until: '2027-01-01T00:00:04.000Z' }), [5, 4])

    const first = await searchEvidence(ambit, me, { subject: 'operator' }, { limit: 5 })
    await record(ambit, me, [event('c0')])
    const second = await searchEvidence(ambit, me, { subject: 'operator' }, { limit: 5, cursor: first.next ?? '' })
    assert.deepEqual(
      [...first.items, ...second.items].map(({ sequence }) => sequence),
      [8, 7, 6, 5, 4, 3, 2, 1],
    )
    assert.equal(second.next, undefined)
  })

  test('whole, as it was sealed', async () => {
    const ambit = await givenAmbit()
    const me = await givenTenant(ambit)
    const { events } = await record(ambit, me, [event('c', { payload: { text: 'äöü "quoted" 𝒳', half: 0.5 } })])
    const kept = await showEvent(ambit, me, events[0]?.eventId ?? '')
    assert.deepEqual(evidenceEvent.parse(kept), kept)
    assert.partialDeepStrictEqual(kept.payload, { text: 'äöü "quoted" 𝒳', half: '0.5' })
    await assert.rejects(showEvent(ambit, me, 'evt_0'), { code: 'event.not_found' })
  })
})

describe('an export proves itself [F-09 H-83 H-88]', () => {
  test('it is whole, signed, of the published shape, and good for the pinned key', async () => {
    const ambit = await givenAmbit()
    const me = await givenTenant(ambit)
    const many = Array.from({ length: 999 }, () => event('long'))
    await record(ambit, me, many)
    await record(ambit, me, [event('other'), event('long'), event('long')])
    const bundle = await exportBundle(ambit, me, 'long')
    assert.equal(bundle.events.length, 1001)
    assert.deepEqual(evidenceBundle.parse(bundle), bundle)
    const pins = [(await identityOf(ambit, me)).public_key ?? '']
    assert.deepEqual(facts(verifyBundle(bundle, { pins })), {
      valid: true,
      covered: 'yes',
      tier: 'signed',
      events: 1001,
    })
    await assert.rejects(exportBundle(ambit, me, 'nothing'), { code: 'correlation.not_found' })
  })

  test('it agrees with every head signed before, during and after it', async () => {
    const clock = fakeClock(Date.UTC(2027, 0, 1))
    const ambit = await givenAmbit({ clock })
    const me = await givenTenant(ambit)
    await record(ambit, me, [event('c')])
    const before = await ambit.heads.checkpoint(me.tenant)
    clock.advance(1)
    const bundle = await exportBundle(
      overtaken(ambit, me, () => clock.advance(1)),
      me,
      'c',
    )
    const after = await ambit.heads.checkpoint(me.tenant)
    assert(before !== null && after !== null && after.sequence > bundle.completeness.as_of_sequence)
    for (const head of [before, after])
      assert.deepEqual(verifyBundle(bundle, { checkpoint: { heads: [head] } }).first, null, `head at ${head.sequence}`)
  })

  test('a cut store cannot export around a head that was signed earlier', async () => {
    const clock = fakeClock(Date.UTC(2027, 0, 1))
    const ambit = await givenAmbit({ clock })
    const me = await givenTenant(ambit)
    await record(ambit, me, [event('c')])
    const early = await exportBundle(ambit, me, 'c')
    await record(ambit, me, [event('c')])
    const head = await ambit.heads.checkpoint(me.tenant)
    const late = { ...early, created_at: '2027-01-02T00:00:00.000Z' }
    assert.equal(
      verifyBundle(late, { checkpoint: { heads: [head] } }).checks.find(({ name }) => name === 'checkpoint')?.verdict,
      'fail',
    )
  })
})

/** An Ambit whose store takes one more event, by another writer and a moment later, right after its next read. */
function overtaken(ambit: Runtime, me: Caller, moment: () => void): Runtime {
  let done = false
  const store: Runtime['store'] = {
    ...ambit.store,
    read: async (work) => {
      const answer = await ambit.store.read(work)
      if (!done) {
        done = true
        moment()
        await record(ambit, me, [event('c')])
      }
      return answer
    },
  }
  return { ...ambit, store }
}

const facts = ({ valid, covered, tier, events }: ReturnType<typeof verifyBundle>) => ({ valid, covered, tier, events })

describe('nothing that was changed in the store gets a signature [H-88 H-86]', () => {
  const changes: readonly [what: string, change: (database: DatabaseSync) => void][] = [
    ['a row re-sealed with another subject', (database) => reseal(database, 'mallory')],
    ['an old row removed', (database) => database.exec("DELETE FROM events WHERE event_type = 'first'")],
    [
      'an old row moved to another correlation',
      (database) => database.exec("UPDATE events SET correlation_id = 'elsewhere' WHERE event_type = 'last'"),
    ],
    [
      'the body alone changed',
      (database) =>
        database.exec("UPDATE events SET body = replace(body, '\"ok\"', '\"ko\"') WHERE event_type = 'last'"),
    ],
  ]

  test.each(changes)('%s', async (_what, change) => {
    const folder = tempFolder()
    const before = await givenAmbit({ folder })
    const me = await givenTenant(before)
    for (const event_type of ['first', 'last', 'other']) {
      const correlation = { correlation_id: event_type === 'other' ? 'c2' : 'c1' }
      await record(before, me, [{ event_type, correlation, payload: { note: 'ok' } }])
    }
    await before.close()
    const database = new DatabaseSync(join(folder, '.ambit', 'ambit.db'))
    change(database)
    database.close()
    const after = await givenAmbit({ folder })
    await assert.rejects(
      exportBundle(after, me, 'c1'),
      (error) => error instanceof Failure && /^(head\.mismatch|bundle\.invalid)$/.test(error.code),
    )
  })
})

/** The best attack with the database and without the key: change a record and every hash that follows. */
function reseal(database: DatabaseSync, id: string): void {
  const found = database.prepare("SELECT sequence, body FROM events WHERE event_type = 'last'").get()
  const event = JSON.parse(String(found?.['body'])) as EvidenceEvent
  const { decision: _, ...payload } = event.payload as Record<string, Json>
  const draft = { ...event, payload, subject: { id }, actor: null, record: {} }
  const tails = new Map([[event.correlation.correlation_id, event.prev_hash ?? '']])
  const position = { sequence: Number(found?.['sequence']) - 1, tails }
  const [sealed] = makeSeal({ hostId: event.host_id, tenant: 'acme' })([draft as unknown as EventDraft], position)
  const update = database.prepare('UPDATE events SET body = ?, content_hash = ?, subject_id = ? WHERE sequence = ?')
  update.run(sealed?.body ?? '', sealed?.contentHash ?? '', id, Number(found?.['sequence']))
}

import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { givenAmbit, givenTenant } from '../../test/cli/given.ts'
import { Failure } from '../base/failure.ts'
import { verifyBundle } from '../evidence/verify.ts'
import { tenantId } from '../model/tenant-id.ts'
import { principalRecords } from '../storage/identities.ts'
import { authenticate, issueKey } from './api-keys.ts'
import { operator } from './caller.ts'
import { exportBundle, searchEvidence, showEvent } from './evidence.ts'
import { createPrincipal } from './principals.ts'
import { type EventInput, record } from './record.ts'

const event: EventInput = { event_type: 'noted', payload: { n: 1 }, correlation: { correlation_id: 'c' } }

describe('an event is in the name of whoever asked for it [H-86 F-13]', () => {
  test('and nothing named like a secret is in it', async () => {
    const ambit = await givenAmbit()
    const me = await givenTenant(ambit)
    const payload = { user: 'kim', password: 'hunter2', nested: [{ api_key: 'hunter2', completion_tokens: 3 }] }
    const { events } = await record(ambit, me, [{ ...event, payload }])
    const kept = await showEvent(ambit, me, events[0]?.eventId ?? '')
    assert.equal(kept.redacted, true)
    assert.partialDeepStrictEqual(kept.payload, { user: 'kim', nested: [{ completion_tokens: 3 }] })
    assert(!JSON.stringify(kept).includes('hunter2'))
  })

  test('whatever the input says of subject, time and id', async () => {
    const ambit = await givenAmbit()
    const me = await givenTenant(ambit)
    await createPrincipal(ambit, me, { id: 'ida', kind: 'user' })
    const ida = await authenticate(ambit, (await issueKey(ambit, me, { principal: 'ida' })).secret)
    const lies = {
      subject: { id: 'root', verified: true },
      timestamp: '1999-01-01T00:00:00.000Z',
      event_id: 'evt_mine',
    }
    const more = { sequence: 99, host_id: 'other', content_hash: '0'.repeat(64), prev_hash: null, tenant: 'other' }
    const { events } = await record(ambit, ida, [{ ...event, ...lies, ...more } as EventInput])
    const kept = await showEvent(ambit, me, events[0]?.eventId ?? '')
    assert.deepEqual(kept.subject, ida.subject)
    assert.notEqual(kept.timestamp, lies.timestamp)
    assert.match(kept.event_id, /^evt_[0-9a-z]{26}$/)
    assert.deepEqual([kept.host_id, kept.sequence], ['acme', events[0]?.sequence])
    assert.partialDeepStrictEqual(kept.payload, { decision: { tenant: 'acme', subject: ida.subject } })
  })

  test('what is left out, or undefined, is minted or null', async () => {
    const ambit = await givenAmbit()
    const me = await givenTenant(ambit)
    const none = { outcome: undefined, actor: undefined, invocation_id: undefined, capability_id: undefined }
    const given = { ...event, ...none, redacted: undefined, record: undefined } as unknown as EventInput
    const { events } = await record(ambit, me, [event, given])
    for (const { eventId } of events) {
      const kept = await showEvent(ambit, me, eventId)
      assert.match(kept.invocation_id, /^inv_/)
      assert.equal(kept.capability_id, 'ambit.runtime')
      assert.deepEqual([kept.outcome, kept.denial, kept.error, kept.redacted], [null, null, null, false])
    }
    assert(verifyBundle(await exportBundle(ambit, me, 'c')).valid)
  })

  test('one that could never be proven is refused with its place, and nothing is kept', async () => {
    const ambit = await givenAmbit()
    const me = await givenTenant(ambit)
    const wrong: readonly [unknown, string][] = [
      [{ event_type: '' }, '/event_type'],
      [{ event_type: 'a\nb' }, '/event_type'],
      [{ event_type: 'a'.repeat(257) }, '/event_type'],
      [{ event_type: undefined }, '/event_type'],
      [{ capability_id: '' }, '/capability_id'],
      [{ invocation_id: '\u0000' }, '/invocation_id'],
      [{ correlation: {} }, '/correlation/correlation_id'],
      [{ correlation: { correlation_id: 'c', more: 1 } }, '/correlation/more'],
      [{ correlation: { correlation_id: 'c', environment: 'moon' } }, '/correlation/environment'],
      [{ outcome: 'great' }, '/outcome'],
      [{ payload: null }, '/payload'],
      [{ payload: [] }, '/payload'],
      [{ actor: { id: '' } }, '/actor/id'],
      [{ actor: { id: 'x', role: 'admin' } }, '/actor/role'],
      [{ denial: { code: 'no' } }, '/denial/message'],
      [{ error: { type: '' } }, '/error/type'],
      [{ redacted: 'yes' }, '/redacted'],
      [{ assurance: 'S9' }, '/assurance'],
      [{ record: { colour: 'red' } }, '/record/colour'],
    ]
    for (const [change, pointer] of wrong) {
      const bad = { ...event, ...(change as object) }
      const told = (error: unknown) => error instanceof Failure && error.data['pointer'] === pointer
      await assert.rejects(record(ambit, me, [event, bad]), told, pointer)
    }
    await assert.rejects(record(ambit, me, [{ ...event, payload: { decision: {} } }]), { code: 'field.invalid' })
    await assert.rejects(record(ambit, me, [{ ...event, payload: { n: Number.NaN } }]), {
      code: 'canonical.unsupported',
    })
    assert.deepEqual((await searchEvidence(ambit, me, { correlation: 'c' })).items, [])
  })
})

describe('state and evidence are kept together [F-13]', () => {
  const rest = { kind: 'user', display: null, status: 'active', created_at: '2027-01-01T00:00:00.000Z' } as const
  const adding = (principal_id: string) => principalRecords.add({ principal_id, roles: [], ...rest })

  test('a change and its events, or neither', async () => {
    const ambit = await givenAmbit()
    const me = await givenTenant(ambit)
    await record(ambit, me, [event], adding('kim'))
    await assert.rejects(record(ambit, me, [event], adding('kim')), { code: 'principal.exists' })
    const broken = function* () {
      yield* adding('lou')(me.tenant)
      throw new Failure('claim.taken', 'no')
    }
    await assert.rejects(record(ambit, me, [event], broken), { code: 'claim.taken' })
    await assert.rejects(
      ambit.store.read(() => principalRecords.get(me.tenant, 'lou')),
      { code: 'principal.not_found' },
    )
    assert.equal((await searchEvidence(ambit, me, { correlation: 'c' })).items.length, 1)
  })

  test('fifty at once get the next fifty places, each its own', async () => {
    const ambit = await givenAmbit()
    const me = await givenTenant(ambit)
    const other = await givenTenant(ambit, { id: 'other' })
    const all = await Promise.all(
      Array.from({ length: 50 }, (_, n) => record(ambit, n % 2 ? other : me, [{ ...event, payload: { n } }])),
    )
    for (const [caller, parity] of [
      [me, 0],
      [other, 1],
    ] as const) {
      const mine = all.filter((_, n) => n % 2 === parity).flatMap(({ events }) => events)
      assert.deepEqual(
        mine.map(({ sequence }) => sequence),
        Array.from({ length: 25 }, (_, index) => index + 3),
      )
      const bundle = await exportBundle(ambit, caller, 'c')
      assert.equal(bundle.events.length, 25)
      assert(verifyBundle(bundle).valid)
    }
  })

  test('one bad input among many fails alone', async () => {
    const ambit = await givenAmbit()
    const me = await givenTenant(ambit)
    const inputs = Array.from({ length: 20 }, (_, n) => ({ ...event, payload: { n: n === 7 ? 0.1 + 2 ** 60 : n } }))
    const done = await Promise.allSettled(inputs.map((input) => record(ambit, me, [input])))
    assert.deepEqual(
      done.flatMap(({ status }, n) => (status === 'rejected' ? [n] : [])),
      [7],
    )
    assert.equal((await exportBundle(ambit, me, 'c')).events.length, 19)
  })

  test('a store in memory does all of it, and starts empty the next time', async () => {
    const config = { store: { driver: 'sqlite', path: ':memory:' } } as const
    const ambit = await givenAmbit({ config })
    const me = await givenTenant(ambit)
    await record(ambit, me, [event, event])
    assert(verifyBundle(await exportBundle(ambit, me, 'c')).valid)
    const { file } = ambit.settings
    await ambit.close()
    await assert.rejects(record(ambit, me, [event]), { code: 'store.unavailable' })
    const again = await givenAmbit({ folder: file?.slice(0, file.lastIndexOf('/')) ?? '' })
    await assert.rejects(record(again, me, [event]), { code: 'tenant.not_found' })
    assert.equal((await givenTenant(again)).tenant, operator(tenantId('acme')).tenant)
  })
})

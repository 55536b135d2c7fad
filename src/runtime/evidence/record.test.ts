import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { givenAmbit, givenTenant } from '../../../test/cli/given.ts'
import type { Json } from '../../base/canonical.ts'
import { Failure } from '../../base/failure.ts'
import { readJson } from '../../base/json.ts'
import { limits } from '../../base/limits.ts'
import { verifyBundle } from '../../evidence/verify/verify.ts'
import { tenantId } from '../../model/identity/tenant-id.ts'
import { principalRecords } from '../../storage/tables/identities.ts'
import { authenticate, issueKey } from '../identity/api-keys.ts'
import { type Caller, operator } from '../identity/caller.ts'
import { createPrincipal } from '../identity/principals.ts'
import { exportBundle, searchEvidence, showEvent } from './export.ts'
import { type EventInput, record } from './record.ts'

const event: EventInput = { event_type: 'noted', payload: { n: 1 }, correlation: { correlation_id: 'c' } }

describe('an event is in the name of its caller [H-86 F-13]', () => {
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
    assert.deepEqual((await searchEvidence(ambit, me, { correlation: 'c' })).items, [])
  })

  test('nor is one that the reader of a bundle would refuse', async () => {
    const ambit = await givenAmbit()
    const me = await givenTenant(ambit)
    const cycle: Record<string, unknown> = {}
    cycle['again'] = [cycle, cycle]
    const sparse = [1]
    sparse[2] = 3
    const wrong: readonly [unknown, string][] = [
      [{ payload: { a: nested(60) } }, `/payload/a${'/0'.repeat(58)}`],
      [{ payload: { a: nested(5000) } }, `/payload/a${'/0'.repeat(58)}`],
      [{ payload: { a: [JSON.parse('{"__proto__": 1}')] } }, '/payload/a/0/__proto__'],
      [{ error: JSON.parse('{"type": "x", "message": "", "__proto__": 1}') }, '/error/__proto__'],
      [{ denial: { code: 'c', message: '', retryable: true, details: { n: 2 ** 60 } } }, '/denial/details/n'],
      [{ error: { type: 'x', message: '', status: Number.NaN } }, '/error/status'],
      [{ payload: { 'a/b': new Date(0) } }, '/payload/a~1b'],
      [{ payload: { a: new Map() } }, '/payload/a'],
      [{ payload: { a: () => 1 } }, '/payload/a'],
      [{ payload: { a: 1n } }, '/payload/a'],
      [{ payload: { a: sparse } }, '/payload/a/1'],
      [{ payload: { a: '\ud800' } }, '/payload/a'],
      [{ payload: { '\ud800': 1 } }, '/payload/\ud800'],
      [{ payload: { a: 'x'.repeat(limits.eventBytesMax) } }, '/payload/a'],
      [{ payload: { ['x'.repeat(limits.eventBytesMax)]: 1 } }, `/payload/${'x'.repeat(limits.eventBytesMax)}`],
    ]
    for (const [change, pointer] of wrong) {
      const bad = { ...event, ...(change as object) }
      const told = { code: 'field.invalid', data: { pointer } }
      await assert.rejects(record(ambit, me, [event, bad]), told, pointer.slice(0, 80))
    }
    await assert.rejects(record(ambit, me, [{ ...event, payload: cycle as EventInput['payload'] }]), {
      code: 'field.invalid',
    })
    const tooMany = Array.from({ length: limits.eventsPerCommitMax + 1 }, () => event)
    await assert.rejects(record(ambit, me, tooMany), { code: 'field.invalid' })
    assert.deepEqual((await searchEvidence(ambit, me, { correlation: 'c' })).items, [])
  })

  test('as deep as it may be, it is read again from a bundle', async () => {
    const ambit = await givenAmbit()
    const me = await givenTenant(ambit)
    const value = nested(56)
    const context = [{ name: 'n', source: 's', state: 'present', sensitive: false, value: nested(54) } as const]
    await record(ambit, me, [
      { ...event, payload: { value: nested(58) }, record: { context } },
      { ...event, error: { type: 't', message: '', value } },
    ])
    const bundle = readJson(JSON.stringify(await exportBundle(ambit, me, 'c')))
    assert(verifyBundle(bundle).valid)
  })

  test('what the caller does to the input afterwards changes nothing', async () => {
    const ambit = await givenAmbit()
    const me = await givenTenant(ambit)
    const payload: Record<string, string> = { user: 'kim' }
    const recording = record(ambit, me, [{ ...event, payload }])
    payload['password'] = 'hunter2'
    const { events } = await recording
    assert(!events[0]?.body.includes('hunter2'))
  })
})

/** A list in a list in a list. */
function nested(levels: number): Json {
  let value: Json = []
  for (let level = 1; level < levels; level++) value = [value]
  return value
}

describe('what is secret in one place of an event is secret in all of it [H-69 H-71]', () => {
  const failed = { type: 'refused', effect: 'none' } as const
  const denied = { code: 'hunter2-code', retryable: false } as const

  test.each<[string, Partial<EventInput>]>([
    ['elsewhere in the payload', { payload: { password: 'hunter2', url: 'https://kim:hunter2@x', list: ['hunter2'] } }],
    [
      'an error',
      {
        payload: { password: 'hunter2' },
        error: { ...failed, message: 'no hunter2', code: 'hunter2', more: ['hunter2'] },
      },
    ],
    ['a sensitive member of an error', { error: { ...failed, message: 'no hunter2', api_key: 'hunter2' } }],
    [
      'a denial',
      {
        payload: { password: 'hunter2' },
        denial: { code: 'no', retryable: false, message: 'hunter2!', details: { a: 'hunter2' } },
      },
    ],
    [
      'a sensitive detail',
      { denial: { code: 'no', retryable: false, message: 'hunter2!', details: { token: 'hunter2' } } },
    ],
    ['baggage', { correlation: { correlation_id: 'c', baggage: { token: 'hunter2', other: 'hunter2' } } }],
    [
      'a context value',
      {
        payload: { password: 'hunter2' },
        record: { context: [{ name: 'n', source: 's', state: 'present', sensitive: false, value: { v: 'hunter2' } }] },
      },
    ],
  ])('%s', async (_, input) => {
    const ambit = await givenAmbit()
    const me = await givenTenant(ambit)
    const { events } = await record(ambit, me, [{ ...event, ...input }])
    const kept = await showEvent(ambit, me, events[0]?.eventId ?? '')
    assert(!JSON.stringify(kept).includes('hunter2'))
    assert.equal(kept.redacted, true)
    assert(verifyBundle(await exportBundle(ambit, me, 'c')).valid)
  })

  test('but never the words of the protocol', async () => {
    const ambit = await givenAmbit()
    const me = await givenTenant(ambit)
    const payload = { password: 'none', token: 'message', secret: 'hunter2-code', passphrase: 'refused' }
    const error = { ...failed, message: 'm' }
    const { events } = await record(ambit, me, [{ ...event, payload, error, denial: { ...denied, message: 'm' } }])
    const kept = await showEvent(ambit, me, events[0]?.eventId ?? '')
    assert.deepEqual([kept.error, kept.denial], [error, { ...denied, message: 'm' }])
  })

  test('nothing hidden is nothing claimed', async () => {
    const ambit = await givenAmbit()
    const me = await givenTenant(ambit)
    const error = { ...failed, message: 'm', more: { a: 1 } }
    const { events } = await record(ambit, me, [{ ...event, error }])
    const kept = await showEvent(ambit, me, events[0]?.eventId ?? '')
    assert.deepEqual([kept.redacted, kept.error], [false, error])
  })

  test('the value of a sensitive context field is refused: evidence has its digest', async () => {
    const ambit = await givenAmbit()
    const me = await givenTenant(ambit)
    const entry = { name: 'n', source: 's', state: 'present', sensitive: true } as const
    const told = { code: 'field.invalid', data: { pointer: '/record/context/1/value' } }
    const bad = { ...event, record: { context: [entry, { ...entry, value: 'x' }] } }
    await assert.rejects(record(ambit, me, [bad]), told)
    await record(ambit, me, [{ ...event, record: { context: [entry] } }])
  })
})

describe('no caller records what only the runtime may say [H-86 F-17]', () => {
  const scoped = (me: Caller, ...scopes: string[]): Caller => ({ ...me, scopes, rights: [] })

  test('its own kinds of event, and the correlations of people and keys', async () => {
    const ambit = await givenAmbit()
    const me = await givenTenant(ambit)
    const types = ['key_generated', 'key_rotated', 'key_revoked', 'identity_anchored', 'evidence_purged']
    for (const event_type of [...types, 'evidence_redacted', 'ambit.principal.created', 'ambit.x'])
      await assert.rejects(record(ambit, me, [event, { ...event, event_type }]), {
        code: 'field.invalid',
        data: { pointer: '/event_type' },
      })
    for (const correlation_id of ['ambit-admin-acme', 'host-identity-acme', 'ambit-admin-other'])
      await assert.rejects(record(ambit, me, [event, { ...event, correlation: { correlation_id } }]), {
        code: 'field.invalid',
        data: { pointer: '/correlation/correlation_id' },
      })
    await record(ambit, me, [{ ...event, event_type: 'ambitious', correlation: { correlation_id: 'ambit-adminer' } }])
  })

  test('nor a capability its key is not for', async () => {
    const ambit = await givenAmbit()
    const me = scoped(await givenTenant(ambit), 'depot.*', 'mail.send')
    for (const capability_id of ['depot.release', 'depot.', 'mail.send'])
      await record(ambit, me, [{ ...event, capability_id }])
    for (const capability_id of ['depot', 'mail.sendall', 'mail', 'other', 'ambit.runtime'])
      await assert.rejects(record(ambit, me, [{ ...event, capability_id }]), { code: 'caller.not_permitted' })
    await assert.rejects(record(ambit, me, [event]), { code: 'caller.not_permitted' })
    await record(ambit, scoped(me, '*'), [event])
  })
})

describe('state and evidence are kept together [F-13]', () => {
  const rest = { kind: 'user', display: null, status: 'active', created_at: '2027-01-01T00:00:00.000Z' } as const
  const none = { roles: [], permissions: [], revoked_permissions: [] }
  const adding = (principal_id: string) => principalRecords.add({ principal_id, ...none, ...rest })

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

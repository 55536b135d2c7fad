import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { filesIn, givenAmbit, givenTenant, tempFolder } from '../../../test/cli/given.ts'
import { sha256 } from '../../base/hash.ts'
import type { Work } from '../../storage/work.ts'
import { fakeClock } from '../../testing/ports.ts'
import { exportBundle, searchEvidence } from '../evidence/export.ts'
import type { Runtime } from '../runtime.ts'
import { adminCorrelation } from './admin.ts'
import { authenticate, issueKey, keysIn, renewKeys, revokeKey, rotateKey } from './api-keys.ts'
import type { Caller } from './caller.ts'
import { createPrincipal, permit, principalsOf, revokePrincipal, withdraw } from './principals.ts'
import { setTenantStatus } from './tenants.ts'

const minuteMs = 60_000

interface Desk {
  readonly folder: string
  readonly clock: ReturnType<typeof fakeClock>
  readonly ambit: Runtime
  readonly me: Caller
}

/** A tenant with one principal, at a time that stands still. */
async function desk(): Promise<Desk> {
  const folder = tempFolder()
  const clock = fakeClock(Date.UTC(2027, 0, 1))
  const ambit = await givenAmbit({ folder, clock })
  const me = await givenTenant(ambit)
  await createPrincipal(ambit, me, { id: 'ida', kind: 'user', roles: ['approver'] })
  return { folder, clock, ambit, me }
}

/** What is asked of the store when this text is held against it, without the values. */
async function questions(ambit: Runtime, text: string): Promise<readonly string[]> {
  const asked: string[] = []
  const read: Runtime['store']['read'] = (work) => ambit.store.read(() => noting(work(), asked))
  await authenticate({ ...ambit, store: { ...ambit.store, read } }, text).catch(() => undefined)
  return asked
}

function* noting<T>(work: Work<T>, asked: string[]): Work<T> {
  let step = work.next()
  while (!step.done) {
    for (const statement of step.value) asked.push('sql' in statement ? statement.sql : 'insert')
    step = work.next(yield step.value)
  }
  return step.value
}

const rejected = { code: 'unauthenticated', message: 'the key is not accepted', data: {} }

describe('an API key opens its tenant as its principal [F-17]', () => {
  test('with the roles of the directory and the scopes of the key', async () => {
    const { ambit, me } = await desk()
    const { secret, key_id } = await issueKey(ambit, me, { principal: 'ida', scopes: ['depot.*'] })
    assert.deepEqual(await authenticate(ambit, secret), {
      tenant: 'acme',
      subject: { id: 'ida', type: 'api_key', verified: true, tenant: 'acme', roles: ['approver'], key_id },
      scopes: ['depot.*'],
      rights: [],
      permissions: [],
      revokedPermissions: [],
    })
  })

  test('it is shown once: no file, no row and no record holds it', async () => {
    const { folder, ambit, me } = await desk()
    const first = await issueKey(ambit, me, { principal: 'ida', name: 'laptop' })
    const second = await rotateKey(ambit, me, first.key_id)
    const third = await renewKeys(ambit, me, 'ida')
    const secrets = [first, second, third].map(({ secret }) => secret)
    // While the store is open its newest pages are in the write-ahead log; afterwards they are in the database.
    const searched = [...filesIn(folder)]
    assert(searched.some(([path]) => path.endsWith('-wal')))
    const bundle = JSON.stringify(await exportBundle(ambit, me, adminCorrelation('acme')))
    const listed = JSON.stringify(await keysIn(ambit, me))
    await ambit.close()
    for (const secret of secrets) {
      const random = secret.split('.').at(-1) ?? ''
      assert.equal(random.length, 43)
      for (const [path, bytes] of [...searched, ...filesIn(folder)]) assert(!bytes.includes(random), path)
      assert(!bundle.includes(random) && !listed.includes(random))
      assert(listed.includes(sha256(secret)))
      assert(!bundle.includes(sha256(secret)))
    }
  })

  test('only the exact text is accepted, and every refusal is the same', async () => {
    const { ambit, me } = await desk()
    const { secret, key_id } = await issueKey(ambit, me, { principal: 'ida' })
    const other = await givenTenant(ambit, { id: 'other' })
    await createPrincipal(ambit, other, { id: 'ida', kind: 'user' })
    const [, , , random = ''] = secret.split('.')
    const flipped = `${random.slice(0, -1)}${random.endsWith('A') ? 'B' : 'A'}`
    const wrong = {
      nothing: '',
      'a tenant that is not there': `ambit.absent.${key_id}.${random}`,
      'another tenant': `ambit.other.${key_id}.${random}`,
      'a tenant id that cannot be': `ambit.ACME.${key_id}.${random}`,
      'a key that is not there': `ambit.acme.${key_id.slice(0, -1)}.${random}`,
      'another secret': `ambit.acme.${key_id}.${flipped}`,
      'its hash': `ambit.acme.${key_id}.${sha256(secret).slice(0, 43)}`,
      truncated: secret.slice(0, -1),
      'too long': `${secret}A`,
      'a line break behind it': `${secret}\n`,
      'a blank before it': ` ${secret}`,
      'other letters': secret.toUpperCase(),
      'without its prefix': secret.slice('ambit.'.length),
      'the id alone': key_id,
      'very long': 'x'.repeat(1_000_000),
      'a NUL': `ambit.acme.${key_id}.\0`,
    }
    for (const [name, text] of Object.entries(wrong)) await assert.rejects(authenticate(ambit, text), rejected, name)
    assert.equal((await authenticate(ambit, secret)).subject.id, 'ida')
  })

  test('every refusal asks the store the same questions', async () => {
    const { ambit, me } = await desk()
    const { secret, key_id } = await issueKey(ambit, me, { principal: 'ida' })
    const [, , , random = ''] = secret.split('.')
    const usual = await questions(ambit, secret)
    assert.equal(usual.length, 3)
    for (const text of ['', 'x', `ambit.absent.${key_id}.${random}`, `ambit.ACME.${key_id}.${random}`, `${secret}A`])
      assert.deepEqual(await questions(ambit, text), usual, text)
    assert.deepEqual(await questions(ambit, `ambit.acme.key_0.${random}`), usual)
  })

  test('until it expires, and not a millisecond longer', async () => {
    const { ambit, me, clock } = await desk()
    const { secret } = await issueKey(ambit, me, { principal: 'ida', expiresInMs: minuteMs })
    clock.advance(minuteMs - 1)
    await authenticate(ambit, secret)
    clock.advance(1)
    await assert.rejects(authenticate(ambit, secret), rejected)
  })

  test('an end that no calendar has is refused', async () => {
    const { ambit, me } = await desk()
    const wish = { principal: 'ida' }
    for (const expiresInMs of [Number.MAX_VALUE, 8.64e15, Date.UTC(9999, 0), -1, Number.NaN, Infinity])
      await assert.rejects(issueKey(ambit, me, { ...wish, expiresInMs }), { code: 'field.invalid' }, `${expiresInMs}`)
    const { key_id, secret } = await issueKey(ambit, me, wish)
    for (const graceMs of [Number.MAX_VALUE, -1, Number.NaN])
      await assert.rejects(rotateKey(ambit, me, key_id, graceMs), { code: 'field.invalid' })
    await authenticate(ambit, secret)
  })

  test('until it is revoked, alone or with its principal, or its tenant is suspended', async () => {
    const { ambit, me } = await desk()
    const one = await issueKey(ambit, me, { principal: 'ida' })
    const two = await issueKey(ambit, me, { principal: 'ida' })
    await revokeKey(ambit, me, one.key_id)
    await assert.rejects(authenticate(ambit, one.secret), rejected)
    await authenticate(ambit, two.secret)

    await setTenantStatus(ambit, me, 'suspended')
    await assert.rejects(authenticate(ambit, two.secret), rejected)
    await setTenantStatus(ambit, me, 'active')
    await authenticate(ambit, two.secret)

    assert.equal((await revokePrincipal(ambit, me, 'ida')).status, 'revoked')
    await assert.rejects(authenticate(ambit, two.secret), rejected)
  })
})

describe('a key is replaced by another [F-17]', () => {
  test('at once, unless told otherwise', async () => {
    const { ambit, me } = await desk()
    const old = await issueKey(ambit, me, { principal: 'ida', name: 'laptop', scopes: ['depot.*'] })
    const next = await rotateKey(ambit, me, old.key_id)
    await assert.rejects(authenticate(ambit, old.secret), rejected)
    assert.deepEqual((await authenticate(ambit, next.secret)).scopes, ['depot.*'])
    const [first, second] = (await keysIn(ambit, me)).items
    assert.deepEqual([first?.replaced_by, second?.name, second?.revoked_at], [next.key_id, 'laptop', null])
  })

  test('the old one may work on for a while', async () => {
    const { ambit, me, clock } = await desk()
    const old = await issueKey(ambit, me, { principal: 'ida' })
    const next = await rotateKey(ambit, me, old.key_id, minuteMs)
    await authenticate(ambit, old.secret)
    clock.advance(minuteMs)
    await assert.rejects(authenticate(ambit, old.secret), rejected)
    await authenticate(ambit, next.secret)
  })

  test('but never longer than it was good for, and nor does the new one', async () => {
    const { ambit, me, clock } = await desk()
    const old = await issueKey(ambit, me, { principal: 'ida', expiresInMs: minuteMs })
    const next = await rotateKey(ambit, me, old.key_id, 5 * minuteMs)
    clock.advance(minuteMs)
    await assert.rejects(authenticate(ambit, old.secret), rejected)
    await assert.rejects(authenticate(ambit, next.secret), rejected)
  })

  test('not when it is revoked, expired, replaced already, unknown, or of a principal that is revoked', async () => {
    const { ambit, me, clock } = await desk()
    await createPrincipal(ambit, me, { id: 'kim', kind: 'service' })
    const wish = { principal: 'ida' }
    const revoked = await issueKey(ambit, me, wish)
    const expired = await issueKey(ambit, me, { ...wish, expiresInMs: 1 })
    const replaced = await issueKey(ambit, me, wish)
    const orphan = await issueKey(ambit, me, { principal: 'kim' })
    await revokeKey(ambit, me, revoked.key_id)
    await rotateKey(ambit, me, replaced.key_id, minuteMs)
    await revokePrincipal(ambit, me, 'kim')
    clock.advance(1)
    const before = await eventCount(ambit, me)
    const refused = (id: string, error: object) => assert.rejects(rotateKey(ambit, me, id), error)
    await refused(revoked.key_id, { code: 'key.not_found', message: 'this key is revoked' })
    await refused(expired.key_id, { code: 'key.not_found', message: 'this key has expired' })
    await refused(replaced.key_id, { code: 'key.not_found', message: /^this key has been replaced by `key_/ })
    await refused(orphan.key_id, { code: 'principal.inactive' })
    await refused('key_0', { code: 'key.not_found' })
    assert.equal(await eventCount(ambit, me), before)
  })

  test('a caller without the right does not learn which keys there are', async () => {
    const { ambit, me } = await desk()
    const { key_id } = await issueKey(ambit, me, { principal: 'ida' })
    for (const id of [key_id, 'key_0'])
      await assert.rejects(rotateKey(ambit, { ...me, rights: [] }, id), { code: 'caller.not_permitted' })
  })

  test('all keys of a principal by one', async () => {
    const { ambit, me } = await desk()
    await createPrincipal(ambit, me, { id: 'kim', kind: 'service' })
    const others = [
      await issueKey(ambit, me, { principal: 'ida' }),
      await issueKey(ambit, me, { principal: 'ida', expiresInMs: minuteMs }),
    ]
    const kims = await issueKey(ambit, me, { principal: 'kim' })
    const next = await renewKeys(ambit, me, 'ida')
    for (const { secret } of others) await assert.rejects(authenticate(ambit, secret), rejected)
    for (const { secret } of [next, kims]) await authenticate(ambit, secret)
    await revokePrincipal(ambit, me, 'ida')
    await assert.rejects(renewKeys(ambit, me, 'ida'), { code: 'principal.inactive' })
  })
})

describe('the rights of a key come from roles and end with scopes [F-17 H-73]', () => {
  test.each([
    [['admin'], [], ['administer', 'audit', 'mint']],
    [['auditor'], [], ['audit']],
    [['grantor'], [], ['mint']],
    [['auditor', 'grantor'], [], ['audit', 'mint']],
    [['approver'], [], []],
    [[], [], []],
    [['admin', 'auditor'], ['depot.*'], []],
    [['admin', 'grantor'], ['agent.*'], ['mint']],
  ] as const)('%j with scopes %j', async (roles, scopes, rights) => {
    const { ambit, me } = await desk()
    await createPrincipal(ambit, me, { id: 'kim', kind: 'user', roles })
    const { secret } = await issueKey(ambit, me, { principal: 'kim', scopes })
    assert.deepEqual((await authenticate(ambit, secret)).rights, rights)
  })
})

describe('a change of people and keys, and the record of it, are one [F-13 F-17]', () => {
  test('each change has its event, in the name of its caller', async () => {
    const { ambit, me } = await desk()
    await createPrincipal(ambit, me, { id: 'ada', kind: 'user', roles: ['admin'] })
    const { secret } = await issueKey(ambit, me, { principal: 'ada' })
    const ada = await authenticate(ambit, secret)
    const before = await eventCount(ambit, me)
    await createPrincipal(ambit, ada, { id: 'kim', kind: 'agent' })
    await permit(ambit, ada, 'kim', 'stock:release')
    await withdraw(ambit, ada, 'kim', 'stock:release')
    const { key_id } = await issueKey(ambit, ada, { principal: 'kim' })
    const next = await rotateKey(ambit, ada, key_id)
    await renewKeys(ambit, ada, 'kim')
    await revokeKey(ambit, ada, next.key_id)
    await revokePrincipal(ambit, ada, 'kim')
    await setTenantStatus(ambit, ada, 'suspended')
    const made = (await searchEvidence(ambit, me, {}, { limit: (await eventCount(ambit, me)) - before })).items
    assert.deepEqual(made.map((event) => event.eventType).reverse(), [
      'ambit.principal.created',
      'ambit.permission.given',
      'ambit.permission.withdrawn',
      'ambit.key.issued',
      'ambit.key.rotated',
      'ambit.key.rotated',
      'ambit.key.revoked',
      'ambit.principal.revoked',
      'ambit.tenant.suspended',
    ])
    for (const { subjectId, correlationId, outcome } of made)
      assert.deepEqual([subjectId, correlationId, outcome], ['ada', adminCorrelation('acme'), 'success'])
    const [first] = (await searchEvidence(ambit, me, { type: 'ambit.tenant.created' })).items
    assert.equal(first?.subjectId, 'operator')
  })

  test('a change that fails leaves no event, and nothing else', async () => {
    const { ambit, me } = await desk()
    const { key_id } = await issueKey(ambit, me, { principal: 'ida' })
    await createPrincipal(ambit, me, { id: 'gone', kind: 'user' })
    await revokePrincipal(ambit, me, 'gone')
    const before = [await eventCount(ambit, me), await keysIn(ambit, me), await principalsOf(ambit, me)]
    for (const [work, code] of [
      [() => createPrincipal(ambit, me, { id: 'ida', kind: 'agent' }), 'principal.exists'],
      [() => createPrincipal(ambit, me, { id: 'two words', kind: 'agent' }), 'field.invalid'],
      [() => createPrincipal(ambit, me, { id: 'kim', kind: 'user', display: 'a\u0007' }), 'field.invalid'],
      [() => issueKey(ambit, me, { principal: 'unknown' }), 'principal.not_found'],
      [() => issueKey(ambit, me, { principal: 'gone' }), 'principal.inactive'],
      [() => issueKey(ambit, me, { principal: 'ida', scopes: ['a b'] }), 'field.invalid'],
      [() => issueKey(ambit, me, { principal: 'ida', name: '' }), 'field.invalid'],
      [() => renewKeys(ambit, me, 'unknown'), 'principal.not_found'],
      [() => revokeKey(ambit, me, `${key_id}0`), 'key.not_found'],
      [() => revokePrincipal(ambit, me, 'unknown'), 'principal.not_found'],
    ] as const)
      await assert.rejects(work, { code })
    assert.deepEqual([await eventCount(ambit, me), await keysIn(ambit, me), await principalsOf(ambit, me)], before)
  })

  test('a key that fifty rotate at once is replaced once', async () => {
    const { ambit, me } = await desk()
    const { key_id } = await issueKey(ambit, me, { principal: 'ida' })
    const tries = await Promise.allSettled(Array.from({ length: 50 }, () => rotateKey(ambit, me, key_id)))
    assert.equal(tries.filter(({ status }) => status === 'fulfilled').length, 1)
    assert.equal((await keysIn(ambit, me)).items.length, 2)
    assert.equal((await searchEvidence(ambit, me, { type: 'ambit.key.rotated' })).items.length, 1)
  })
})

async function eventCount(ambit: Runtime, me: Caller): Promise<number> {
  return (await searchEvidence(ambit, me, {}, { limit: 1 })).items[0]?.sequence ?? 0
}

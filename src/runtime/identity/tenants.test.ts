import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { filesIn, givenAmbit, givenTenant, tempFolder } from '../../../test/cli/given.ts'
import { verifyBundle } from '../../evidence/verify/verify.ts'
import { tenantId } from '../../model/identity/tenant-id.ts'
import { getTenant } from '../../storage/tables/tenants.ts'
import { exportBundle, searchEvidence, showEvent } from '../evidence/export.ts'
import { record } from '../evidence/record.ts'
import { wholeList } from '../pages.ts'
import { adminCorrelation, identityCorrelation } from './admin.ts'
import { authenticate, issueKey, keysIn } from './api-keys.ts'
import { operator } from './caller.ts'
import { createPrincipal, principalsOf } from './principals.ts'
import { createTenant, everyTenant, identityOf, rotateTenantKey, setTenantStatus, tenantOf } from './tenants.ts'

describe('a tenant is made whole or not at all [F-17 F-13]', () => {
  test('with its own key, chain and history', async () => {
    const ambit = await givenAmbit()
    const made = await createTenant(ambit, { id: 'acme', name: 'Acme', roots: ['acme/desk', 'acme/lab'] })
    const me = operator(tenantId('acme'))
    assert.equal(made.host_id, 'acme')
    assert.deepEqual(await tenantOf(ambit, me), made)
    const { keyId, publicKey } = await ambit.keyring.publicKeys('acme')
    const events = await searchEvidence(ambit, me, {})
    assert.deepEqual(
      events.items.map((event) => [event.sequence, event.eventType, event.correlationId]),
      [
        [2, 'ambit.tenant.created', adminCorrelation('acme')],
        [1, 'key_generated', identityCorrelation('acme')],
      ],
    )
    const { payload } = await showEvent(ambit, me, events.items[1]?.eventId ?? '')
    assert.partialDeepStrictEqual(payload, { key_id: keyId, public_key: publicKey })
  })

  test.each([
    [{ id: 'Acme' }, '/tenant_id'],
    [{ id: '-a' }, '/tenant_id'],
    [{ id: '' }, '/tenant_id'],
    [{ id: 'a'.repeat(64) }, '/tenant_id'],
    [{ id: 'acme', hostId: 'with space' }, '/host_id'],
    [{ id: 'acme', name: 'two\nlines' }, '/name'],
    [{ id: 'acme', roots: ['a//b'] }, '/roots/0'],
    [{ id: 'acme', roots: ['a', '../b'] }, '/roots/1'],
    [{ id: 'acme', roots: ['a/*'] }, '/roots/0'],
    [{ id: 'acme', roots: ['/a'] }, '/roots/0'],
    [{ id: 'acme', roots: ['a b'] }, '/roots/0'],
    [{ id: 'acme', roots: Array.from({ length: 65 }, (_, index) => `r${index}`) }, '/roots'],
  ])('refused before a key is made: %o', async (wish, pointer) => {
    const ambit = await givenAmbit()
    await assert.rejects(createTenant(ambit, wish), { code: 'field.invalid', data: { pointer } })
    assert.deepEqual([...filesIn(ambit.settings.keysDir).keys()], [])
  })

  test('neither its id nor its host id may be another one’s', async () => {
    const ambit = await givenAmbit()
    await createTenant(ambit, { id: 'acme', hostId: 'acme-host' })
    await assert.rejects(createTenant(ambit, { id: 'acme' }), { code: 'tenant.exists' })
    await assert.rejects(createTenant(ambit, { id: 'other', hostId: 'acme-host' }), { code: 'tenant.exists' })
    assert.deepEqual(
      (await everyTenant(ambit)).map((tenant) => tenant.tenant_id),
      ['acme'],
    )
    await assert.rejects(
      ambit.store.read(() => getTenant(tenantId('other'))),
      { code: 'tenant.not_found' },
    )
  })

  test('after a crash between key and row it is made with that key', async () => {
    const ambit = await givenAmbit()
    const { keyId } = await ambit.keyring.create('acme')
    const me = await givenTenant(ambit)
    assert.equal((await identityOf(ambit, me)).key_id, keyId)
    assert.equal((await searchEvidence(ambit, me, { type: 'key_generated' })).items.length, 1)
  })

  test('of several that make it at once, one does', async () => {
    const ambit = await givenAmbit()
    const tries = await Promise.allSettled(Array.from({ length: 8 }, () => createTenant(ambit, { id: 'acme' })))
    assert.equal(tries.filter(({ status }) => status === 'fulfilled').length, 1)
    assert.equal((await searchEvidence(ambit, operator(tenantId('acme')), {})).items.length, 2)
  })

  test('suspended and resumed, each with its event, and nothing lost', async () => {
    const ambit = await givenAmbit()
    const me = await givenTenant(ambit)
    assert.equal((await setTenantStatus(ambit, me, 'suspended')).status, 'suspended')
    assert.equal((await tenantOf(ambit, me)).status, 'suspended')
    assert.equal((await setTenantStatus(ambit, me, 'active')).status, 'active')
    const types = (await searchEvidence(ambit, me, { correlation: adminCorrelation('acme') })).items
    assert.deepEqual(
      types.map((event) => event.eventType),
      ['ambit.tenant.resumed', 'ambit.tenant.suspended', 'ambit.tenant.created'],
    )
  })

  test('what is about a tenant that is not there is refused and leaves nothing', async () => {
    const ambit = await givenAmbit()
    const unknownTenant = operator(tenantId('unknown'))
    const event = { event_type: 'x', payload: {}, correlation: { correlation_id: 'c' } }
    for (const work of [
      () => tenantOf(ambit, unknownTenant),
      () => identityOf(ambit, unknownTenant),
      () => rotateTenantKey(ambit, unknownTenant),
      () => setTenantStatus(ambit, unknownTenant, 'active'),
      () => createPrincipal(ambit, unknownTenant, { id: 'ida', kind: 'user' }),
      () => record(ambit, unknownTenant, [event]),
      () => exportBundle(ambit, unknownTenant, 'c'),
    ])
      await assert.rejects(work, { code: 'tenant.not_found' })
  })
})

test('two tenants see nothing of each other [F-17]', async () => {
  const ambit = await givenAmbit()
  const a = await givenTenant(ambit, { id: 'a' })
  const b = await givenTenant(ambit, { id: 'b' })
  await createPrincipal(ambit, a, { id: 'ida', kind: 'user' })
  const { secret, key_id } = await issueKey(ambit, a, { principal: 'ida' })
  await ambit.secrets.set(a.tenant, 'mail', 'value of a')
  const { events } = await record(ambit, a, [{ event_type: 'x', payload: {}, correlation: { correlation_id: 'c' } }])

  assert.equal((await authenticate(ambit, secret)).tenant, 'a')
  assert.deepEqual((await principalsOf(ambit, b)).items, [])
  assert.deepEqual((await keysIn(ambit, b)).items, [])
  assert.deepEqual(await ambit.secrets.list(b.tenant), [])
  await assert.rejects(ambit.secrets.resolve(b.tenant, 'secret:mail'), { code: 'secret.not_found' })
  await assert.rejects(showEvent(ambit, b, events[0]?.eventId ?? ''), { code: 'event.not_found' })
  await assert.rejects(exportBundle(ambit, b, 'c'), { code: 'correlation.not_found' })
  assert.deepEqual((await searchEvidence(ambit, b, { correlation: 'c' })).items, [])
  // The same names in the other tenant are other things, and each chain counts for itself.
  await createPrincipal(ambit, b, { id: 'ida', kind: 'service' })
  await assert.rejects(issueKey(ambit, b, { principal: 'unknown' }), { code: 'principal.not_found' })
  assert.deepEqual(
    (await keysIn(ambit, a)).items.map((key) => key.key_id),
    [key_id],
  )
  assert.equal((await searchEvidence(ambit, b, {})).items[0]?.sequence, 3)
  assert.notEqual((await identityOf(ambit, a)).key_id, (await identityOf(ambit, b)).key_id)
})

describe('evidence stays good over a rotation of the signing key [F-10 H-84]', () => {
  test('from the first key as pin, with the history of the identity document, and from no other', async () => {
    const ambit = await givenAmbit()
    const me = await givenTenant(ambit)
    const first = (await identityOf(ambit, me)).public_key ?? ''
    const before = await exportBundle(ambit, me, adminCorrelation('acme'))
    const rotation = await rotateTenantKey(ambit, me)
    await rotateTenantKey(ambit, me)
    const after = await exportBundle(ambit, me, adminCorrelation('acme'))
    const identity = await identityOf(ambit, me)
    const rotations = identity.key_history ?? []

    assert.deepEqual([rotation.old_public_key, rotations.length], [first, 2])
    assert.equal(after.public_key, identity.public_key)
    assert(verifyBundle(before, { pins: [first] }).valid)
    assert(verifyBundle(before, { pins: [first], rotations }).valid)
    assert(verifyBundle(after, { pins: [first], rotations }).valid)
    assert.equal(verifyBundle(after, { pins: [first] }).first?.check, 'pin')
    assert.equal(verifyBundle(after, { pins: [first], rotations: rotations.slice(1) }).first?.check, 'pin')
    // A key that came later vouches for nothing before it, and another tenant's for nothing at all.
    assert.equal(verifyBundle(before, { pins: [identity.public_key ?? ''], rotations }).first?.check, 'pin')
    const other = await identityOf(ambit, await givenTenant(ambit, { id: 'other' }))
    for (const bundle of [before, after])
      assert.equal(verifyBundle(bundle, { pins: [other.public_key ?? ''], rotations }).first?.check, 'pin')
  })

  test('each rotation is in the chain, and the store still opens', async () => {
    const folder = tempFolder()
    const ambit = await givenAmbit({ folder })
    const me = await givenTenant(ambit)
    const { new_key_id } = await rotateTenantKey(ambit, me)
    const [event] = (await searchEvidence(ambit, me, { type: 'key_rotated' })).items
    assert.equal(event?.correlationId, identityCorrelation('acme'))
    await ambit.close()
    const again = await givenAmbit({ folder })
    assert.equal((await identityOf(again, me)).key_id, new_key_id)
    assert(filesIn(join(folder, '.ambit')).has('heads/acme.jsonl'))
  })
})

test('a list is read to its end, however many pages it has [F-17]', async () => {
  const pages = [{ items: [1, 2], next: 'b' }, { items: [], next: 'c' }, { items: [3] }]
  const asked: (string | undefined)[] = []
  const read = async ({ cursor }: { readonly cursor?: string }) => {
    asked.push(cursor)
    return pages[asked.length - 1] ?? assert.fail('read past the end')
  }
  assert.deepEqual(await wholeList<number>(read), [1, 2, 3])
  assert.deepEqual(asked, [undefined, 'b', 'c'])
})

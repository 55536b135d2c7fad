import assert from 'node:assert/strict'
import { test } from 'vitest'
import { signatory } from '../../test/support/evidence.ts'
import { signAnchor, signMandate, signRevocation, signWitness } from '../../test/support/evidence-statements.ts'
import { givenServer, sharedKey } from '../../test/support/server.ts'
import { connectHost } from '../client/host.ts'

const witness = signatory('watcher', 7)
const owner = signatory('owner', 8)
const now = '2026-06-16T15:00:00.000Z'
const echo = { capability_id: 'conformance.echo' }

test('a head can be countersigned, now or as it was, and only by who saw it; that moves nothing [H-84]', async () => {
  const { ask } = await givenServer()
  const before = (await ask('GET', '/head')).body
  await ask('POST', '/invoke', { body: echo })
  const after = (await ask('GET', '/head?scheme=chp-store-head-v2')).body
  assert.notEqual(before.store_head, after.store_head)
  const headOf = ({ host_id, sequence, store_head }: typeof before) => ({ host_id, sequence, store_head })
  const send = (path: string, body: unknown) => ask('POST', path, { body })
  for (const head of [before, after]) {
    const said = signWitness({ ...headOf(head), revocation_head: head.revocation_head }, now, witness)
    assert.deepEqual((await send('/witness', said)).body, {
      accepted: true,
      sequence: head.sequence,
      witness: 'watcher',
    })
    const anchor = signAnchor(headOf(head), now, witness.signer)
    const { accepted, sequence, anchor_did } = (await send('/anchors', anchor)).body
    assert.deepEqual([accepted, sequence, anchor_did], [true, head.sequence, anchor.anchor.did])
    assert.equal((await send('/anchors', anchor)).status, 200)
  }
  assert.equal((await ask('GET', '/witnesses')).body.witnesses.length, 2)
  assert.equal((await ask('GET', '/anchors')).body.anchors.length, 2)
  assert.deepEqual(headOf((await ask('GET', '/head')).body), headOf(after))

  const lies = { ...headOf(after), store_head: before.store_head }
  const code = async (path: string, body: unknown) => (await send(path, body)).body.error.code
  assert.equal(await code('/witness', signWitness(lies, now, witness)), 'head_mismatch')
  assert.equal(await code('/anchors', signAnchor(lies, now, witness.signer)), 'head_mismatch')
  assert.equal(
    await code('/witness', signWitness({ ...headOf(after), sequence: 10_000 }, now, witness)),
    'head_mismatch',
  )
  const freshness = signWitness({ ...headOf(after), revocation_head: '0'.repeat(64) }, now, witness)
  assert.equal(await code('/witness', freshness), 'revocation_head_mismatch')
  const elsewhere = signWitness({ ...headOf(after), host_id: 'other' }, now, witness)
  const forged = { ...signWitness(headOf(after), now, witness), sequence: before.sequence }
  for (const bad of [elsewhere, forged, {}, { kind: 'chain-witness' }])
    assert.equal(await code('/witness', bad), 'invalid_witness')
  for (const bad of [forged, {}, { kind: [] }]) assert.equal(await code('/anchors', bad), 'invalid_anchor')
})

test('a statement is kept of a pinned witness, or from an administrator, and of no other caller [H-84]', async () => {
  const { ask, keyOf } = await givenServer({ offer: { capabilities: [], witnesses: [witness.signer.publicKey] } })
  const { host_id, sequence, store_head } = (await ask('GET', '/head')).body
  const head = { host_id, sequence, store_head }
  const said = (by: typeof witness) => [
    ['/witness', signWitness(head, now, by)],
    ['/anchors', signAnchor(head, now, by.signer)],
  ]
  const auditor = await keyOf({ id: 'eve', kind: 'user', roles: ['auditor'] })
  const scoped = await keyOf({ id: 'frank', kind: 'user', roles: ['admin'] }, ['conformance.echo'])
  const admin = await keyOf({ id: 'ada', kind: 'user', roles: ['admin'] })
  for (const [path, body] of said(owner)) {
    for (const key of [sharedKey, 'key-of-alice', auditor, scoped]) {
      const answer = await ask('POST', String(path), { key, body })
      assert.deepEqual([answer.status, answer.body.error.code], [403, 'caller_not_permitted'])
    }
  }
  const kept = async () => [
    (await ask('GET', '/witnesses')).body.witnesses.length,
    (await ask('GET', '/anchors')).body.anchors.length,
  ]
  assert.deepEqual(await kept(), [0, 0])
  for (const [path, body] of said(witness)) assert.equal((await ask('POST', String(path), { body })).status, 200)
  for (const [path, body] of said(owner))
    assert.equal((await ask('POST', String(path), { key: admin, body })).status, 200)
  assert.deepEqual(await kept(), [2, 2])
})

test('statements are listed page by page, for the client too [H-84]', async () => {
  const { ask, app } = await givenServer()
  const { host_id, sequence, store_head } = (await ask('GET', '/head')).body
  for (let second = 10; second < 60; second++)
    for (const path of ['/witness', '/anchors']) {
      const at = now.replace('00:00.000', `00:${second}.000`)
      const head = { host_id, sequence, store_head }
      const body = path === '/witness' ? signWitness(head, at, witness) : signAnchor(head, at, witness.signer)
      assert.equal((await ask('POST', path, { body })).status, 200)
    }
  const client = connectHost({
    url: 'http://localhost',
    key: sharedKey,
    fetch: async (...given) => app.fetch(new Request(...given)),
  })
  for (const [path, member, all] of [
    ['/witnesses', 'witnesses', (await client.witnesses({ limit: 50 })).witnesses],
    ['/anchors', 'anchors', (await client.anchors({ limit: 50 })).anchors],
  ] as const) {
    const read: unknown[] = []
    let pages = 0
    for (let next: string | undefined = ''; next !== undefined; pages++) {
      const { body } = await ask('GET', `${path}?limit=20${next && `&cursor=${next}`}`)
      assert(body[member].length <= 20)
      read.push(...body[member])
      next = body.next
    }
    assert.deepEqual([pages, read.length, read], [3, 50, all])
    for (const query of ['limit=0', 'limit=x', 'cursor=!'])
      assert.equal((await ask('GET', `${path}?${query}`)).status, 400, query)
  }
})

test('a revocation that verifies is kept, shown, part of every head, and ends the mandate [H-84 H-88]', async () => {
  const { ask, ambit, host } = await givenServer()
  const mandate = signMandate(
    {
      mandate_id: 'mnd_1',
      delegate_id: 'alice',
      scope: ['conformance.*'],
      valid_from: '2020-01-01T00:00:00.000Z',
      valid_until: '2099-01-01T00:00:00.000Z',
      created_at: now,
    },
    owner,
  )
  const call = async () => (await ask('POST', '/invoke', { key: 'key-of-alice', body: { ...echo, mandate } })).body
  assert.equal((await call()).outcome, 'success')
  const before = (await ask('GET', '/head')).body.revocation_head
  const revocation = signRevocation({ mandate_id: 'mnd_1', revoked_at: now, reason: 'over' }, owner)
  const forged = { ...revocation, mandate_id: 'mnd_2' }
  for (const bad of [forged, {}]) {
    const { status, body } = await ask('POST', '/revocations', { body: bad })
    assert.deepEqual([status, body.error.code], [400, 'invalid_revocation'])
  }
  const { body } = await ask('POST', '/revocations', { body: revocation })
  assert.deepEqual(body, { accepted: true, mandate_id: 'mnd_1', principal: 'owner' })
  assert.deepEqual((await ask('GET', '/revocations')).body, { keys: [], mandates: [revocation] })
  assert.notEqual((await ask('GET', '/head')).body.revocation_head, before)
  assert.equal((await call()).denial.code, 'mandate_invalid')
  const signed = await ambit.heads.checkpoint(host.tenant)
  assert.equal(signed?.revocation_head, (await ask('GET', '/head')).body.revocation_head)
})

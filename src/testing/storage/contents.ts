import assert from 'node:assert/strict'
import { sha256 } from '../../base/hash.ts'
import { limits } from '../../base/limits.ts'
import type { Seal } from '../../model/evidence.ts'
import { approvalRecords } from '../../storage/tables/approvals.ts'
import { getBlob, putBlob } from '../../storage/tables/blobs.ts'
import {
  addCheckpoint,
  allCheckpoints,
  checkpointAt,
  lastCheckpoint,
  type StoredCheckpoint,
} from '../../storage/tables/checkpoints.ts'
import { findClaim, settleClaim, takeClaim } from '../../storage/tables/claims.ts'
import { findEvents, getEvent } from '../../storage/tables/events.ts'
import { approverRecords, principalRecords } from '../../storage/tables/identities.ts'
import { acquireLease, leaseOf } from '../../storage/tables/leases.ts'
import { addStatement, listStatements } from '../../storage/tables/statements.ts'
import { inOrder, sql } from '../../storage/work.ts'
import { allPages, codes, type Given, type Register, type Setting, times } from './given.ts'
import {
  addWithin,
  countOf,
  plainSeal,
  sampleApproval,
  sampleApprover,
  sampleDraft,
  samplePrincipal,
} from './sample.ts'

export function contentRules(test: Register, on: Setting): void {
  test('bytes are kept once under their hash, none and the most allowed included [F-12]', on(blobs))
  test('bytes that lost their hash, are missing or too large are said to be [F-12]', on(badBlobs))
  test('a checkpoint follows the last one, and of many at the same time one does [F-12]', on(checkpoints))
  test('a statement is kept as it first came, and those of one kind are listed in order [F-12]', on(statements))
  test('hostile text comes back from every column unit by unit [F-12]', on(hostileText))
  test('what no database keeps unchanged is refused in every column, not altered [F-12]', on(unkeptText))
  test('a body of a megabyte comes back as it was [F-12]', on(largeBody))
}

async function blobs({ store, second, tenant }: Given): Promise<void> {
  const all = times(256, (index) => index)
  for (const bytes of [new Uint8Array(), Uint8Array.from(all), new Uint8Array(limits.blobBytesMax).fill(7)]) {
    const hashes = await Promise.all([store, second, store].map((to) => to.write(tenant, putBlob(bytes))))
    assert.deepEqual(
      hashes,
      times(3, () => sha256(bytes)),
    )
    const kept = await store.read(() => getBlob(tenant, sha256(bytes)))
    assert.equal(Buffer.compare(kept, bytes), 0)
  }
}

async function badBlobs({ store, tenant }: Given): Promise<void> {
  const hash = await store.write(tenant, putBlob(Buffer.from('whole')))
  await store.write(tenant, function* () {
    yield [sql('UPDATE blobs SET bytes = ? WHERE tenant_id = ?', Buffer.from('torn'), tenant)]
  })
  await assert.rejects(
    store.read(() => getBlob(tenant, hash)),
    { code: 'blob.corrupt' },
  )
  await assert.rejects(
    store.read(() => getBlob(tenant, sha256('other'))),
    { code: 'blob.not_found' },
  )
  const large = new Uint8Array(limits.blobBytesMax + 1)
  await assert.rejects(store.write(tenant, putBlob(large)), { code: 'blob.too_large' })
}

async function checkpoints({ store, second, tenant }: Given): Promise<void> {
  assert.equal(await store.read(() => lastCheckpoint(tenant)), undefined)
  const kept: StoredCheckpoint[] = []
  for (let turn = 0; turn < 15; turn++) {
    const wished = [turn * 10, turn * 10 + 1].map((size) => ({
      logSize: size,
      log: `${size}:`,
      hash: `h ${size}`,
      body: `{"n":${size}}`,
    }))
    const prev = kept.at(-1)?.hash ?? null
    const answers = await codes(
      wished.map((checkpoint, index) => (index === 0 ? store : second).write(tenant, addCheckpoint(checkpoint, prev))),
    )
    assert.deepEqual(answers.toSorted(), ['head.conflict', 'kept'])
    kept.push(...wished.filter((_, index) => answers[index] === 'kept'))
    assert.deepEqual(await store.read(() => lastCheckpoint(tenant)), kept.at(-1))
  }
  assert.deepEqual(await store.read(() => allCheckpoints(tenant)), kept)
  assert.deepEqual(await store.read(() => checkpointAt(tenant, kept[0]?.logSize ?? 0)), kept[0])
  assert.equal(await store.read(() => checkpointAt(tenant, 12)), undefined)
}

async function statements({ store, second, tenant }: Given): Promise<void> {
  const add = (index: number) =>
    (index % 2 === 0 ? store : second).write(tenant, addStatement({ kind: 'witness', id: 'w', body: `{"n":${index}}` }))
  const answers = await Promise.all(times(10, add))
  assert.deepEqual(answers.toSorted(), [...times(9, () => false), true])
  const body = `{"n":${answers.indexOf(true)}}`
  assert.equal(await store.write(tenant, addStatement({ kind: 'witness', id: 'w', body })), false)
  for (const id of ['b', 'é', 'a', 'W'])
    await store.write(tenant, addStatement({ kind: 'witness', id, body: `"${id}"` }))
  await store.write(tenant, addStatement({ kind: 'anchor', id: 'w', body: '1' }))

  const listed = await allPages(store, (options) => listStatements(tenant, 'witness', options), { limit: 2 })
  const expected = [
    ...['W', 'a', 'b'].map((id) => ({ id, body: `"${id}"` })),
    { id: 'w', body },
    { id: 'é', body: '"é"' },
  ]
  assert.deepEqual(
    listed,
    expected.map((each) => ({ kind: 'witness', ...each })),
  )
  const anchors = await store.read(() => listStatements(tenant, 'anchor'))
  assert.deepEqual(anchors, { items: [{ kind: 'anchor', id: 'w', body: '1' }] })
  assert.deepEqual(await store.read(() => listStatements(tenant, 'revocation')), { items: [] })
}

const hostile = [
  '',
  ' ',
  '\'";--',
  "\\' OR 1=1 /*",
  '? $1 :a @b %s {} %00',
  '{a,"b",NULL}',
  'NULL',
  'x FOR UPDATE',
  '\\x00\\u0000\\N',
  '%_[^]*',
  '\u0001\t\r\n\u001f\u007f\u0085\u2028',
  'e\u0301 é ﬁ ß İ',
  '\u202eabc\u200b\ufeff',
  '😀👩‍👩‍👧 \u{10ffff} \ufffe\uffff\ufffd',
]

/** Every column of an event is this text. */
const sealOf =
  (text: string): Seal =>
  (_, at) => [
    {
      sequence: at.sequence + 1,
      eventId: text,
      eventType: text,
      invocationId: text,
      capabilityId: text,
      correlationId: text,
      timestamp: text,
      outcome: text,
      subjectId: text,
      contentHash: text,
      body: text,
    },
  ]

async function hostileText({ store, tenant }: Given): Promise<void> {
  for (const [index, text] of hostile.entries()) {
    const claim = { scope: text, key: text, fingerprint: text, owner: text, body: text }
    const { events } = await store.commit(tenant, {
      change: inOrder(
        principalRecords.add(samplePrincipal(text, text)),
        takeClaim(claim, 0),
        settleClaim(claim, text, 1),
        addCheckpoint({ logSize: index, log: text, hash: text, body: text }, hostile[index - 1] ?? null),
        addWithin({ scope: text, key: text, amount: index, max: 100 }),
        approvalRecords.add(text, sampleApproval(text, { purpose: text })),
        approverRecords.add(sampleApprover(text)),
        addStatement({ kind: 'anchor', id: `id ${text}`, body: text }),
      ),
      events: [sampleDraft(text, { correlation: { correlation_id: text } })],
      seal: sealOf(text),
    })
    const lease = await store.write(tenant, acquireLease({ name: text, holder: text, ttlMs: 1 }, 0))
    assert.deepEqual(await store.read(() => leaseOf(tenant, text)), lease)

    const filter = { correlation: text, subject: text, capability: text, outcome: text, type: text, since: text }
    assert.deepEqual(await store.read(() => getEvent(tenant, text)), events[0])
    assert.deepEqual(await store.read(() => findEvents(tenant, filter)), { items: events })
    assert.deepEqual(await store.read(() => principalRecords.get(tenant, text)), samplePrincipal(text, text))
    assert.deepEqual(await store.read(() => findClaim(tenant, text, text)), {
      ...claim,
      state: 'settled',
      result: text,
      expiresAtMs: 1,
    })
    assert.equal(await store.read(() => countOf(tenant, text, text)), index)
    const [approval] = await store.read(() => approvalRecords.findByCall(tenant, text))
    assert.deepEqual(approval, sampleApproval(text, { purpose: text }))
    assert.deepEqual(await store.read(() => approverRecords.get(tenant, text)), sampleApprover(text))
    const { items } = await store.read(() => listStatements(tenant, 'anchor'))
    assert.equal(items.find(({ id }) => id === `id ${text}`)?.body, text)
    assert.deepEqual(await store.read(() => lastCheckpoint(tenant)), {
      logSize: index,
      log: text,
      hash: text,
      body: text,
    })
  }
}

async function unkeptText({ store, tenant }: Given): Promise<void> {
  const refused = { code: 'field.invalid' }
  for (const text of ['a\0b', '\0', 'a\ud800b', '\udc00']) {
    const claim = { scope: text, key: text, fingerprint: text, owner: text, body: text }
    await assert.rejects(store.commit(tenant, { events: [sampleDraft('evt')], seal: sealOf(text) }), refused)
    await assert.rejects(store.write(tenant, principalRecords.add(samplePrincipal(text))), refused)
    await assert.rejects(store.write(tenant, takeClaim(claim, 0)), refused)
    await assert.rejects(store.write(tenant, addWithin({ scope: 's', key: text, amount: 1, max: 1 })), refused)
    await assert.rejects(store.write(tenant, approvalRecords.add(text, sampleApproval('apr_1'))), refused)
    await assert.rejects(store.write(tenant, approverRecords.add(sampleApprover(text))), refused)
    await assert.rejects(store.write(tenant, addStatement({ kind: 'anchor', id: 'a', body: text })), refused)
    await assert.rejects(
      store.read(() => findEvents(tenant, { subject: text })),
      refused,
    )
    // Inside JSON both are escaped, so a body may hold them.
    await store.write(tenant, principalRecords.add(samplePrincipal(JSON.stringify(text), text)))
    assert.equal((await store.read(() => principalRecords.get(tenant, JSON.stringify(text)))).display, text)
  }
}

async function largeBody({ store, tenant }: Given): Promise<void> {
  const payload = { text: 'é"\\\u0000😀'.repeat(150_000) }
  const { events } = await store.commit(tenant, { events: [sampleDraft('evt', { payload })], seal: plainSeal })
  const kept = await store.read(() => getEvent(tenant, 'evt'))
  assert(kept.body.length > 1024 * 1024)
  assert.equal(kept.body, events[0]?.body)
  assert.deepEqual((JSON.parse(kept.body) as { payload: unknown }).payload, payload)
}

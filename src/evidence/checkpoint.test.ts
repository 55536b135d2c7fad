import assert from 'node:assert/strict'
import { test } from 'vitest'
import {
  copyOf,
  createdAt,
  draft,
  hostId,
  hostIdentity,
  hostKey,
  rotate,
  sealFromStart,
  signerOf,
} from '../../test/support/evidence.ts'
import { tamperings } from '../../test/support/evidence-tamper.ts'
import { canonical } from '../base/canonical.ts'
import { sha256 } from '../base/hash.ts'
import { type Checkpoint, checkpoint } from '../model/evidence.ts'
import { makeBundle } from './bundle.ts'
import { checkpointHash, signCheckpoint, verifyCheckpoint, verifyCheckpoints } from './checkpoint.ts'
import { appendLeaf, leafHash, leafOf, logRoot } from './log.ts'
import type { Verified } from './statements/statement.ts'
import { verifyBundle } from './verify/verify.ts'

const keys = [hostKey.publicKey]
const leaves = Array.from({ length: 20 }, (_, index) => leafHash(`${index}`))

function headAt(size: number, prev: Checkpoint | null = null, fields: Partial<Checkpoint> = {}): Checkpoint {
  const log = leaves.slice(0, size).reduce(appendLeaf, '')
  return signCheckpoint(
    {
      host_id: hostId,
      log_size: size,
      log_root: logRoot(log),
      sequence: size,
      store_head: sha256('store'),
      revocation_head: sha256(''),
      at: '2026-06-16T17:00:00.000Z',
      ...fields,
    },
    prev,
    hostKey,
  )
}

const checkOf = (verified: Verified<unknown>): string => (verified.ok ? 'ok' : verified.check)

test('a checkpoint is signed over its canonical form and names the one before by hash [H-88 H-87 F-09]', () => {
  const first = headAt(3)
  const second = headAt(5, first)
  const { signature, ...header } = second
  assert.deepEqual(checkpoint.parse(second), second)
  assert.equal(signature.signature, hostKey.sign(canonical(header)))
  assert.deepEqual([first.kind, first.prev, second.prev], ['ambit-head', null, sha256(canonical(first))])
  assert.equal(checkpointHash(first), second.prev)
  assert.deepEqual(verifyCheckpoint(second, keys), { ok: true, value: second })
})

test('a checkpoint is refused after any change, and under any other key [H-88 H-87 F-09]', () => {
  const head = headAt(3, headAt(2))
  for (const { value, kind, path } of tamperings(head)) {
    assert.equal(verifyCheckpoint(value, keys).ok, false, `${kind} ${path.join('/')}`)
  }
  assert.equal(checkOf(verifyCheckpoint(head, [signerOf(2).publicKey])), 'key id')
  assert.equal(checkOf(verifyCheckpoint(head, [])), 'key id')
  assert.equal(checkOf(verifyCheckpoint(head, [signerOf(2).publicKey, ...keys])), 'ok')
  const forged = { ...head, log_size: 9 }
  assert.equal(checkOf(verifyCheckpoint(forged, keys)), 'signature')
  for (const garbage of [null, 'x', [], { kind: 'ambit-head' }]) {
    assert.equal(checkOf(verifyCheckpoint(garbage, keys)), 'shape')
  }
})

test('a checkpoint follows the one before it in a file, of the same host, and never goes back [H-88 H-87 F-09]', () => {
  const first = headAt(3)
  const second = headAt(5, first)
  const third = headAt(5, second)
  assert.deepEqual(verifyCheckpoints([first, second, third], keys), { ok: true, value: [first, second, third] })
  assert.deepEqual(verifyCheckpoints([], keys), { ok: true, value: [] })
  assert.equal(checkOf(verifyCheckpoints([second], keys)), 'prev')
  assert.equal(checkOf(verifyCheckpoints([first, third], keys)), 'prev')
  assert.equal(checkOf(verifyCheckpoints([first, headAt(2, first)], keys)), 'size')
  assert.equal(checkOf(verifyCheckpoints([first, headAt(4, first, { sequence: 2 })], keys)), 'size')
  assert.equal(checkOf(verifyCheckpoints([first, headAt(4, first, { host_id: 'elsewhere' })], keys)), 'host')
  assert.equal(checkOf(verifyCheckpoints([first, { ...second, sequence: 9 }], keys)), 'signature')
})

const drafts = Array.from({ length: 6 }, (_, index) =>
  draft({ event_id: `evt_${index + 1}`, correlation: { correlation_id: index % 3 === 2 ? 'other' : 'run-5521' } }),
)
const events = sealFromStart(drafts)
const logOf = (size: number) => events.slice(0, size).map(leafOf).reduce(appendLeaf, '')
const head = headAt(6, null, { log_root: logRoot(logOf(6)) })

const bundleOf = (last: number, asOfSequence: number) =>
  copyOf(
    makeBundle(
      {
        hostId,
        events: events.filter((event) => event.correlationId === 'run-5521' && event.sequence <= last),
        createdAt,
        asOfSequence,
        identity: hostIdentity(),
      },
      hostKey,
    ),
  )

const firstOf = (bundle: unknown, checkpointOption: object, more: object = {}) => {
  const report = verifyBundle(bundle, { checkpoint: { heads: [head], ...checkpointOption }, ...more })
  return report.first && `${report.first.check} ${report.first.at}: ${report.first.message}`
}

test('a bundle compared with a checkpoint agrees when it is whole [H-88 F-09]', () => {
  const report = verifyBundle(bundleOf(6, 6), { checkpoint: { heads: [head] } })
  assert.deepEqual([report.first, report.covered], [null, 'yes'])
  assert.equal(firstOf(bundleOf(6, 6), {}), null)
  assert.equal(report.checks.find((check) => check.name === 'checkpoint')?.verdict, 'pass')
})

test('an export that counts fewer events than a head signed before it is stale [H-88 F-09]', () => {
  const stale = 'checkpoint /completeness/as_of_sequence: the host had counted 6 events before this export'
  assert.equal(firstOf(bundleOf(4, 5), {}), stale)
  assert.equal(firstOf(bundleOf(4, 4), {}), stale)
  const later = headAt(6, null, { log_root: logRoot(logOf(6)), at: '2026-06-16T18:00:00.001Z' })
  assert.equal(firstOf(bundleOf(4, 4), { heads: [later] }), null)
  const sameTime = headAt(6, null, { log_root: logRoot(logOf(6)), at: createdAt })
  assert.equal(firstOf(bundleOf(4, 5), { heads: [sameTime] }), null)
})

test('the head must be of this host, under a key the verifier trusts [H-88 F-09]', () => {
  assert.equal(
    firstOf(bundleOf(6, 6), { heads: [headAt(6, null, { host_id: 'elsewhere' })] }),
    'checkpoint /host_id: the log head is of another host',
  )
  assert.equal(firstOf(bundleOf(6, 6), { heads: [{}] })?.startsWith('checkpoint : '), true)
  const old = signerOf(2)
  const rotation = rotate(hostKey, head.at, old)
  const { signature: _, kind: __, prev: ___, ...fields } = head
  const oldHead = signCheckpoint(fields, null, old)
  assert.equal(firstOf(bundleOf(6, 6), { heads: [oldHead] }), 'checkpoint : the checkpoint is signed by an unknown key')
  const trust = { pins: [old.publicKey], rotations: [rotation] }
  assert.equal(firstOf(bundleOf(6, 6), { heads: [oldHead] }, trust), null)
  assert.equal(firstOf(bundleOf(6, 6), {}, trust), null)
})

const at = (size: number, when: string) =>
  headAt(size, null, {
    log_root: logRoot(logOf(size)),
    at: when,
  })
const checkpointOf = (bundle: unknown, heads: readonly unknown[], more: object = {}) => {
  const { verdict, message } =
    verifyBundle(bundle, { checkpoint: { heads }, ...more }).checks.find(({ name }) => name === 'checkpoint') ??
    assert.fail()
  return `${verdict}: ${message}`
}
const [early, late] = ['2026-06-16T17:00:00.000Z', '2026-06-16T19:00:00.000Z']
const nothing = 'absent: no head from before this export was given'
const stale = 'fail: the host had counted 6 events before this export'

test('every head counts, in whatever order they come [H-88 F-09]', () => {
  const heads = [at(2, early), at(6, early), at(6, late), at(3, early)]
  for (const given of [heads, heads.toReversed()]) {
    assert.equal(checkpointOf(bundleOf(4, 5), given), stale)
    assert.equal(checkpointOf(bundleOf(6, 6), given), 'pass: the bundle agrees with the signed log head')
  }
  assert.equal(
    checkpointOf(bundleOf(6, 6), [...heads, headAt(1, null, { host_id: 'elsewhere' })]).startsWith('fail'),
    true,
  )
  for (const bad of [{}, null, { ...at(2, early), log_size: 1 }]) {
    assert.equal(checkpointOf(bundleOf(6, 6), [bad, ...heads]).startsWith('fail'), true)
  }
})

test('a head from after the export says nothing, and so proves nothing [H-88 F-09]', () => {
  assert.equal(checkpointOf(bundleOf(4, 4), [at(6, late)]), nothing)
  assert.equal(checkpointOf(bundleOf(4, 4), [at(6, createdAt)]), nothing)
  assert.equal(checkpointOf(bundleOf(4, 4), []), nothing)
  assert.equal(verifyBundle(bundleOf(4, 4), { checkpoint: { heads: [at(6, late)] } }).valid, true)
})

test('a head signed by a revoked key does not count [H-88 F-09]', () => {
  const old = signerOf(2)
  const { signature: _, kind: __, prev: ___, ...fields } = head
  const oldHead = signCheckpoint(fields, null, old)
  const trust = { pins: [hostKey.publicKey, old.publicKey] }
  assert.equal(checkpointOf(bundleOf(4, 5), [oldHead], trust), stale)
  assert.equal(checkpointOf(bundleOf(4, 5), [oldHead], { ...trust, revoked: [old.keyId] }), nothing)
  assert.equal(checkpointOf(bundleOf(4, 5), [oldHead, head], { ...trust, revoked: [old.keyId] }), stale)
})

test('a head signed with a key after that was replaced does not count [H-84 H-88 F-09]', () => {
  const old = signerOf(2)
  const { signature: _, kind: __, prev: ___, ...fields } = head
  const oldHead = signCheckpoint(fields, null, old)
  const trust = (rotatedAt: string) => ({ pins: [old.publicKey], rotations: [rotate(hostKey, rotatedAt, old)] })
  assert.equal(checkpointOf(bundleOf(4, 5), [oldHead], trust(head.at)), stale)
  assert.equal(checkpointOf(bundleOf(4, 5), [oldHead], trust('2026-06-16T16:59:59.999Z')), nothing)
})

test('a pin for another host vouches for no head [H-88 F-09]', () => {
  const trust = { pins: [{ host: 'elsewhere', key: hostKey.publicKey }] }
  assert.equal(checkpointOf(bundleOf(6, 6), [head], trust), 'fail: the checkpoint is signed by an unknown key')
  assert.equal(
    checkpointOf(bundleOf(6, 6), [head], { pins: [{ host: hostId, key: hostKey.publicKey }] }).startsWith('pass'),
    true,
  )
})

test('a bundle that does not say where it ends cannot agree [H-88 F-09]', () => {
  const { completeness: _, ...open } = bundleOf(6, 6)
  const report = verifyBundle(open, { checkpoint: { heads: [head] } })
  const found = report.checks.find((check) => check.name === 'checkpoint')
  assert.deepEqual([found?.verdict, found?.at], ['fail', '/completeness'])
})

test('an unsigned bundle has no key to trust a head by [H-88 F-09]', () => {
  const { public_key: _, signature: __, host_identity: ___, ...bare } = bundleOf(6, 6)
  const unsigned = { ...bare, assurance: 'hash-chain' }
  assert.equal(firstOf(unsigned, {}, { tier: 'hash-chain' }), 'checkpoint : the checkpoint is signed by an unknown key')
})

import assert from 'node:assert/strict'
import { test } from 'vitest'
import { copyOf, signatory, signerOf } from '../../../test/support/evidence.ts'
import { tamperings } from '../../../test/support/evidence-tamper.ts'
import { stable } from '../../base/canonical.ts'
import { sha256 } from '../../base/hash.ts'
import type { MonitorReport } from '../../model/wire/statement.ts'
import { consistencyProof, leafHash, merkleRoot } from '../merkle.ts'
import type { Verified } from '../verify/verified.ts'
import {
  proveInclusion,
  revocationHead,
  storeHead,
  storeHeadV2,
  verifyHeadConsistency,
  verifyHeadInclusion,
} from './head.ts'
import { partyOf, type Signatory, signHeader } from './statement.ts'
import { signToken, verifyProvenance, verifyToken } from './token.ts'
import {
  countWitnesses,
  type Head,
  signAnchor,
  signWitness,
  verifyAnchor,
  verifyMonitorReport,
  verifyWitness,
} from './witness.ts'

const at = '2026-06-16T15:00:00.000Z'
const head: Head = { host_id: 'depot', sequence: 42, store_head: sha256('head') }
const witness = signatory('auditor', 5)
const outcome = (verified: Verified<unknown>): string => (verified.ok ? 'ok' : verified.check)

const sweep = (statement: object, verify: (value: unknown) => Verified<unknown>, open = /^$/): void => {
  assert.deepEqual(verify(statement), { ok: true, value: statement })
  for (const { value, kind, path } of tamperings(statement)) {
    if (!open.test(path.join('/'))) assert.equal(verify(value).ok, false, `${kind} ${path.join('/')}`)
  }
  for (const garbage of [null, [], 'x', {}]) assert.equal(outcome(verify(garbage)), 'shape')
}

test('a witness is believed as it stands, with a head of revocations and without [H-84 H-87]', () => {
  sweep(signWitness(head, at, witness), verifyWitness)
  sweep(signWitness({ ...head, revocation_head: sha256('') }, at, witness), verifyWitness)
})

test('a witness must have held its key when it signed [H-84 H-87]', () => {
  const expired = signatory('auditor', 5, { validUntil: '2026-06-16T14:59:59.999Z' })
  assert.equal(outcome(verifyWitness(signWitness(head, at, expired))), 'window')
  const other = { ...witness, identity: signatory('auditor', 6).identity }
  assert.equal(outcome(verifyWitness(signWitness(head, at, other))), 'attestation')
})

test('a witness counts once per key, and only for this very head [H-84 H-87]', () => {
  const [a, b] = [witness, signatory('other', 6)].map((who) => signWitness(head, at, who))
  const again = signWitness(head, '2026-06-16T16:00:00.000Z', witness)
  const renamed = signWitness(head, at, signatory('renamed', 5))
  assert.equal(countWitnesses([a, b], head), 2)
  assert.equal(countWitnesses([a, a, again, renamed], head), 1)
  assert.equal(countWitnesses([a, { ...b, sequence: 43 }, null], head), 1)
  for (const other of [
    { host_id: 'x' },
    { sequence: 41 },
    { store_head: sha256('x') },
    { revocation_head: sha256('') },
  ]) {
    assert.equal(countWitnesses([a, b], { ...head, ...other }), 0)
  }
  assert.equal(countWitnesses([], head), 0)
})

test('an anchor is a head countersigned by a key outside [H-84]', () => {
  sweep(signAnchor(head, at, signerOf(9)), verifyAnchor, /countersignature$/)
  const anchor = signAnchor(head, at, signerOf(9))
  const foreign = signAnchor({ ...head, sequence: 43 }, at, signerOf(9))
  assert.equal(outcome(verifyAnchor({ ...anchor, anchor: foreign.anchor })), 'signature')
  assert.equal(anchor.store_head_scheme, undefined)
})

const tails: [string, string | null][] = [
  ['b', sha256('b')],
  ['\uffff', sha256('bmp')],
  ['a', sha256('a')],
  ['\u{1f512}', sha256('astral')],
  ['cleared', null],
]
const text = ['a', 'b', 'cleared', '\uffff', '\u{1f512}'].map((id) => `${id}\0${new Map(tails).get(id) ?? ''}\n`)

test('heads of a store are over one line per correlation, in order of code points [H-82 H-84]', () => {
  assert.equal(storeHead(tails), sha256(text.join('')))
  assert.equal(storeHeadV2(tails), merkleRoot(text.map(leafHash)))
  assert.equal(storeHead([]), sha256(''))
  assert.equal(storeHead(new Map(tails)), storeHead(tails.toReversed()))
})

test('heads of a store of revocations are over mandates with their keys, and keys [H-82 H-84]', () => {
  const mandates = [
    { mandateId: 'm2', principalKey: 'K' },
    { mandateId: 'm1', principalKey: 'K' },
  ]
  const lines = 'k\0aa\nk\0bb\nm\0m1\0K\nm\0m2\0K\n'
  assert.equal(revocationHead({ mandates, keyIds: ['bb', 'aa'] }), sha256(lines))
})

test('heads of a store prove one correlation without the others [H-82 H-84]', () => {
  const anchor = signAnchor(
    { ...head, store_head: storeHeadV2(tails), store_head_scheme: 'chp-store-head-v2' },
    at,
    signerOf(9),
  )
  for (const [id, hash] of tails) {
    const proof = proveInclusion(tails, id)
    if (hash === null) {
      assert.equal(proof, undefined)
      continue
    }
    assert.deepEqual(verifyHeadInclusion(anchor, proof), { ok: true, value: proof })
    assert.equal(outcome(verifyHeadInclusion(anchor, { ...proof, head_hash: sha256('x') })), 'proof')
    assert.equal(outcome(verifyHeadInclusion({ ...anchor, sequence: 43 }, proof)), 'signature')
    assert.equal(outcome(verifyHeadInclusion({ ...anchor, store_head_scheme: 'chp-store-head-v1' }, proof)), 'scheme')
  }
  assert.equal(proveInclusion(tails, 'absent'), undefined)
  assert.equal(outcome(verifyHeadInclusion(anchor, {})), 'shape')
  assert.equal(outcome(verifyHeadInclusion({}, {})), 'shape')
})

test('heads of a store prove that correlations were only added [H-82 H-84]', () => {
  const leaves = text.map(leafHash)
  const [first_root, second_root] = [merkleRoot(leaves.slice(0, 3)), merkleRoot(leaves)]
  const [first, second] = [
    signAnchor({ ...head, store_head: first_root }, at, signerOf(9)),
    signAnchor({ ...head, sequence: 43, store_head: second_root }, at, signerOf(9)),
  ]
  const proof = {
    scheme: 'chp-store-head-v2',
    first_root,
    first_size: 3,
    second_root,
    second_size: 5,
    proof: consistencyProof(leaves, 3),
  }
  assert.deepEqual(verifyHeadConsistency(first, second, proof), { ok: true, value: proof })
  assert.equal(outcome(verifyHeadConsistency(first, second, { ...proof, proof: [] })), 'proof')
  assert.equal(outcome(verifyHeadConsistency(first, first, proof)), 'root')
  assert.equal(outcome(verifyHeadConsistency(second, second, proof)), 'root')
  assert.equal(outcome(verifyHeadConsistency({ ...first, sequence: 41 }, second, proof)), 'signature')
  assert.equal(outcome(verifyHeadConsistency(first, { ...second, sequence: 41 }, proof)), 'signature')
  assert.equal(outcome(verifyHeadConsistency(first, second, {})), 'shape')
  const late = signAnchor({ ...head, sequence: 44, store_head: first_root }, at, signerOf(9))
  assert.equal(outcome(verifyHeadConsistency(late, second, proof)), 'sequence')
  const elsewhere = signAnchor({ ...head, host_id: 'x', store_head: first_root }, at, signerOf(9))
  assert.equal(outcome(verifyHeadConsistency(elsewhere, second, proof)), 'host')
})

const sign = (fields: object, who: Signatory = witness): MonitorReport => {
  const header = {
    kind: 'store-head-monitor-report',
    host_id: 'depot',
    anchor_count: 4,
    verified_through_sequence: 64,
    monitored_at: at,
    canonicalization: 'chp-stable-v1',
    ...fields,
  }
  return { ...header, monitor: partyOf(who), signature: signHeader(header as never, who.signer) } as never
}
const divergence = { sequence: 96, anchored_root: sha256('a'), reconstructed_root: sha256('b') }

test('a monitor reports good and bad news under its signature [H-84]', () => {
  sweep(sign({ verdict: 'consistent' }), verifyMonitorReport)
  sweep(sign({ verdict: 'forked', divergence }), verifyMonitorReport)
})

test('a monitor shows a divergence exactly when it is forked [H-84]', () => {
  assert.equal(outcome(verifyMonitorReport(sign({ verdict: 'forked' }))), 'shape')
  assert.equal(outcome(verifyMonitorReport(sign({ verdict: 'consistent', divergence }))), 'shape')
  const expired = signatory('auditor', 5, { validUntil: '2026-01-01T00:00:00.000Z' })
  assert.equal(outcome(verifyMonitorReport(sign({ verdict: 'consistent' }, expired))), 'window')
})

const caller = signatory('planner', 2)
const token = signToken({ aud: 'depot', iat: at, exp: '2026-06-16T16:00:00.000Z' }, caller)
const options = { at: Date.parse(at), audience: 'depot', pins: new Set([caller.signer.publicKey]) }

test('a bearer token is good for its audience from `iat` until before `exp` [H-79 H-87]', () => {
  sweep(token, (value) => verifyToken(value, options))
  assert.equal(token.sub, 'planner')
  const hour = 3_600_000
  assert.equal(outcome(verifyToken(token, { ...options, at: options.at + hour - 1 })), 'ok')
  assert.equal(outcome(verifyToken(token, { ...options, at: options.at + hour })), 'window')
  assert.equal(outcome(verifyToken(token, { ...options, at: options.at - 1 })), 'window')
  assert.equal(outcome(verifyToken(token, { ...options, audience: 'elsewhere' })), 'audience')
})

test('a bearer token is of a registered caller that is its own subject [H-79 H-87]', () => {
  assert.equal(outcome(verifyToken(token, { ...options, pins: new Set() })), 'pin')
  assert.equal(outcome(verifyToken(token, { ...options, pins: 'any' })), 'ok')
  const { caller: _, signature: __, ...header } = { ...token, sub: 'somebody' }
  const posing = { ...header, caller: partyOf(caller), signature: signHeader(header, caller.signer) }
  assert.equal(outcome(verifyToken(posing, options)), 'subject')
  const expired = signatory('planner', 2, { validUntil: '2026-01-01T00:00:00.000Z' })
  assert.equal(outcome(verifyToken(signToken(token, expired), options)), 'window')
  const when = signToken({ ...copyOf(token), iat: '2026-02-31T00:00:00Z' }, caller)
  assert.equal(outcome(verifyToken(when, options)), 'window')
})

test("a publisher's statement is about one file, by a registered key [H-87]", () => {
  const publisher = signatory('press', 8)
  const header = {
    kind: 'adapter-provenance',
    package: 'adapter',
    version: '1.0.0',
    wheel_sha256: sha256('file'),
    created_at: at,
    canonicalization: 'chp-stable-v1',
  } as const
  const statement = { ...header, publisher: partyOf(publisher), signature: signHeader(header, publisher.signer) }
  assert.equal(statement.signature.signature, publisher.signer.sign(stable(header)))
  const options = { fileHash: sha256('file'), pins: new Set([publisher.signer.publicKey]) }
  sweep(statement, (value) => verifyProvenance(value, options))
  assert.equal(outcome(verifyProvenance(statement, { ...options, fileHash: sha256('other') })), 'file')
  assert.equal(outcome(verifyProvenance(statement, { ...options, pins: new Set() })), 'pin')
})

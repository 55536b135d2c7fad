import assert from 'node:assert/strict'
import { test } from 'vitest'
import { copyOf, signatory, signerOf } from '../../../test/support/evidence.ts'
import {
  type Head,
  signAnchor,
  signRevocation,
  signToken,
  signWitness,
} from '../../../test/support/evidence-statements.ts'
import { tamperings } from '../../../test/support/evidence-tamper.ts'
import { verifyToken } from '../../../test/support/evidence-token.ts'
import { sha256 } from '../../base/hash.ts'
import { partyOf, signHeader, type Verified } from './statement.ts'
import { revocationHead, storeHead, verifyAnchor, verifyWitness } from './witness.ts'

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
  assert.equal(storeHead([]), sha256(''))
  assert.equal(storeHead(new Map(tails)), storeHead(tails.toReversed()))
})

test('heads of a store of revocations are over mandates with their keys, and keys [H-82 H-84]', () => {
  const { principal } = signRevocation({ mandate_id: 'm1', revoked_at: at, reason: 'withdrawn' }, witness)
  const mandates = [
    { mandate_id: 'm2', principal },
    { mandate_id: 'm1', principal },
  ]
  const lines = `k\0aa\nk\0bb\nm\0m1\0${principal.public_key}\nm\0m2\0${principal.public_key}\n`
  assert.equal(revocationHead(mandates, ['bb', 'aa']), sha256(lines))
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
  const { caller: _, signature: __, ...header } = { ...token, sub: 'stranger' }
  const posing = { ...header, caller: partyOf(caller), signature: signHeader(header, caller.signer) }
  assert.equal(outcome(verifyToken(posing, options)), 'subject')
  const expired = signatory('planner', 2, { validUntil: '2026-01-01T00:00:00.000Z' })
  assert.equal(outcome(verifyToken(signToken(token, expired), options)), 'window')
  const when = signToken({ ...copyOf(token), iat: '2026-02-31T00:00:00Z' }, caller)
  assert.equal(outcome(verifyToken(when, options)), 'window')
})

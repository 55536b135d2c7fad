import assert from 'node:assert/strict'
import { test } from 'vitest'
import { attest, hostId, hostIdentity, hostKey, signerOf } from '../../../test/support/evidence.ts'
import { tamperings } from '../../../test/support/evidence-tamper.ts'
import { stable } from '../../base/canonical.ts'
import { hostIdentity as hostIdentityShape } from '../../model/evidence.ts'
import { anchorVerdict, identityProblem, withinWindow } from './statement.ts'

const own = { hostId, publicKey: hostKey.publicKey }

test('a window has both its ends, null is an open one, and what is no time is outside [H-89]', () => {
  const [from, until] = ['2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00+00:00']
  const [start, end] = [Date.parse(from), Date.parse(until)]
  const cases: [number | undefined, string | null, string | null, boolean][] = [
    [start, from, until, true],
    [end, from, until, true],
    [start - 1, from, until, false],
    [end + 1, from, until, false],
    [start - 1, null, until, true],
    [end + 1, from, null, true],
    [0, null, null, true],
    [undefined, null, null, false],
    [start, 'then', null, false],
    [start, null, 'then', false],
    [start, '2026-02-31T00:00:00Z', null, false],
  ]
  for (const [at, first, last, expected] of cases) {
    assert.equal(withinWindow(at, first, last), expected, `${at} in ${first} to ${last}`)
  }
})

test('an identity is a claim signed with the key it is about; no member of it can be touched [H-82 H-87]', () => {
  const identity = hostIdentity()
  const { signature, ...claim } = identity
  assert.equal(hostIdentityShape.safeParse(identity).success, true)
  assert.equal(signature, hostKey.sign(stable(claim as never)))
  assert.equal(identityProblem(identity, own), undefined)
  for (const { value, kind, path } of tamperings(identity)) {
    const shaped = hostIdentityShape.safeParse(value)
    if (shaped.success) assert.notEqual(identityProblem(shaped.data, own), undefined, `${kind} ${path.join('/')}`)
  }
  assert.equal(identityProblem(identity, { ...own, hostId: 'x' })?.message, 'the identity names another host')
  assert.equal(
    identityProblem(identity, { ...own, publicKey: signerOf(2).publicKey })?.message,
    'the identity names another key',
  )
})

test('an identity without anchors has no such member, and nothing to prove [H-82]', () => {
  const bare = attest({ hostId, validFrom: null, validUntil: null, anchors: [] }, hostKey)
  assert.equal('anchors' in bare, false)
  assert.equal(anchorVerdict(bare), 'absent')
  assert.equal(anchorVerdict(hostIdentity()), 'pass')
})

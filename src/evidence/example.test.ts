import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'vitest'
import {
  copyOf,
  draft,
  hostId,
  hostIdentity,
  hostKey,
  seal,
  signerOf,
  start,
  tenant,
} from '../../test/support/evidence.ts'
import * as example from '../../test/support/evidence-example.ts'
import { chunkDigest, signGrant } from '../../test/support/evidence-statements.ts'
import { digestUnder, objectHash, sha256 } from '../base/hash.ts'
import { approvalGrant } from '../model/approval.ts'
import { callRecord } from '../model/evidence.ts'
import { makeBundle } from './bundle.ts'
import { actionDigest, contextDigest, inputDigest, invocationDigest, outputDigest } from './digests.ts'
import { payloadCommitment } from './event.ts'
import { appendLeaf, leafOf } from './log.ts'
import { verifyGrant } from './statements/grant.ts'
import { revocationHead } from './statements/witness.ts'
import { verifyBundle } from './verify/verify.ts'

const tenantKey = Buffer.alloc(32, 0x11)
const digest = digestUnder(tenantKey)
const { payload } = example.envelope
const digests = {
  descriptor: 'sha256:36bb1e331bc1eed31e8768d5720a3ca900cafbae848f0cfc460df0b2ea4612bd',
  policy: 'sha256:dd40e84c656ec6639cc007c05405ffa0b04381fd0909d6831320acd65e9c1783',
  denial: 'sha256:53a433d5a88b32e57d619f0474cd5e1b84ebfbbabd2cc484550431a33ff8ddb2',
  context: 'sha256:e0de504e59bcdd75290f5fbf24e7659eb7bd5c5172578bc2315dd794c960f2c8',
  action: 'sha256:cffc4d20d1943a646833f8fa155770a54d559e6498fada36eb3c551f8230c81a',
  invocation: 'sha256:43889b1f91deab079a888911a867d8bd04e9db405f4692e86b7ccbad784dd6de',
  payload: 'fa80ee67fd8011e9a9ac8adb194a11baab4a37337111138d3c1c65546f774f79',
}

test('the objects of the worked example have the digests the reference states [H-82]', () => {
  assert.equal(objectHash(example.descriptor), digests.descriptor)
  assert.equal(objectHash(example.policy), digests.policy)
  assert.equal(objectHash(example.denial), digests.denial)
  assert.equal(objectHash(example.record.context), digests.context)
  assert.equal(payloadCommitment(payload), digests.payload)
  assert.equal(payloadCommitment({ ratio: 0.5 }), sha256('{"ratio": "0.5"}'))
})

test('digests of sensitive values are under the key of the tenant, each kind apart from the others [H-50]', () => {
  const consignee = contextDigest(digest, 'consignee', payload.consignee)
  assert.equal(consignee, 'hmac-sha256:fea811b5cc6cc404abd804d414064d4b6248b9cfa9084febb00f99c823f09ad7')
  assert.equal(consignee, example.record.context[1].digest)
  assert.equal(inputDigest(digest, payload), example.record.input)
  assert.notEqual(contextDigest(digestUnder(Buffer.alloc(32, 0x12)), 'consignee', payload.consignee), consignee)
  assert.notEqual(contextDigest(digest, 'consignor', payload.consignee), consignee)
  assert.notEqual(outputDigest(digest, payload), inputDigest(digest, payload))
  assert.equal(inputDigest(digest, { ratio: 0.5 }), inputDigest(digest, { ratio: '0.5' }))
  const output = createHmac('sha256', tenantKey).update('ambit-output-v1\0{"slot":0.5}').digest('hex')
  assert.equal(outputDigest(digest, { slot: 0.5 }), `hmac-sha256:${output}`)
})

test('the digest of a stream is over one line per chunk, fractions as text [H-64]', () => {
  assert.equal(chunkDigest([{ token: 'é' }, [0.5]]), sha256('{"token": "\\u00e9"}\n["0.5"]\n'))
  assert.equal(chunkDigest([]), sha256(''))
})

test('action and invocation digests of the worked example; any change of the call changes the second [H-54]', () => {
  const action = {
    capability: { id: 'depot.release_batch', version: '2.1.0' },
    principal: { id: 'stock-planner' },
    input: payload,
    semantic_context: {},
  }
  const governanceContext = {
    tenant,
    run_id: null,
    grants: null,
    descriptor: digests.descriptor,
    policy: digests.policy,
    context: digests.context,
    evidence_snapshot: null,
    nonce: '5f1c0a7be2d94c11',
  }
  const call = {
    invocation_id: 'inv_7Q2',
    action_digest: digests.action,
    actor: example.envelope.actor,
    principal: { id: 'stock-planner' },
    binding: { id: 'self' },
    provider: { id: hostId },
    host: { id: hostId },
    governance_context: governanceContext,
  }
  assert.equal(actionDigest(action), digests.action)
  assert.equal(invocationDigest(call), digests.invocation)
  assert.notEqual(actionDigest({ ...action, input: { ...payload, excursion_minutes: 15 } }), digests.action)
  for (const member of Object.keys(call)) {
    assert.notEqual(invocationDigest({ ...call, [member]: 'another' }), digests.invocation, member)
  }
  for (const member of Object.keys(governanceContext)) {
    const changed = { ...call, governance_context: { ...governanceContext, [member]: 'another' } }
    assert.notEqual(invocationDigest(changed), digests.invocation, member)
  }
})

test('key ids are computed from the keys, and the first approver signs as the reference states [H-87 H-82]', () => {
  assert.equal(hostKey.keyId, '34750f98bd59fcfc')
  assert.equal(signerOf(0xb2).keyId, 'b28baab33e1f95a7')
  assert.equal(signerOf(Uint8Array.from({ length: 32 }, (_, index) => index)).keyId, '56475aa75463474c')
  const ida = signerOf(0xa1)
  const grant = signGrant(
    {
      approval_id: 'apr_31',
      invocation_id: 'inv_7Q2',
      valid_until: '2026-06-16T17:00:00.000Z',
      payload_commitment: digests.payload,
      invocation_digest: digests.invocation,
      audience: hostId,
      max_attempts: 1,
    },
    ida,
  )
  assert.equal(
    grant.signature.signature,
    'hEC7CKIRVuuu4nCLKWRNJ+48vFtzK4s29WPsGV8n2JP1X/43YJea+YvishO6aFac7GCqIQgAnlM4AChOuPibCQ==',
  )
  assert.equal(grant.approver, '730a5edc28c2f8da')
  assert.deepEqual(grant.approver_identity, { host_id: '730a5edc28c2f8da', public_key: ida.publicKey })
  assert.deepEqual(approvalGrant.parse(grant), grant)
  const at = Date.parse('2026-06-16T16:00:00.000Z')
  assert.deepEqual(verifyGrant(grant, { at, pins: new Set([ida.publicKey]) }), { ok: true, value: grant })
})

test('nothing revoked has the head of nothing [H-84]', () => {
  const head = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
  assert.equal(revocationHead([], []), head)
  assert.equal(head, sha256(''))
})

test('the record of the worked example is sealed into the denial as it stands, without the consignee [H-50 H-86]', () => {
  const { descriptor, policy, input, context, basis, decision, approval } = copyOf(example.record)
  const denied = draft({
    event_type: 'execution_denied',
    outcome: 'denied',
    subject: copyOf(example.record.subject),
    actor: copyOf(example.record.actor),
    correlation: { correlation_id: 'run-5521', ...copyOf(example.record.correlation) },
    denial: copyOf(example.denial),
    record: { descriptor, policy, input, context, basis, decision, approval } as never,
  })
  const [event] = seal([denied], { ...start, sequence: 41 })
  const record = JSON.parse(event?.body ?? '').payload.decision
  assert.deepEqual(record, { ...example.record, assurance: { level: 'S1' } })
  for (const readable of [record, example.record]) assert.equal(callRecord.safeParse(readable).success, true)
  assert.equal(event?.body.includes('Troms'), false)
})

test('one sealed event and one bundle keep their hashes [F-09]', () => {
  const events = seal([draft()], start)
  const bundle = makeBundle(
    { hostId, events, createdAt: '2026-06-16T18:00:00.000Z', asOfSequence: 1, identity: hostIdentity() },
    hostKey,
  )
  assert.deepEqual(
    {
      log: events.map(leafOf).reduce(appendLeaf, ''),
      content: events[0]?.contentHash,
      root: bundle.root_hash,
      signature: bundle.signature?.signature,
    },
    {
      log: '1:97f7f1ce83dff76ba15456a531dab93b11718643ac7d8fc20b39bf34717bffd0',
      content: 'c8600563856f270b8d3902637ebdf410c90c86c91fef86e1a50587427b24d94f',
      root: '7e0b76d9b383f721ffe659c05e0bd4c08acc3d7cd4d9e2554a4208c105f8ca8d',
      signature: 'nWn/ncucG6h2rZCqoUY3vA1mP5KI7CHoRGg5d2SGkfhr4FCH16NKhCpegCzFYTXNIv+A2IwujIj0UrJX16UgBQ==',
    },
  )
  assert.equal(verifyBundle(copyOf(bundle)).valid, true)
})

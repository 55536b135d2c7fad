import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { describe, test } from 'vitest'
import { attest, copyOf, signatory, signerOf } from '../../../test/support/evidence.ts'
import { verifyAttestation } from '../../../test/support/evidence-dsse.ts'
import { orderEvents } from '../../../test/support/evidence-order.ts'
import { chunkDigest, signMandate, signRevocation } from '../../../test/support/evidence-statements.ts'
import { makeTaskBundle, taskRoot, verifyTaskBundle } from '../../../test/support/evidence-task.ts'
import { verifyToken } from '../../../test/support/evidence-token.ts'
import {
  bareMandate,
  checkOf,
  expectedOf,
  folder,
  headerOf,
  read,
  reportOf,
  sweep,
  sweepBundle,
  type Vector,
  verdictOf,
} from '../../../test/support/evidence-vectors.ts'
import { canonical, stable } from '../../base/canonical.ts'
import type { PolicyDecision } from '../../model/evidence.ts'
import { isAllowedActor, isVisible } from '../../policy/actors.ts'
import { decideByPatterns, denialCodeOf } from '../../policy/decisions.ts'
import { compileSchema } from '../../policy/schema/schema.ts'
import { satisfies } from '../../policy/versions.ts'
import { actionDigest, invocationDigest } from '../digests.ts'
import { contentHash, contentHashV1, payloadCommitment, rootHash } from '../event.ts'
import { verifyGrant } from '../statements/grant.ts'
import { revokes, verifyMandate, verifyRevocation } from '../statements/mandate.ts'
import type { Verified } from '../statements/statement.ts'
import { revocationHead, storeHead, verifyAnchor, verifyWitness } from '../statements/witness.ts'

const at = (text: string): number => Date.parse(text)
const midsummer = at('2026-06-01T00:00:00Z')
const anyone = 'any'

/** The name beside an approver's key; the key itself is what counts. */
const unsignedApprover = /^approver_identity\/host_id$/

/** The line breaks around an SSH signature. */
const armour = /countersignature$/

/** Nor does an anchor sign the scheme it names. */
const unsignedScheme = /countersignature$|^store_head_scheme$/

const checks: Readonly<Record<string, (vector: Vector) => void>> = {
  'canon/cases.json': ({ cases }) => {
    assert.equal(cases.length, 14)
    for (const { input, expected_canon } of cases) assert.equal(stable(input), expected_canon)
  },
  'canon/cases-jcs.json': ({ cases }) => {
    assert.equal(cases.length, 12)
    for (const { input, expected_canon } of cases) assert.equal(canonical(input), expected_canon)
  },
  'event.json': ({ event, prev_hash }) => {
    const expected = read('expected.json')
    assert.equal(contentHashV1(headerOf(event, prev_hash), stable(event.payload)), expected.event_content_hash)
  },
  'expected.json': (expected) => {
    const { chained } = expected
    const signer = signerOf(Buffer.from(expected.private_key_seed_hex, 'hex'))
    const bundle = read('signed-bundle.json')
    assert.equal(signer.publicKey, expected.public_key_b64)
    assert.equal(signer.keyId, '56475aa75463474c')
    assert.equal(rootHash([chained.started_content_hash, chained.completed_content_hash]), expected.root_hash)
    const [, completed] = bundle.events
    const hash = contentHashV1(headerOf(completed, chained.prev_hash_of_completed), stable(completed.payload))
    assert.equal(hash, chained.completed_content_hash)
    assert.equal(bundle.signature.signature, expected.signature_b64)
    const fields = { hostId: 'vector-host', validFrom: '2026-01-01T00:00:00Z', validUntil: null }
    assert.equal(attest(fields, signer).signature, expected.host_identity_signature_b64)
  },
  'event-hash-v2.json': ({ event, payload_commitment, content_hash, prev_hash }) => {
    assert.equal(payloadCommitment(event.payload), payload_commitment)
    assert.equal(contentHash(headerOf(event, prev_hash), payload_commitment), content_hash)
  },
  'signed-bundle.json': (bundle) => sweepBundle(bundle),
  'signed-bundle-jcs.json': (bundle) => {
    sweepBundle(bundle)
    assert.equal(bundle.root_hash, read('signed-bundle.json').root_hash)
    assert.equal(reportOf({ ...bundle, canonicalization: 'chp-stable-v1' }).first?.check, 'signature')
  },
  'signed-bundle-anchored.json': (bundle) => {
    sweepBundle(bundle)
    const { anchors: _, ...bare } = bundle.host_identity
    assert.equal(reportOf({ ...bundle, host_identity: bare }).first?.check, 'attestation')
  },
  'signed-bundle-complete.json': (bundle) => {
    sweepBundle(bundle)
    const cut = copyOf(bundle)
    cut.events.pop()
    cut.root_hash = rootHash([cut.events[0].content_hash])
    assert.equal(verdictOf(reportOf(cut), 'completeness'), 'fail')
    const headless = copyOf(bundle)
    headless.completeness.head_hash = bundle.events[0].content_hash
    assert.equal(verdictOf(reportOf(headless), 'completeness'), 'fail')
  },
  'did-anchored-bundle.json': (bundle) => {
    sweepBundle(bundle)
    assert.equal(verdictOf(reportOf(bundle), 'anchors'), 'pass')
  },
  'governance-bundle.json': (bundle) => {
    sweepBundle(bundle)
    const types = ['assessment_started', 'assessment_completed', 'guardrail_triggered', 'action_blocked']
    assert.deepEqual(
      bundle.events.map((event: Vector) => event.event_type),
      [...types.map((type) => `safety_${type}`), 'execution_denied'],
    )
  },
  'bundle-withheld.json': (bundle) => {
    sweepBundle(bundle)
    for (const payload of [{ note: 'cafe' }, {}, { chp_withheld: false }, { chp_withheld: true, note: 'café' }]) {
      const revealed = copyOf(bundle)
      revealed.events[0].payload = payload
      assert.equal(reportOf(revealed).first?.check, 'commitments')
    }
    const honest = copyOf(bundle)
    honest.events[0].payload = { note: 'café' }
    assert.equal(reportOf(honest).valid, true)
  },
  'sealed-bundle.json': ({ bundle }) => sweepBundle(bundle),
  'sealed-bundle-v2.json': ({ bundle }) => {
    sweepBundle(bundle)
    // It names people in events that show no payload: it is good, and the story does not repeat the names.
    assert.deepEqual(
      reportOf(bundle).story.map(({ subject }) => subject),
      [null, null],
    )
  },
  'dsse-attestation.json': (envelope) => {
    assert.equal(verifyAttestation(envelope).ok, true)
    sweep(envelope, (value) => verifyAttestation(value))
  },
  'chunk-seq.json': ({ deltas, chunk_seq_digest }) => {
    assert.equal(chunkDigest(deltas), chunk_seq_digest)
    assert.notEqual(chunkDigest(deltas.toReversed()), chunk_seq_digest)
  },
  'digests.json': (vector) => {
    assert.equal(actionDigest(vector.action_document), vector.action_digest)
    assert.equal(invocationDigest(vector.invocation_document), vector.invocation_digest)
  },
  'provider-substitution.json': (vector) => {
    const { grant_for_a: grant, invocation_a: a, invocation_b: b, expected } = vector
    for (const call of [a, b]) assert.equal(invocationDigest(call.invocation_document), call.invocation_digest)
    assert.equal(a.invocation_document.action_digest, b.invocation_document.action_digest)
    assert.equal(a.invocation_digest !== b.invocation_digest, expected.invocation_digest_changed)
    const presented = (call: Vector) => ({ audience: call.executor, invocation_digest: call.invocation_digest })
    const verify = (call: Vector) => verifyGrant(grant, { at: midsummer, pins: anyone, presented: presented(call) })
    assert.equal(verify(a).ok, expected.grant_valid_for_a)
    assert.equal(verify(b).ok, expected.grant_valid_for_b)
    sweep(grant, (value) => verifyGrant(value, { at: midsummer, pins: anyone }), unsignedApprover)
  },
  'approval-grant.json': ({ cases }) => {
    const verdicts = cases.map((item: Vector) => verifyGrant(item.grant, { at: at(item.at_time), pins: anyone }))
    assert.deepEqual(
      verdicts.map((verdict: Verified<unknown>) => (verdict.ok ? 'ok' : verdict.check)),
      ['ok', 'window', 'signature'],
    )
    const [{ grant, at_time }] = cases
    sweep(grant, (value) => verifyGrant(value, { at: at(at_time), pins: anyone }), unsignedApprover)
  },
  'mandate.json': (mandate) => {
    const options = { at: midsummer, pins: new Set([mandate.principal.public_key]), delegate: 'vector-delegate' }
    const verified = verifyMandate(mandate, options)
    assert.deepEqual(verified.ok && verified.value.subject, {
      id: 'vector-delegate',
      type: 'mandate',
      verified: true,
      mandate_id: 'mnd_fixture0001',
      principal: 'vector-principal',
      root_principal: 'vector-principal',
    })
    for (const time of ['2025-12-31T23:59:59.999Z', '2027-01-01T00:00:00.001Z']) {
      assert.equal(checkOf(verifyMandate(mandate, { ...options, at: at(time) })), 'window')
    }
    assert.equal(checkOf(verifyMandate(mandate, { ...options, pins: new Set() })), 'pin')
    sweep(mandate, (value) => verifyMandate(value, options))
  },
  'mandate-capped.json': (mandate) => {
    sweep(mandate, (value) => verifyMandate(value, { at: midsummer, pins: anyone }))
    const { max_invocations, ...uncapped } = mandate
    assert.equal(max_invocations, 3)
    assert.equal(checkOf(verifyMandate(uncapped, { at: midsummer, pins: anyone })), 'signature')
  },
  'mandate-chain.json': (mandate) => {
    const march = at('2026-03-01T00:00:00Z')
    sweep(mandate, (value) => verifyMandate(value, { at: march, pins: anyone }))
    assert.equal(checkOf(verifyMandate(mandate, { at: at('2026-06-02T00:00:00Z'), pins: anyone })), 'window')
    const delegate = signatory('vector-delegate', 7)
    const narrow = { ...mandate, scope: ['demo.echo'], parent: mandate.parent }
    const verify = (fields: object) =>
      checkOf(verifyMandate(signMandate({ ...bareMandate(narrow), ...fields }, delegate), { at: march, pins: anyone }))
    assert.equal(verify({}), 'ok')
    assert.equal(verify({ scope: ['demo.*'] }), 'scope')
    assert.equal(verify({ valid_until: '2027-01-01T00:00:00.001Z' }), 'window')
  },
  'mandate-revocation.json': (revocation) => {
    const mandate = read('mandate.json')
    sweep(revocation, verifyRevocation)
    assert.equal(revokes(revocation, mandate), true)
    const forged = signRevocation(revocation, signatory('vector-principal', 7))
    assert.equal(verifyRevocation(forged).ok, true)
    assert.equal(revokes(forged, mandate), false)
    const options = { at: midsummer, pins: anyone } as const
    assert.equal(checkOf(verifyMandate(mandate, { ...options, revocations: [revocation] })), 'revoked')
    assert.equal(checkOf(verifyMandate(mandate, { ...options, revocations: [forged] })), 'ok')
    const head = 'b958e0a53171eaf7a6bd402c340562122260a6b4c556e0e43d95a12079d78406'
    assert.equal(revocationHead([revocation], []), head)
  },
  'chain-witness.json': (witness) => sweep(witness, verifyWitness),
  'chain-witness-revfresh.json': (witness) => {
    sweep(witness, verifyWitness)
    const { revocation_head: _, ...stale } = witness
    assert.equal(checkOf(verifyWitness(stale)), 'signature')
  },
  'witness-quorum.json': ({ statements }) => {
    for (const statement of statements) sweep(statement, verifyWitness)
  },
  'store-head-anchor.json': (anchor) => {
    sweep(anchor, verifyAnchor, armour)
    const { countersignature } = anchor.anchor
    const forged = countersignature.replace('GG7ER9', 'GG7ER8')
    assert.equal(
      checkOf(verifyAnchor({ ...anchor, anchor: { ...anchor.anchor, countersignature: forged } })),
      'signature',
    )
  },
  'store-head-v2.json': ({ leaves }) => {
    const head = '22d54dcab265d5f72a05ad0c2e71cb1562dfce6a1dee0ce0915f1867d13097bf'
    assert.equal(storeHead(Object.entries<string>(leaves)), head)
  },
  'store-head-inclusion.json': ({ anchor }) => sweep(anchor, verifyAnchor, unsignedScheme),
  'store-head-consistency.json': ({ first_anchor, second_anchor }) => {
    for (const anchor of [first_anchor, second_anchor]) sweep(anchor, verifyAnchor, unsignedScheme)
  },
  'task-bundle.json': (task) => {
    assert.equal(verifyTaskBundle(task).ok, true)
    const [a, b] = task.bundles
    assert.equal(checkOf(verifyTaskBundle({ ...task, bundles: [a] })), 'root')
    assert.equal(checkOf(verifyTaskBundle({ ...task, bundles: [b, a] })), 'order')
    assert.equal(checkOf(verifyTaskBundle({ ...task, bundles: [b], task_root_hash: taskRoot([b]) })), 'closure')
    sweep(task, verifyTaskBundle, /^created_at$|^bundles\/\d\/events\/\d\/(sequence|correlation\/causation_id)$/)
  },
  'task-bundle-aggregated.json': (task) => {
    assert.equal(verifyTaskBundle(task, { aggregators: new Set([task.aggregator.public_key]) }).ok, true)
    const [a] = task.bundles
    const cut = { ...task, bundles: [a], task_root_hash: taskRoot([a]) }
    assert.equal(checkOf(verifyTaskBundle(cut)), 'participants')
    const again = makeTaskBundle({ bundles: task.bundles, createdAt: '2026-01-02T00:00:00.000Z' })
    assert.equal(again.task_root_hash, task.task_root_hash)
    assert.equal(checkOf(verifyTaskBundle({ ...again, aggregator: task.aggregator })), 'signature')
    assert.equal(checkOf(verifyTaskBundle(again, { aggregators: anyone })), 'aggregator')
    sweep(task, verifyTaskBundle, /^bundles\/\d\/events\/\d\/(sequence|correlation\/causation_id)$/)
  },
  'ordering.json': ({ events, expected_order }) => {
    for (const input of [events, events.toReversed(), events.toSorted()]) {
      assert.deepEqual(
        orderEvents<Vector>(input).map((event) => event.event_id),
        expected_order,
      )
    }
  },
  'auth-token.json': ({ note: _, ...token }) => {
    const options = { at: at(token.iat), audience: 'vector-target-host', pins: anyone } as const
    sweep(token, (value) => verifyToken(value, options))
    assert.equal(checkOf(verifyToken(token, { ...options, at: at(token.exp) })), 'window')
    assert.equal(checkOf(verifyToken(token, { ...options, audience: 'vector-other-host' })), 'audience')
    assert.equal(checkOf(verifyToken({ ...token, exp: '2028-01-01T00:00:00Z' }, options)), 'signature')
  },
  'actor.json': ({ cases }) => {
    const verdicts = cases.map(({ allowed_actors, subject, actor = null }: Vector) =>
      isAllowedActor(allowed_actors, { subject, actor }, { unverified: 'accept' }),
    )
    assert.deepEqual(verdicts, [true, false, true, false, false, true])
    assert.deepEqual(verdicts, expectedOf(cases, 'allowed'))
  },
  'authorized-discovery.json': ({ cases }) => {
    const verdicts = cases.map(({ allowed_actors, caller }: Vector) => isVisible(allowed_actors, caller))
    assert.deepEqual(verdicts, [true, true, false, true, true])
    assert.deepEqual(verdicts, expectedOf(cases, 'visible'))
  },
  'policy-decision.json': ({ cases }) => {
    const decisions: PolicyDecision[] = cases.map(({ block_patterns, capability_id: capabilityId, input }: Vector) =>
      decideByPatterns(block_patterns, { capabilityId, input }),
    )
    assert.deepEqual(decisions, expectedOf(cases, 'decision'))
    assert.deepEqual(
      decisions.map(denialCodeOf),
      cases.map((item: Vector) => item.code ?? null),
    )
  },
  'output-schema.json': ({ cases }) => {
    const problems = cases.map(({ output_schema, result }: Vector) =>
      compileSchema(output_schema)(result).map(({ path, keyword }) => ({ path, keyword })),
    )
    assert.deepEqual(
      problems.map((found: unknown[]) => found.length === 0),
      expectedOf(cases, 'valid'),
    )
    assert.deepEqual(problems[1], [{ path: '', keyword: 'required' }])
    assert.deepEqual(problems[5], [{ path: '', keyword: 'type' }])
  },
  'version-negotiation.json': ({ cases }) => {
    assert.deepEqual(
      cases.map(({ version, spec }: Vector) => satisfies(version, spec)),
      expectedOf(cases, 'satisfies'),
    )
    assert.equal(cases.length, 15)
  },
}

/** Files of the data set that are not checked, and why. */
const skippedFiles: Readonly<Record<string, string>> = {
  'rekor-anchor.json': 'anchoring in a public transparency log is an optional feature we do not have',
  'adapter-provenance.json': 'we install no adapters of publishers',
  'store-head-monitor-report.json': 'we keep no reports of monitors',
}

/** Parts of checked files that are not checked, and why. */
const skippedParts: Readonly<Record<string, string>> = {
  'witness-quorum.json (count)': 'we verify and keep the statements of witnesses; their readers count them',
  'store-head-v2.json (root)': 'we answer with heads of the first scheme, which is checked over the same leaves',
  'store-head-inclusion.json, store-head-consistency.json (proof)': 'the same; the anchors in them are verified',
  'sealed-bundle.json (decryption)': 'we hide payloads by withholding them; the chain of the sealed bundle is verified',
  'sealed-bundle-v2.json (decryption)': 'the same, with several recipients',
}

describe.skipIf(folder === undefined)(
  'every published vector of the protocol behaves as its index says [H-81 H-82 H-83 H-84 H-26 H-31 H-33 H-79 F-09]',
  () => {
    for (const [file, check] of Object.entries(checks)) test(file, () => check(read(file)))

    test('no file of the data set is passed over in silence', () => {
      for (const [file, reason] of Object.entries({ ...skippedFiles, ...skippedParts }))
        console.log(`not checked: ${file}: ${reason}`)
      const files = readdirSync(folder ?? '', { recursive: true, encoding: 'utf8' }).filter((name) =>
        name.endsWith('.json'),
      )
      assert.equal(files.length, 42)
      assert.deepEqual(files.toSorted(), [...Object.keys(checks), ...Object.keys(skippedFiles)].toSorted())
    })
  },
)

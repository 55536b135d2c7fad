import assert from 'node:assert/strict'
import { test } from 'vitest'
import {
  copyOf,
  createdAt,
  draft,
  hostId,
  hostIdentity,
  hostKey,
  seal,
  sealFromStart,
  start,
  storyBundle,
  storyDrafts,
} from '../../../test/support/evidence.ts'
import {
  bundleOf,
  edited,
  faultOf,
  foreignOf,
  resigned,
  signedOver,
  verdictsOf,
} from '../../../test/support/evidence-lies.ts'
import { type Path, set } from '../../../test/support/evidence-tamper.ts'
import { stable } from '../../base/canonical.ts'
import { sha256 } from '../../base/hash.ts'
import { type EvidenceBundle, evidenceBundle } from '../../model/evidence.ts'
import { makeBundle, unsignedBundle } from '../bundle.ts'
import { payloadCommitment, rootHash } from '../event.ts'
import { makeSeal } from '../seal.ts'
import { checkNames } from './findings.ts'
import { type VerifyOptions, verifyBundle } from './verify.ts'

test('the report on a good bundle says what, whose and how much, and tells the story [H-85 F-09]', () => {
  const report = verifyBundle(storyBundle(), { pins: [hostKey.publicKey] })
  const { checks, story, ...rest } = report
  assert.deepEqual(rest, {
    valid: true,
    covered: 'yes',
    tier: 'signed',
    host_id: hostId,
    correlation_id: 'run-5521',
    key_id: '34750f98bd59fcfc',
    events: 6,
    first: null,
    first_broken_sequence: null,
  })
  assert.deepEqual(
    checks.map(({ name }) => name),
    checkNames,
  )
  assert.deepEqual(story[1], {
    sequence: 42,
    timestamp: '2026-06-16T15:00:00.000Z',
    event_type: 'execution_denied',
    capability_id: 'depot.release_batch',
    invocation_id: 'inv_7Q2',
    subject: 'stock-planner',
    actor: 'agent://stock-planner',
    outcome: 'denied',
    reason: 'approval_required',
    covered: true,
  })
  assert.deepEqual(
    story.map(({ subject, actor, outcome, reason }) => [subject, actor, outcome, reason]),
    [
      ['stock-planner', 'agent://stock-planner', null, null],
      ['stock-planner', 'agent://stock-planner', 'denied', 'approval_required'],
      [null, null, null, null],
      ['stock-planner', 'agent://stock-planner', null, null],
      ['stock-planner', 'agent://stock-planner', 'failure', 'TimeoutError'],
      ['stock-planner', 'agent://stock-planner', 'success', null],
    ],
  )
})

test('the report on a good bundle names every check, those that had nothing to look at too [H-85 F-09]', () => {
  const all = Object.fromEntries(checkNames.map((name) => [name, 'pass']))
  assert.deepEqual(verdictsOf(storyBundle()), { ...all, pin: 'absent', checkpoint: 'absent' })
  assert.deepEqual(verdictsOf(storyBundle(), { pins: [hostKey.publicKey] }), { ...all, checkpoint: 'absent' })
  const { checks } = verifyBundle(storyBundle())
  assert.deepEqual(checks[2], { name: 'hashes', verdict: 'pass', message: 'every content hash is that of its event' })
  assert.deepEqual(checks.at(-1), { name: 'checkpoint', verdict: 'absent', message: 'nothing to check' })
})

test('a bundle of another host is valid and not covered [H-85 F-09]', () => {
  const { events, ...bundle } = storyBundle()
  const plain = events.map((event) => ({
    ...event,
    payload: { note: 'mine' },
    payload_commitment: payloadCommitment({ note: 'mine' }),
  }))
  const foreign = foreignOf({ ...bundle, events: plain as never })
  const report = verifyBundle(foreign)
  assert.deepEqual([report.first, report.valid, report.covered], [null, true, 'no'])
  assert.equal(verdictsOf(foreign)['coverage'], 'absent')
  assert.equal(verdictsOf(foreign)['decision'], 'absent')
})

test('a bundle that is none is answered with its first problem, and nothing else is looked at [H-85 F-09]', () => {
  const report = verifyBundle({ ...storyBundle(), extra: 1 })
  assert.deepEqual(report, {
    valid: false,
    covered: 'no',
    tier: null,
    host_id: null,
    correlation_id: null,
    key_id: null,
    events: 0,
    checks: [
      { name: 'shape', verdict: 'fail', at: '/extra', message: 'is not a known member' },
      ...checkNames.slice(1).map((name) => ({ name, verdict: 'absent', message: 'nothing to check' })),
    ],
    first: { check: 'shape', at: '/extra', message: 'is not a known member' },
    first_broken_sequence: null,
    story: [],
  })
})

test('a bundle that is none is refused for each closed or required member by name, never by value [H-85 F-09]', () => {
  const cases: [Path, unknown][] = [
    [['host_id'], undefined],
    [['events'], []],
    [['events', 1, 'surprise'], 1],
    [['events', 0, 'sequence'], 'forty'],
    [['canonicalization'], 'chp-other-v1'],
    [['protocol_version'], '0.3'],
    [['public_key'], 'AAAA'],
  ]
  for (const [path, value] of cases) {
    const { first } = verifyBundle(edited(path, value))
    assert.deepEqual([first?.check, first?.at], ['shape', `/${path.join('/')}`])
  }
  assert.equal(verifyBundle(null).first?.at, '')
  const throwing = Object.defineProperty({}, 'events', { enumerable: true, get: () => assert.fail('read') })
  assert.deepEqual(verifyBundle(throwing).first, { check: 'shape', at: '', message: 'cannot be read' })
})

const unsigned = copyOf(unsignedBundle({ hostId, events: sealFromStart([draft()]), createdAt, asOfSequence: 1 }))

test('the tier below the one demanded is rejected; signed is demanded unless said [H-85]', () => {
  assert.equal(unsigned.assurance, 'hash-chain')
  assert.equal(faultOf(unsigned), 'tier /assurance: the bundle is not signed')
  assert.equal(faultOf(unsigned, { tier: 'signed' }), 'tier /assurance: the bundle is not signed')
  const report = verifyBundle(unsigned, { tier: 'hash-chain' })
  assert.deepEqual([report.first, report.covered, report.tier, report.key_id], [null, 'yes', 'hash-chain', null])
  assert.equal(faultOf(storyBundle(), { tier: 'hash-chain' }), null)
})

test('the tier must fit the members that make it [H-85]', () => {
  const { signature, public_key, host_identity } = storyBundle()
  const chain: VerifyOptions = { tier: 'hash-chain' }
  assert.equal(
    faultOf({ ...unsigned, assurance: 'signed' }, chain),
    'tier /public_key: a signed bundle has no `public_key`',
  )
  assert.equal(
    faultOf({ ...unsigned, assurance: 'signed', public_key }, chain),
    'tier /signature: a signed bundle has no `signature`',
  )
  assert.equal(faultOf({ ...unsigned, public_key }, chain), 'tier /public_key: an unsigned bundle has a `public_key`')
  assert.equal(faultOf({ ...unsigned, signature }, chain), 'tier /signature: an unsigned bundle has a `signature`')
  assert.equal(
    faultOf({ ...unsigned, host_identity }, chain),
    'tier /host_identity: an unsigned bundle has a `host_identity`',
  )
  assert.equal(
    faultOf({ ...storyBundle(), assurance: 'hash-chain' }, chain),
    'tier /public_key: an unsigned bundle has a `public_key`',
  )
})

test('a signature is checked even where none was demanded [H-85]', () => {
  const forged = { ...storyBundle(), created_at: '2026-06-16T18:00:00.001Z' }
  assert.equal(faultOf(forged, { tier: 'hash-chain' }), 'signature /signature/signature: the signature does not verify')
})

test('pins demand a key, so an unsigned bundle has none to show [H-85]', () => {
  const fault = 'pin /public_key: no pin leads to the key of the bundle'
  assert.equal(faultOf(unsigned, { tier: 'hash-chain', pins: [hostKey.publicKey] }), fault)
})

test('a changed member is found in the event it belongs to [H-82 H-85]', () => {
  for (const member of ['event_id', 'event_type', 'invocation_id', 'capability_id']) {
    const report = verifyBundle(edited(['events', 3, member], 'other'))
    assert.equal(report.first?.at, '/events/3/content_hash')
    assert.equal(report.first?.message, 'the content hash is not that of the event')
    assert.equal(report.first_broken_sequence, 44)
  }
  assert.equal(faultOf(edited(['events', 3, 'timestamp'], createdAt))?.startsWith('hashes /events/3/'), true)
  assert.equal(faultOf(edited(['events', 3, 'outcome'], 'success'))?.startsWith('hashes /events/3/'), true)
})

test('a changed payload is found by its commitment [H-82 H-85]', () => {
  const fault = 'commitments /events/3/payload_commitment: the payload is not the one committed to'
  assert.equal(faultOf(edited(['events', 3, 'payload', 'zone'], 'e')), fault)
  assert.equal(faultOf(edited(['events', 3, 'payload_commitment'], undefined))?.startsWith('hashes /events/3'), true)
  assert.equal(verdictsOf(edited(['events', 3, 'payload_commitment'], null))['commitments'], 'fail')
  assert.equal(
    faultOf(edited(['events', 3, 'payload', 'zone'], 0.5)),
    'commitments /events/3/payload: the payload has no canonical form',
  )
})

test('an event without hash fails, and an unknown scheme does [H-82 H-85]', () => {
  assert.equal(
    faultOf(edited(['events', 2, 'content_hash'], null)),
    'hashes /events/2/content_hash: the content hash is not that of the event',
  )
  assert.equal(
    faultOf(edited(['events', 2, 'hash_scheme'], 'chp-event-hash-v3')),
    'hashes /events/2/hash_scheme: the hash scheme is unknown',
  )
  assert.equal(verdictsOf(edited(['events', 2, 'hash_scheme'], null))['hashes'], 'fail')
})

test('what comes first in the chain is reported first, and its sequence [H-82 H-85]', () => {
  const twice = edited(['events', 4, 'event_id'], 'x', edited(['events', 1, 'prev_hash'], sha256('x')))
  const report = verifyBundle(twice)
  assert.deepEqual([report.first?.at, report.first_broken_sequence], ['/events/1/content_hash', 42])
  const wide = edited(['root_hash'], sha256('x'), edited(['events', 4, 'event_id'], 'x'))
  assert.equal(verifyBundle(wide).first?.at, '/events/4/content_hash')
  const rootOnly = verifyBundle(edited(['root_hash'], sha256('x')))
  assert.deepEqual([rootOnly.first?.check, rootOnly.first_broken_sequence], ['root', null])
  assert.deepEqual(rootOnly.first?.message, 'the root is not that of the content hashes')
})

test('an event must follow the one before [H-82 H-85]', () => {
  const checks = verifyBundle(edited(['events', 1, 'prev_hash'], null)).checks
  assert.deepEqual(checks[3], {
    name: 'chain',
    verdict: 'fail',
    at: '/events/1/prev_hash',
    message: 'the event does not follow the one before',
  })
  const { events, ...rest } = storyBundle()
  const headless = signedOver({ ...rest, events: events.slice(1) })
  assert.equal(faultOf(headless), 'chain /events/0/prev_hash: the event does not follow the one before')
})

test('all events are of the host and of one correlation [H-82 H-85]', () => {
  const elsewhere = makeSeal({ hostId: 'elsewhere', tenant: 'northlight' })
  const foreign = bundleOf(elsewhere([draft()], start))
  assert.equal(faultOf(foreign), 'chain /events/0/host_id: the event is of another host')
  const first = seal([draft()], start)
  const second = seal([draft({ correlation: { correlation_id: 'other' } })], {
    ...start,
    sequence: 1,
    tails: new Map([['other', first[0]?.contentHash ?? '']]),
  })
  const mixed = bundleOf([...first, ...second])
  assert.equal(faultOf(mixed), 'chain /events/1/correlation/correlation_id: the event is of another correlation')
})

test('the sequence rises, in all events or in none [H-82 H-85]', () => {
  const at = (sequence: number) => ({ ...start, sequence })
  const one = seal([draft()], at(5))
  const two = (sequence: number) =>
    seal([draft({ event_id: 'evt_2' })], {
      ...at(sequence),
      tails: new Map([['run-5521', one[0]?.contentHash ?? '']]),
    })
  assert.equal(faultOf(bundleOf([...one, ...two(6)], 99)), null)
  const fault = 'sequence /events/1/sequence: the sequence does not rise'
  assert.equal(faultOf(bundleOf([...one, ...two(5)], 99)), fault)
  assert.equal(faultOf(bundleOf([...one, ...two(3)], 99)), fault)
  const half = copyOf(foreignOf(storyBundle()))
  delete (half.events[3] as { sequence?: number }).sequence
  assert.equal(faultOf(half), 'sequence /events/3/sequence: the sequence does not rise')
})

const v1 = (payload: object, more: object = {}) => {
  const {
    payload_commitment: _,
    hash_scheme: __,
    ...event
  } = storyBundle().events[0] as never as Record<string, unknown>
  const body = { ...event, payload, ...more } as never as EvidenceBundle['events'][number]
  const header = {
    event_id: body.event_id,
    event_type: body.event_type,
    invocation_id: body.invocation_id,
    capability_id: body.capability_id,
    host_id: body.host_id,
    correlation_id: body.correlation.correlation_id,
    timestamp: body.timestamp,
    outcome: body.outcome,
    payload,
    prev_hash: null,
  }
  return signedOver({ ...storyBundle(), events: [{ ...body, content_hash: sha256(stable(header as never)) }] })
}

test('events of version 1 of the hash cover the payload itself, which therefore cannot be withheld [H-82]', () => {
  assert.equal(faultOf(v1({ note: 'x' })), null)
  const withheld = v1({ note: 'x' })
  set(withheld, ['events', 0, 'payload'], { chp_withheld: true })
  assert.equal(verdictsOf(withheld)['hashes'], 'fail')
})

test('events of version 1 of the hash may show a commitment, if it is the right one [H-82]', () => {
  assert.equal(faultOf(v1({ note: 'x' }, { payload_commitment: payloadCommitment({ note: 'x' }) })), null)
  assert.equal(
    faultOf(v1({ note: 'x' }, { payload_commitment: sha256('x') })),
    'commitments /events/0/payload_commitment: the payload is not the one committed to',
  )
})

test('a cut tail, honestly re-rooted, does not fit its completeness [H-83]', () => {
  const { events, ...rest } = storyBundle()
  const cut = events.slice(0, -1)
  const short = { ...rest, events: cut, root_hash: rootHash(cut.map((event) => event.content_hash ?? '')) }
  assert.equal(verdictsOf(short)['completeness'], 'fail')
  assert.equal(verdictsOf(resigned(short))['completeness'], 'fail')
  assert.equal(faultOf(resigned(short)), 'completeness /completeness/head_hash: the last event is not the head')
})

test('a bundle has no events from after its export, and is about its own correlation [H-83]', () => {
  const wrong = (fields: object): EvidenceBundle => {
    const bundle = storyBundle()
    return resigned({ ...bundle, completeness: { ...bundle.completeness, ...fields } })
  }
  assert.equal(
    faultOf(wrong({ as_of_sequence: 45 })),
    'completeness /completeness/as_of_sequence: the bundle has events from after its export',
  )
  assert.equal(faultOf(wrong({ as_of_sequence: 46 })), null)
  assert.equal(
    faultOf(wrong({ correlation_id: 'other' })),
    'completeness /completeness/correlation_id: the completeness is of another correlation',
  )
})

test('making a bundle gives the shape we promise, signed or not [H-83 F-09]', () => {
  const bundle = storyBundle()
  assert.deepEqual(evidenceBundle.parse(bundle), bundle)
  assert.deepEqual(bundle.completeness, {
    scheme: 'chp-completeness-v1',
    correlation_id: 'run-5521',
    as_of_sequence: 50,
    head_hash: bundle.events[5]?.content_hash,
  })
  assert.equal(bundle.root_hash, sha256(bundle.events.map((event) => `${event.content_hash}\n`).join('')))
  const events = sealFromStart(storyDrafts())
  const unsigned = unsignedBundle({ hostId, events, createdAt, asOfSequence: 6, identity: hostIdentity() })
  assert.deepEqual(
    Object.keys(unsigned).filter((name) => /key|signature|identity/.test(name)),
    [],
  )
  const anonymous = makeBundle({ hostId, events, createdAt, asOfSequence: 6 }, hostKey)
  assert.equal('host_identity' in anonymous, false)
})

test('making a bundle needs an event, and all of their hashes [H-83 F-09]', () => {
  const events = sealFromStart([draft()])
  const parts = { hostId, createdAt, asOfSequence: 1 }
  assert.throws(() => makeBundle({ ...parts, events: [] }, hostKey), { code: 'correlation.not_found' })
  const [event] = events
  assert.throws(() => makeBundle({ ...parts, events: [{ ...event, contentHash: '' } as never] }, hostKey), {
    code: 'bundle.invalid',
  })
})

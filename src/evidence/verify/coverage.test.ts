import assert from 'node:assert/strict'
import { test } from 'vitest'
import { copyOf, hostKey, storyBundle } from '../../../test/support/evidence.ts'
import { edited, faultOf, foreignOf, resigned, rewritten, verdictsOf } from '../../../test/support/evidence-lies.ts'
import type { Path } from '../../../test/support/evidence-tamper.ts'
import { canonical } from '../../base/canonical.ts'
import { evidenceBundle } from '../../model/evidence.ts'
import { withhold } from '../withhold.ts'
import { verifyBundle } from './verify.ts'

const covered: [string, Path, unknown][] = [
  ['sequence', ['sequence'], 45],
  ['redacted', ['redacted'], false],
  ['capability_version', ['capability_version'], '2.1.1'],
  ['assurance', ['assurance'], { level: 'S1' }],
  ['assurance', ['assurance'], { level: 'S2', notes: [] }],
  ['subject', ['subject', 'id'], 'another'],
  ['subject', ['subject', 'verified'], false],
  ['subject', ['subject', 'more'], 1],
  ['subject', ['subject'], null],
  ['correlation', ['correlation', 'causation_id'], 'inv_0'],
  ['correlation', ['correlation', 'environment'], 'prod'],
  ['correlation', ['correlation', 'trace_id'], undefined],
  ['denial', ['denial'], { code: 'policy_blocked', message: 'no', retryable: false }],
  ['error', ['error'], { type: 'Error', message: 'no' }],
  ['outcome', ['outcome'], undefined],
  ['admission', ['admission'], { by: 'x' }],
  ['execution_id', ['execution_id'], 'x'],
  ['action_digest', ['action_digest'], null],
  ['invocation_digest', ['invocation_digest'], 'x'],
]

test('each member the hash of the protocol leaves out is compared with the record [H-86]', () => {
  for (const [member, path, value] of covered) {
    const report = verifyBundle(edited(['events', 3, ...path], value))
    assert.deepEqual(
      report.checks.find(({ name }) => name === 'coverage'),
      {
        name: 'coverage',
        verdict: 'fail',
        at: `/events/3/${member}`,
        message: `\`${member}\` is not what the record says`,
      },
    )
    assert.deepEqual([report.valid, report.covered], [false, 'no'])
  }
})

test('a member we always write must be there, null or not [H-86]', () => {
  for (const member of [
    'prev_hash',
    'outcome',
    'sequence',
    'redacted',
    'assurance',
    'subject',
    'denial',
    'error',
    'capability_version',
  ]) {
    const report = verifyBundle(edited(['events', 0, member], undefined))
    assert.equal(report.checks.find(({ name }) => name === 'coverage')?.at, `/events/0/${member}`)
  }
})

test('of a denial and an error the word and the whole are compared [H-86]', () => {
  const denial = 'coverage /events/1/denial: `denial` is not what the record says'
  assert.equal(faultOf(edited(['events', 1, 'denial', 'message'], 'other')), denial)
  assert.equal(faultOf(edited(['events', 1, 'denial', 'details', 'wait_ratio'], 0.25)), denial)
  assert.equal(faultOf(edited(['events', 1, 'denial'], null)), denial)
  const error = 'coverage /events/4/error: `error` is not what the record says'
  assert.equal(faultOf(edited(['events', 4, 'error', 'type'], 'Error')), error)
  assert.equal(faultOf(edited(['events', 4, 'error', 'status'], 500)), error)
  assert.equal(faultOf(edited(['events', 4, 'error'], null)), error)
})

test('a record that tells another code than the denial is caught, even when the host signed it [H-86]', () => {
  for (const [event, reason, word] of [
    [1, 'denial', 'code'],
    [4, 'error', 'type'],
  ] as const) {
    const bundle = rewritten(storyBundle(), event, (decision) => ({
      ...decision,
      [reason]: { ...(decision[reason] as object), [word]: 'another' },
    }))
    assert.equal(faultOf(bundle), `coverage /events/${event}/${reason}: \`${reason}\` is not what the record says`)
  }
})

test('a record that is not well formed is caught, even when the host signed it [H-86]', () => {
  const bundle = rewritten(storyBundle(), 2, ({ tenant: _, ...decision }) => decision)
  assert.equal(faultOf(bundle), 'decision /events/2/payload/decision: the call record is not well formed')
  assert.equal(verifyBundle(bundle).covered, 'no')
  assert.equal(
    faultOf(rewritten(storyBundle(), 2, (decision) => ({ ...decision, extra: 1 })))?.startsWith('decision '),
    true,
  )
})

test('a record without assurance stands for the lowest level [H-86]', () => {
  const older = (level: string | undefined) =>
    rewritten(
      edited(['events', 3, 'assurance'], level && { level }) as never,
      3,
      ({ assurance: _, ...decision }) => decision,
    )
  const fault = 'coverage /events/3/assurance: `assurance` is not what the record says'
  assert.deepEqual([faultOf(older('S1')), faultOf(older(undefined)), faultOf(older('S2'))], [null, null, fault])
  assert.equal(verifyBundle(older('S1')).covered, 'yes')
})

test('all events are of one tenant [H-86]', () => {
  const bundle = rewritten(storyBundle(), 2, (decision) => ({ ...decision, tenant: 'elsewhere' }))
  assert.equal(faultOf(bundle), 'coverage /events/2/payload/decision/tenant: the event is of another tenant')
})

test('a record of another scheme is none; among covered events that is a fault [H-86]', () => {
  const bundle = rewritten(storyBundle(), 2, (decision) => ({ ...decision, v: 'ambit-decision-v0' }))
  assert.equal(faultOf(bundle), 'coverage /events: some events have a call record and others have none')
  for (const decision of ['x', null, [], { v: 'other' }]) {
    assert.equal(faultOf(rewritten(storyBundle(), 2, () => decision as never))?.startsWith('coverage /events:'), true)
  }
})

test('a bundle with records must have completeness and identity, so that stripping them is seen [H-86]', () => {
  const { completeness: _, ...bare } = storyBundle()
  assert.equal(faultOf(resigned(bare as never)), 'coverage /completeness: the completeness is missing')
  const { host_identity: __, ...anonymous } = storyBundle()
  assert.equal(faultOf(anonymous), 'coverage /host_identity: the host identity is missing')
  assert.equal(verifyBundle(anonymous).covered, 'no')
})

test('a withheld payload leaves hashes, root and signature standing, and says what is not covered [H-83 H-63]', () => {
  const one = withhold(storyBundle(), (event) => event.sequence === 43)
  const all = withhold(storyBundle())
  for (const bundle of [one, all]) {
    const report = verifyBundle(copyOf(bundle), { pins: [hostKey.publicKey] })
    assert.deepEqual([report.first, report.valid, report.covered], [null, true, 'withheld'])
    assert.equal(evidenceBundle.safeParse(bundle).success, true)
  }
  assert.deepEqual(
    one.events.map((event) => 'chp_withheld' in event.payload),
    [false, false, true, false, false, false],
  )
  assert.equal(
    all.events.every((event) => canonical(event.payload as never) === '{"chp_withheld":true}'),
    true,
  )
  assert.equal(faultOf(edited(['events', 3, 'subject', 'id'], 'x', one))?.startsWith('coverage '), true)
})

test('of a withheld event everything goes that no hash covers, but for its place [H-83 H-63]', () => {
  const bundle = storyBundle()
  const [, denied] = bundle.events
  const [, hidden] = withhold(bundle).events
  assert.deepEqual(hidden, {
    ...denied,
    payload: { chp_withheld: true },
    correlation: { correlation_id: 'run-5521' },
    redacted: true,
    assurance: { level: 'S1' },
    subject: null,
    denial: null,
    error: null,
    capability_version: null,
  })
})

const unproven: readonly [string, unknown][] = [
  ['subject', { id: 'eve' }],
  ['denial', { code: 'policy_blocked' }],
  ['error', { type: 'Error' }],
  ['capability_version', '2.1.0'],
  ['correlation', { correlation_id: 'run-5521', causation_id: 'inv_0' }],
  ['assurance', { level: 'S3' }],
  ['redacted', false],
  ['admission', { by: 'x' }],
  ['execution_id', 'x'],
]

test('a withheld event among covered ones that still says who, why or what is a fault [H-83 H-63]', () => {
  for (const marker of [{ chp_withheld: true }, { chp_sealed: { ct: 'x' } }]) {
    const hidden = edited(
      ['events', 3, 'payload'],
      marker,
      withhold(storyBundle(), ({ sequence }) => sequence === 44),
    )
    assert.equal(faultOf(hidden), null)
    for (const [member, value] of unproven) {
      assert.equal(
        faultOf(edited(['events', 3, member], value, hidden)),
        `coverage /events/3/${member}: \`${member}\` of a withheld event is covered by nothing and must be empty`,
      )
    }
    for (const sequence of [43, 45, undefined]) {
      assert.equal(faultOf(edited(['events', 3, 'sequence'], sequence, hidden))?.startsWith('sequence '), true)
    }
  }
})

test('where every payload is withheld, an event that still says who, why or what is a fault too [H-83 H-63 H-86]', () => {
  for (const marker of [{ chp_withheld: true }, { chp_sealed: { ct: 'x' } }]) {
    const { events, ...header } = withhold(storyBundle())
    const hidden = { ...header, events: events.map((event) => ({ ...event, payload: marker })) }
    assert.equal(faultOf(hidden), null)
    for (const [member, value] of unproven) {
      const report = verifyBundle(edited(['events', 3, member], value, hidden), { pins: [hostKey.publicKey] })
      assert.deepEqual([report.valid, report.covered, report.first?.at], [false, 'no', `/events/3/${member}`])
      assert.equal(report.story[3]?.subject, null)
    }
  }
})

test('another host may withhold all payloads and still name people; the report names none [H-83 H-86]', () => {
  const { completeness: _, ...bare } = storyBundle()
  const foreign = resigned({ ...bare, events: bare.events.map(withoutPayload) } as never)
  const seconds = withhold({ ...storyBundle(), created_at: '2026-06-16T15:00:00Z' })
  const timed = edited(['events', 1, 'subject'], { id: 'eve' }, resigned(seconds))
  for (const bundle of [foreign, timed]) {
    const report = verifyBundle(copyOf(bundle), { pins: [hostKey.publicKey] })
    assert.deepEqual([report.first, report.valid, report.covered], [null, true, 'no'])
    for (const { subject, reason, sequence } of report.story)
      assert.deepEqual([subject, reason, sequence], [null, null, null])
  }
})

const withoutPayload = (event: object) => ({ ...event, payload: { chp_withheld: true } })

test('what is withheld is neither passed over nor told [H-83 H-63]', () => {
  const one = verifyBundle(withhold(storyBundle(), ({ sequence }) => sequence === 42))
  const checks = new Map(one.checks.map(({ name, verdict, message }) => [name, `${verdict}: ${message}`]))
  assert.equal(checks.get('commitments'), 'absent: checked for 5 of 6 events, the payloads of the others are withheld')
  assert.equal(checks.get('decision'), 'absent: checked for 5 of 6 events, the payloads of the others are withheld')
  assert.equal(checks.get('coverage'), 'absent: checked for 5 of 6 events, the payloads of the others are withheld')
  assert.deepEqual(
    one.story.map(({ covered }) => covered),
    [true, false, true, true, true, true],
  )
  const { sequence, subject, actor, reason, outcome } = one.story[1] ?? assert.fail()
  assert.deepEqual([sequence, subject, actor, reason, outcome], [null, null, null, null, 'denied'])
  // Even in a bundle that is not good the report takes no name from such an event.
  const renamed = edited(
    ['events', 1, 'subject'],
    { id: 'eve' },
    withhold(storyBundle(), (event) => event.sequence === 42),
  )
  assert.equal(verifyBundle(renamed).story[1]?.subject, null)
  assert.equal(verifyBundle(renamed).first_broken_sequence, 42)
})

test('without any record nothing is covered, and the story says so line by line [H-83 H-63]', () => {
  for (const bundle of [withhold(storyBundle()), foreignOf(storyBundle())]) {
    const { story, checks } = verifyBundle(bundle)
    assert.equal(
      story.some(({ covered }) => covered),
      false,
    )
    assert.equal(checks.find(({ name }) => name === 'coverage')?.verdict, 'absent')
  }
  assert.equal(verifyBundle(foreignOf(storyBundle())).story[0]?.subject, 'stock-planner')
})

test('only the exact markers stand in for a payload [H-83 H-63]', () => {
  for (const payload of [
    { chp_withheld: false },
    { chp_withheld: 'true' },
    { chp_withheld: true, more: 1 },
    { chp_sealed: {}, more: 1 },
    {},
  ]) {
    assert.equal(verdictsOf(edited(['events', 3, 'payload'], payload))['commitments'], 'fail', JSON.stringify(payload))
  }
  const one = withhold(storyBundle(), ({ sequence }) => sequence === 44)
  assert.equal(verifyBundle(edited(['events', 3, 'payload'], { chp_sealed: { ct: 'x' } }, one)).covered, 'withheld')
  const uncommitted = edited(['events', 3, 'payload_commitment'], null, withhold(storyBundle()))
  assert.equal(verdictsOf(uncommitted)['commitments'], 'fail')
})

test('a cleared payload takes its hash with it, and the correlation no longer verifies [H-83 H-63]', () => {
  const bundle = storyBundle()
  const [, , , event] = bundle.events
  const cleared = { ...event, payload: {}, payload_commitment: null, content_hash: null, redacted: true }
  const touched = copyOf({ ...bundle, events: bundle.events.with(3, cleared as never) })
  assert.equal(evidenceBundle.safeParse(touched).success, true)
  assert.equal(verifyBundle(touched).valid, false)
  assert.equal(verifyBundle(touched).first_broken_sequence, 44)
})

import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import {
  copyOf,
  createdAt,
  draft,
  hostId,
  hostIdentity,
  hostKey,
  naiveRoot,
  seal,
  sealFromStart,
  start,
  storyDrafts,
  tenant,
} from '../../test/support/evidence.ts'
import { drafts } from '../../test/support/evidence-arbitrary.ts'
import { canonical, type Json, stable } from '../base/canonical.ts'
import { Failure } from '../base/failure.ts'
import { objectHash, sha256 } from '../base/hash.ts'
import { limits } from '../base/limits.ts'
import { evidenceEvent } from '../model/evidence.ts'
import { makeBundle } from './bundle.ts'
import { appendLeaf, leafOf, logRoot, logSize } from './log.ts'
import { makeSeal } from './seal.ts'
import { verifyBundle } from './verify/verify.ts'

// biome-ignore lint/suspicious/noExplicitAny: the body of an event is read as plain JSON
const bodies = (sealed: ReturnType<typeof seal>): any[] => sealed.map((event) => JSON.parse(event.body))

test('a sealed event is the whole event, with its record, in the shape we promise [H-82 H-86 F-09]', () => {
  const [body] = bodies(seal([draft({ payload: { zone: 'é' } })], { ...start, sequence: 6 }))
  assert.deepEqual(body, {
    event_id: 'evt_1',
    event_type: 'execution_started',
    invocation_id: 'inv_7Q2',
    capability_id: 'depot.release_batch',
    host_id: hostId,
    timestamp: '2026-06-16T15:00:00.000Z',
    outcome: null,
    correlation: { correlation_id: 'run-5521', causation_id: null, parent_correlation_id: null, trace_id: null },
    payload: {
      zone: 'é',
      decision: {
        v: 'ambit-decision-v1',
        seq: 7,
        tenant,
        redacted: true,
        assurance: { level: 'S1' },
        capability_version: '2.1.0',
        subject: { id: 'stock-planner', type: 'api_key', verified: true, tenant },
        actor: { id: 'agent://stock-planner', type: 'agent' },
        correlation: { causation_id: null, parent_correlation_id: null, trace_id: null },
        denial: null,
        error: null,
      },
    },
    sequence: 7,
    redacted: true,
    assurance: { level: 'S1' },
    content_hash: body.content_hash,
    prev_hash: null,
    hash_scheme: 'chp-event-hash-v2',
    payload_commitment: sha256(stable(body.payload)),
    subject: { id: 'stock-planner', type: 'api_key', verified: true, tenant },
    denial: null,
    error: null,
    capability_version: '2.1.0',
  })
  assert.equal(evidenceEvent.safeParse(body).success, true)
})

test('a sealed event is written with sorted members, so that it can be served as it is stored [H-82 H-86 F-09]', () => {
  const story = sealFromStart(storyDrafts())
  for (const { body } of story) {
    const { denial, error, ...event } = JSON.parse(body)
    const withoutReasons = body.replace(/"denial": .*?, "error": (null|\{.*?\}), "event_id"/, '"event_id"')
    assert.equal(withoutReasons, stable(event))
    assert.equal(body.includes(`"denial": ${canonical(denial)}, "error": ${canonical(error)}, "event_id"`), true)
  }
})

test('a sealed event has the hash of the protocol over its named members [H-82 H-86 F-09]', () => {
  for (const body of bodies(sealFromStart(storyDrafts()))) {
    const header = {
      event_id: body.event_id,
      event_type: body.event_type,
      invocation_id: body.invocation_id,
      capability_id: body.capability_id,
      host_id: body.host_id,
      correlation_id: body.correlation.correlation_id,
      timestamp: body.timestamp,
      outcome: body.outcome,
      payload_commitment: sha256(stable(body.payload)),
      prev_hash: body.prev_hash,
    }
    assert.equal(body.content_hash, sha256(stable(header)))
  }
})

test('a sealed event repeats in its columns what stands in its body [H-82 H-86 F-09]', () => {
  const sealed = sealFromStart(storyDrafts())
  assert.deepEqual(
    sealed.map(({ body: _, ...columns }) => columns),
    bodies(sealed).map((body) => ({
      sequence: body.sequence,
      eventId: body.event_id,
      eventType: body.event_type,
      invocationId: body.invocation_id,
      capabilityId: body.capability_id,
      correlationId: body.correlation.correlation_id,
      timestamp: body.timestamp,
      outcome: body.outcome,
      subjectId: body.subject?.id ?? null,
      contentHash: body.content_hash,
    })),
  )
})

test('a sealed event holds of denial and error the word people ask for, and the digest of the whole [H-82 H-86 F-09]', () => {
  const [, denied, , , failed] = bodies(sealFromStart(storyDrafts()))
  assert.deepEqual(denied.payload.decision.denial, { code: 'approval_required', digest: objectHash(denied.denial) })
  assert.equal(denied.denial.details.wait_ratio, 0.5)
  assert.deepEqual(failed.payload.decision.error, { type: 'TimeoutError', digest: objectHash(failed.error) })
  assert.deepEqual([denied.error, failed.denial, failed.payload.decision.denial], [null, null, null])
})

test('a sealed event carries the level of assurance it was given [H-82 H-86 F-09]', () => {
  const [body] = bodies(sealFromStart([draft({ assurance: 'S3' })]))
  assert.deepEqual([body.assurance, body.payload.decision.assurance], [{ level: 'S3' }, { level: 'S3' }])
})

test('a sealed event carries every further member of the record [H-82 H-86 F-09]', () => {
  const run = {
    run_id: 'run_1',
    tool_call_id: 'tool_1',
    policy_decision_id: null,
    approval_mode_effective: 'ask',
    grants: ['gr_1'],
    ceilings: { memory: 'read' },
    provider: 'memory',
    mode: 'live',
    surface: `sha256:${'e'.repeat(64)}`,
    scopes: ['acme'],
  }
  const [first] = storyDrafts()
  const [body] = bodies(sealFromStart([draft({ record: { ...first?.record, run } })]))
  const { v, seq, tenant: _, redacted, assurance, capability_version, ...rest } = body.payload.decision
  const { subject, actor, correlation, denial, error, ...further } = rest
  assert.deepEqual(further, { ...first?.record, run })
  assert.equal(evidenceEvent.safeParse(body).success, true)
})

test('a batch of drafts is numbered without gaps after the last number given out [F-09 F-13]', () => {
  const sealed = seal(storyDrafts(), { ...start, sequence: 40 })
  assert.deepEqual(
    sealed.map((event) => event.sequence),
    [41, 42, 43, 44, 45, 46],
  )
})

test('a batch of drafts is chained per correlation, from the tails it was given [F-09 F-13]', () => {
  const of = (id: string, event: string) => draft({ event_id: event, correlation: { correlation_id: id } })
  const tail = 'f'.repeat(64)
  const sealed = seal([of('a', '1'), of('b', '2'), of('a', '3'), of('c', '4')], {
    ...start,
    tails: new Map([['b', tail]]),
  })
  const [first, second, third, fourth] = bodies(sealed)
  assert.deepEqual(
    [first.prev_hash, second.prev_hash, third.prev_hash, fourth.prev_hash],
    [null, tail, first.content_hash, null],
  )
})

test('a batch of drafts seals alike in one go and one by one [F-09 F-13]', () => {
  const whole = sealFromStart(storyDrafts())
  let at = { sequence: 0, tails: new Map<string, string>() }
  const single = storyDrafts().flatMap((one) => {
    const events = seal([one], at)
    const [event] = events
    at = { sequence: at.sequence + 1, tails: new Map([['run-5521', event?.contentHash ?? '']]) }
    return events
  })
  assert.deepEqual(single, whole)
})

test('a batch of drafts grows the log by one leaf for each event [F-09 F-13]', () => {
  const events = seal(storyDrafts(), start)
  const log = events.map(leafOf).reduce(appendLeaf, '')
  const leaves = events.map(({ sequence, correlationId, contentHash }) =>
    canonical({ sequence, correlation_id: correlationId, content_hash: contentHash }),
  )
  assert.equal(logSize(log), 6)
  assert.equal(logRoot(log), naiveRoot(leaves))
})

test('a batch of drafts of none changes nothing [F-09 F-13]', () => {
  assert.deepEqual(seal([], { ...start, sequence: 9 }), [])
})

test('the member `decision` is refused, whatever it holds [H-10 H-81 F-09]', () => {
  for (const decision of [null, {}, 'allow']) {
    assert.throws(
      () => sealFromStart([draft({ payload: { decision } })]),
      (error: unknown) => error instanceof Failure && error.code === 'field.invalid',
    )
  }
})

test('members are sorted by code point around the record, absent ones are left out [H-10 H-81 F-09]', () => {
  const payload: Record<string, Json> = { '\u{1F512}': 1, '\uFFFD': 2, zone: 3, alpha: 4 }
  const events = sealFromStart([draft({ payload: { ...payload, gone: undefined as never } })])
  const body = events[0]?.body ?? ''
  const order = ['"alpha"', '"decision"', '"zone"', '"\\ufffd"', '"\\ud83d\\udd12"'].map((key) =>
    body.indexOf(`${key}: `),
  )
  assert.deepEqual(
    order,
    order.toSorted((a, b) => a - b),
  )
  assert.equal(order.includes(-1), false)
  assert.equal(body.includes('gone'), false)
})

test('fractions become their shortest text, inside and outside the record alike [H-10 H-81 F-09]', () => {
  const [body] = bodies(
    sealFromStart([
      draft({
        payload: { score: 0.1, list: [1, 2.5, { deep: -0.25 }], whole: 3 },
        subject: { id: 's', share: 0.5 },
        correlation: { correlation_id: 'c', baggage: { rate: 1.5, n: 2 } },
        record: { context: [{ name: 'x', source: 'payload:/x', state: 'present', sensitive: false, value: 0.75 }] },
      }),
    ]),
  )
  const { decision, ...payload } = body.payload
  assert.deepEqual(payload, { score: '0.1', list: [1, '2.5', { deep: '-0.25' }], whole: 3 })
  assert.deepEqual(
    [body.subject, decision.subject],
    [
      { id: 's', share: '0.5' },
      { id: 's', share: '0.5' },
    ],
  )
  assert.deepEqual(body.correlation.baggage, { rate: '1.5', n: 2 })
  assert.deepEqual(decision.correlation.baggage, { rate: '1.5', n: 2 })
  assert.equal(decision.context[0].value, '0.75')
})

test('what has no canonical form at all is refused [H-10 H-81 F-09]', () => {
  const cycle: Record<string, unknown> = {}
  cycle['self'] = cycle
  const nested = { fraction: 0.5, inner: [new Date(0)] }
  for (const value of [2 ** 53, Number.NaN, Number.POSITIVE_INFINITY, '\ud800', new Date(0), nested, cycle]) {
    assert.throws(
      () => sealFromStart([draft({ payload: { value: value as never } })]),
      (error: unknown) => error instanceof Failure && error.code === 'canonical.unsupported',
    )
  }
})

test('what is sealed verifies and is covered, whatever the drafts hold [F-09 H-86]', () => {
  fc.assert(
    fc.property(drafts, (some) => {
      const events = sealFromStart(some)
      const asOfSequence = events.length
      const bundle = makeBundle({ hostId, events, createdAt, asOfSequence, identity: hostIdentity() }, hostKey)
      const report = verifyBundle(copyOf(bundle), { pins: [hostKey.publicKey] })
      assert.deepEqual([report.first, report.covered, report.events], [null, 'yes', events.length])
    }),
    { numRuns: 150 },
  )
})

test('the same drafts at the same place seal to the same events, and another host to others [F-09]', () => {
  assert.deepEqual(sealFromStart(storyDrafts()), sealFromStart(storyDrafts()))
  const other = makeSeal({ hostId: 'elsewhere', tenant })([draft()], start)
  const otherTenant = makeSeal({ hostId, tenant: 'elsewhere' })([draft()], start)
  const hashes = [sealFromStart([draft()]), other, otherTenant].map(([sealed]) => sealed?.contentHash)
  assert.equal(new Set(hashes).size, 3)
})

test('an event that is too long once it is sealed is refused, and takes no place in the chain [H-80]', () => {
  const long = draft({ payload: { text: 'é'.repeat(limits.eventBytesMax / 6) } })
  assert.throws(() => seal([draft(), long], start), { code: 'payload.too_large' })
  assert.equal(seal([draft({ payload: { text: 'é'.repeat(limits.eventBytesMax / 7) } })], start).length, 1)
})

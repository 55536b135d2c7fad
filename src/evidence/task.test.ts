import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { copyOf, createdAt, draft, hostKey, signatory, signerOf, storyBundle } from '../../test/support/evidence.ts'
import { verifyAttestation } from '../../test/support/evidence-dsse.ts'
import { type OrderedEvent, orderEvents } from '../../test/support/evidence-order.ts'
import { tamperings } from '../../test/support/evidence-tamper.ts'
import { makeTaskBundle, taskRoot, verifyTaskBundle } from '../../test/support/evidence-task.ts'
import { canonical } from '../base/canonical.ts'
import { sha256 } from '../base/hash.ts'
import type { EventDraft, EvidenceBundle } from '../model/evidence.ts'
import { makeAttestation, makeBundle, unsignedBundle } from './bundle.ts'
import { makeSeal } from './seal.ts'
import type { Verified } from './statements/statement.ts'

const outcome = (verified: Verified<unknown>): string => (verified.ok ? 'ok' : verified.check)

const correlation = (causation_id: string | null) => ({ correlation_id: 'task-1', causation_id })

function bundleOf(name: string, seed: number, drafts: Partial<EventDraft>[], signed = true): EvidenceBundle {
  const seal = makeSeal({ hostId: name, tenant: name })
  const events = seal(
    drafts.map((fields, index) => draft({ event_id: `${name}-${index}`, correlation: correlation(null), ...fields })),
    { sequence: 0, tails: new Map() },
  )
  const { signer, identity } = signatory(name, seed)
  const parts = { hostId: name, events, createdAt, asOfSequence: events.length }
  return copyOf(signed ? makeBundle({ ...parts, identity }, signer) : unsignedBundle(parts))
}

const a = bundleOf('host-a', 1, [
  { invocation_id: 'inv-a' },
  { invocation_id: 'inv-a', event_type: 'task_participants_declared', payload: { participants: ['host-a', 'host-b'] } },
])
const b = bundleOf('host-b', 2, [{ invocation_id: 'inv-b', correlation: correlation('inv-a') }])
const aggregator = signatory('gateway', 3)

const task = copyOf(makeTaskBundle({ bundles: [b, a], createdAt }, aggregator))

test('a task bundle joins the bundles in order of host and root [H-79 H-82]', () => {
  assert.deepEqual(
    task.bundles.map((bundle) => bundle.host_id),
    ['host-a', 'host-b'],
  )
  assert.equal(task.task_root_hash, sha256(`${a.root_hash}\n${b.root_hash}\n`))
  assert.deepEqual([task.correlation_id, task.assurance, task.kind], ['task-1', 'signed', 'task-bundle'])
  const verified = verifyTaskBundle(task)
  assert.deepEqual(verified.ok && verified.value.map(({ host_id, covered }) => [host_id, covered]), [
    ['host-a', 'yes'],
    ['host-b', 'yes'],
  ])
  assert.equal(makeTaskBundle({ bundles: [a], createdAt }).aggregator, undefined)
})

test('a task bundle is void after any change, where an aggregator is demanded [H-79 H-82]', () => {
  for (const { value, kind, path } of tamperings(task)) {
    // What is inside a member is the business of its own verification.
    if (path[0] === 'bundles' && path.length > 3) continue
    assert.equal(verifyTaskBundle(value, { aggregators: 'any' }).ok, false, `${kind} ${path.join('/')}`)
  }
  for (const garbage of [null, [], 'x', {}]) assert.equal(outcome(verifyTaskBundle(garbage)), 'shape')
})

test('a task bundle has all members, each valid, of one correlation, in order and once [H-79 H-82]', () => {
  const of = (bundles: EvidenceBundle[], fields: object = {}) =>
    outcome(verifyTaskBundle({ ...makeTaskBundle({ bundles, createdAt }), ...fields }))
  assert.equal(of([a, b]), 'ok')
  assert.equal(of([a, { ...b, created_at: '2026-06-16T18:00:00.001Z' }]), 'members')
  assert.equal(of([a, b], { correlation_id: 'task-2' }), 'members')
  assert.equal(of([a, b], { bundles: [b, a] }), 'order')
  assert.equal(of([a, b, b]), 'order')
  assert.equal(of([a, b], { task_root_hash: sha256('x') }), 'root')
  assert.equal(of([b]), 'closure')
  assert.equal(of([a]), 'participants')
  const undeclared = bundleOf('host-c', 1, [
    { event_type: 'task_participants_declared', payload: { participants: 'all' } },
  ])
  assert.equal(of([undeclared]), 'participants')
  assert.equal(taskRoot([]), sha256(''))
})

test('a task bundle is as good as the lowest of its members [H-79 H-82]', () => {
  const unsigned = bundleOf('host-b', 2, [{ invocation_id: 'inv-b' }], false)
  const mixed = copyOf(makeTaskBundle({ bundles: [a, unsigned], createdAt }))
  assert.equal(mixed.assurance, 'hash-chain')
  assert.equal(outcome(verifyTaskBundle(mixed)), 'members')
  assert.equal(outcome(verifyTaskBundle(mixed, { tier: 'hash-chain' })), 'ok')
  assert.equal(outcome(verifyTaskBundle({ ...mixed, assurance: 'signed' }, { tier: 'hash-chain' })), 'tier')
})

test('a task bundle is vouched for by a known aggregator, where one is demanded [H-79 H-82]', () => {
  const pins = (key: string) => ({ aggregators: new Set([key]) })
  assert.equal(outcome(verifyTaskBundle(task, pins(aggregator.signer.publicKey))), 'ok')
  assert.equal(outcome(verifyTaskBundle(task, pins(signerOf(9).publicKey))), 'pin')
  const { aggregator: _, ...bare } = task
  assert.equal(outcome(verifyTaskBundle(bare)), 'ok')
  assert.equal(outcome(verifyTaskBundle(bare, { aggregators: 'any' })), 'aggregator')
  const expired = signatory('gateway', 3, { validUntil: '2026-01-01T00:00:00.000Z' })
  assert.equal(outcome(verifyTaskBundle(makeTaskBundle({ bundles: [a, b], createdAt }, expired))), 'window')
})

const event = (
  event_id: string,
  host_id: string,
  sequence: number,
  fields: Partial<OrderedEvent> = {},
): OrderedEvent => ({
  event_id,
  host_id,
  sequence,
  invocation_id: event_id,
  timestamp: '2026-01-01T00:00:00Z',
  correlation: {},
  ...fields,
})
const idsOf = (events: readonly OrderedEvent[]) => orderEvents(events).map(({ event_id }) => event_id)
const caused = (causation_id: string) => ({ correlation: { causation_id } })

test('the order of events across hosts is by time, host, sequence and id, bytewise, where nothing else decides [H-82]', () => {
  const later = { timestamp: '2026-01-01T00:00:01Z' }
  assert.deepEqual(idsOf([event('l', 'a', 9, later), event('x', 'b', 1), event('y', 'B', 1)]), ['y', 'x', 'l'])
  assert.deepEqual(idsOf([event('x', 'a', 2), event('y', 'a', 1)]), ['y', 'x'])
  const { sequence: _, ...bare } = event('y', 'a', 0)
  assert.deepEqual(idsOf([bare, event('x', 'a', 0)]), ['x', 'y'])
})

test('the order of events across hosts follows the sequence of a host and the cause of an event, whatever the clocks say [H-82]', () => {
  const early = { timestamp: '2025-01-01T00:00:00Z' }
  assert.deepEqual(idsOf([event('first', 'a', 1), event('second', 'a', 2, early)]), ['first', 'second'])
  assert.deepEqual(idsOf([event('effect', 'b', 1, { ...early, ...caused('cause') }), event('cause', 'a', 1)]), [
    'cause',
    'effect',
  ])
  const chain = [
    event('c', 'c', 1, { ...early, ...caused('b') }),
    event('b', 'b', 1, { ...early, ...caused('a') }),
    event('a', 'a', 1),
    event('z', 'z', 1),
  ]
  assert.deepEqual(idsOf(chain), ['a', 'b', 'c', 'z'])
})

test('the order of events across hosts waits for the beginning of an invocation, not its end [H-82]', () => {
  const events = [
    event('start', 'a', 1, { invocation_id: 'inv' }),
    event('end', 'a', 2, { invocation_id: 'inv', timestamp: '2026-01-01T00:00:09Z' }),
    event('effect', 'b', 1, { timestamp: '2026-01-01T00:00:01Z', ...caused('inv') }),
  ]
  assert.deepEqual(idsOf(events), ['start', 'effect', 'end'])
})

test('the order of events across hosts ends for circles, unknown causes and none at all [H-82]', () => {
  const circle = [event('a', 'a', 1, caused('b')), event('b', 'b', 1, caused('a')), event('c', 'c', 1, caused('c'))]
  assert.deepEqual(idsOf(circle), ['c', 'a', 'b'])
  const circles = [
    ['a', 'b'],
    ['b', 'a'],
    ['d', 'e'],
    ['e', 'd'],
  ] as const
  assert.deepEqual(idsOf(circles.map(([id, cause]) => event(id, id, 1, caused(cause)))), ['a', 'b', 'd', 'e'])
  assert.deepEqual(idsOf([event('a', 'a', 1, caused('nowhere'))]), ['a'])
  assert.deepEqual(idsOf([]), [])
})

/** The same order, found the slow way. */
function naiveOrder(events: readonly OrderedEvent[]): OrderedEvent[] {
  const text = ({ timestamp, host_id, sequence, event_id }: OrderedEvent) =>
    [timestamp, host_id, `${sequence}`.padStart(9, '0'), event_id].join(' ')
  const sorted = events.toSorted((a, b) => (text(a) < text(b) ? -1 : 1))
  const done: OrderedEvent[] = []
  const isFree = (one: OrderedEvent) => {
    const earlier = events.filter(
      (other) => other.host_id === one.host_id && Number(other.sequence) < Number(one.sequence),
    )
    const before = earlier.toSorted((a, b) => Number(a.sequence) - Number(b.sequence)).slice(-1)
    const cause = sorted.find((other) => other.invocation_id === one.correlation.causation_id)
    return [...before, ...(cause && cause !== one ? [cause] : [])].every((other) => done.includes(other))
  }
  while (done.length < events.length) {
    const waiting = sorted.filter((one) => !done.includes(one))
    done.push(waiting.find(isFree) ?? (waiting[0] as OrderedEvent))
  }
  return done
}

test('the order of events across hosts is the one found the slow way, whatever causes what [H-82]', () => {
  const small = fc.record({
    host_id: fc.constantFrom('a', 'b', 'c'),
    invocation: fc.integer({ min: 0, max: 5 }),
    cause: fc.integer({ min: 0, max: 8 }),
    second: fc.integer({ min: 0, max: 5 }),
  })
  fc.assert(
    fc.property(fc.array(small, { maxLength: 12 }), (items) => {
      const events = items.map(({ host_id, invocation, cause, second }, index) => ({
        ...event(`e${index}`, host_id, index),
        invocation_id: `i${invocation}`,
        timestamp: `2026-01-01T00:00:0${second}Z`,
        correlation: { causation_id: cause > 5 ? null : `i${cause}` },
      }))
      assert.deepEqual(orderEvents(events), naiveOrder(events))
      assert.deepEqual(orderEvents(events.toReversed()), naiveOrder(events))
    }),
    { numRuns: 300 },
  )
})

const bundle = storyBundle()
const envelope = copyOf(makeAttestation(bundle, hostKey))

test('a bundle as an in-toto statement is signed over type and body, with the root as its subject [H-79 H-82]', () => {
  const body = Buffer.from(envelope.payload, 'base64').toString()
  const [signature] = envelope.signatures
  assert.equal(
    signature?.sig,
    hostKey.sign(`DSSEv1 28 application/vnd.in-toto+json ${Buffer.byteLength(body)} ${body}`),
  )
  assert.equal(signature?.keyid, hostKey.keyId)
  assert.equal(
    body,
    canonical({
      _type: 'https://in-toto.io/Statement/v1',
      subject: [{ name: 'run-5521', digest: { sha256: bundle.root_hash } }],
      predicateType: 'https://chp.dev/attestation/evidence-bundle/v1',
      predicate: bundle as never,
    }),
  )
  const verified = verifyAttestation(envelope, { pins: [hostKey.publicKey] })
  assert.deepEqual(verified.ok && [verified.value.valid, verified.value.covered], [true, 'yes'])
})

test('a bundle as an in-toto statement is refused after any change, and with pins of others [H-79 H-82]', () => {
  for (const { value, kind, path } of tamperings(envelope)) {
    // A second copy of the one good signature changes nothing.
    if (kind === 'duplicate' && path.join('/') === 'signatures/0') continue
    assert.equal(verifyAttestation(value).ok, false, `${kind} ${path.join('/')}`)
  }
  assert.equal(outcome(verifyAttestation(envelope, { pins: [signerOf(9).publicKey] })), 'bundle')
  assert.equal(outcome(verifyAttestation(makeAttestation(bundle, signerOf(9)))), 'signature')
  const [good] = envelope.signatures
  const [bad] = makeAttestation(bundle, signerOf(9)).signatures
  assert.equal(outcome(verifyAttestation({ ...envelope, signatures: [good, bad] })), 'signature')
  for (const garbage of [null, [], {}, { ...envelope, payload: 'e30=' }, { ...envelope, payload: 'e30' }]) {
    assert.equal(outcome(verifyAttestation(garbage)), 'shape')
  }
})

test('a bundle as an in-toto statement is about the bundle it holds [H-79 H-82]', () => {
  const other = makeAttestation({ ...bundle, completeness: { ...bundle.completeness, correlation_id: 'x' } }, hostKey)
  assert.equal(outcome(verifyAttestation(other)), 'bundle')
  const signed = (change: (text: string) => string) => {
    const body = change(Buffer.from(envelope.payload, 'base64').toString())
    const sig = hostKey.sign(`DSSEv1 28 application/vnd.in-toto+json ${Buffer.byteLength(body)} ${body}`)
    return { ...envelope, payload: Buffer.from(body).toString('base64'), signatures: [{ keyid: hostKey.keyId, sig }] }
  }
  assert.equal(outcome(verifyAttestation(signed((body) => body))), 'ok')
  assert.equal(
    outcome(verifyAttestation(signed((body) => body.replace('"name":"run-5521"', '"name":"run-1"')))),
    'subject',
  )
  const digest = (body: string) => body.replace(`"sha256":"${bundle.root_hash}"`, `"sha256":"${sha256('x')}"`)
  assert.equal(outcome(verifyAttestation(signed(digest))), 'subject')
  assert.equal(outcome(verifyAttestation(signed(() => '{"a":1,"a":2}'))), 'shape')
})

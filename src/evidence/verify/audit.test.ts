import assert from 'node:assert/strict'
import { test } from 'vitest'
import { draft, hostId, sealFromStart, storyDrafts } from '../../../test/support/evidence.ts'
import { sha256 } from '../../base/hash.ts'
import type { SealedEvent } from '../../model/evidence.ts'
import { appendLeaf, leafOf } from '../log.ts'
import { Auditor } from './audit.ts'

const events = sealFromStart([...storyDrafts(), draft({ event_id: 'evt_7', correlation: { correlation_id: 'other' } })])

/** What the auditor says to each event, with one of them replaced. */
const followed = (index: number, fields: Partial<SealedEvent>) => {
  const auditor = new Auditor(hostId)
  return events.map((event, place) => auditor.take(place === index ? { ...event, ...fields } : event))
}

const edited = (index: number, from: string | RegExp, to: string) => {
  const body = events[index]?.body ?? ''
  const changed = body.replace(from, to)
  assert.notEqual(changed, body)
  return followed(index, { body: changed })[index]
}

test('a store followed event by event is good, and its log is the one it was sealed with [H-88 H-86 F-09]', () => {
  const auditor = new Auditor(hostId)
  assert.equal(auditor.log, '')
  assert.deepEqual(
    events.map((event) => auditor.take(event)),
    events.map(() => undefined),
  )
  assert.equal(auditor.log, events.map(leafOf).reduce(appendLeaf, ''))
})

test('a missing event is named [H-88 H-86 F-09]', () => {
  const auditor = new Auditor(hostId)
  const [first, , third] = events as [SealedEvent, SealedEvent, SealedEvent]
  assert.equal(auditor.take(first), undefined)
  assert.equal(auditor.take(third), 'event 2 is missing')
})

test('a body that is no event, or of another host, is found [H-88 H-86 F-09]', () => {
  assert.equal(followed(1, { body: '{' })[1], 'it is not an event')
  assert.equal(followed(1, { body: '{}' })[1], 'it is not an event')
  const elsewhere = new Auditor('elsewhere')
  assert.equal(elsewhere.take(events[0] as SealedEvent), 'it is of another host')
})

test('every column must say what the body says [H-88 H-86 F-09]', () => {
  const columns = [
    'eventId',
    'eventType',
    'invocationId',
    'capabilityId',
    'correlationId',
    'timestamp',
    'outcome',
    'subjectId',
    'contentHash',
  ]
  for (const column of columns) {
    assert.equal(followed(3, { [column]: 'other' })[3], 'the store lists it under other words than it says', column)
  }
  assert.equal(followed(3, { outcome: null, subjectId: null })[3], 'the store lists it under other words than it says')
})

test('an event that does not follow its correlation is found, and so is the one after a lost hash [H-88 H-86 F-09]', () => {
  assert.equal(
    edited(3, /"prev_hash": "[0-9a-f]{64}"/, '"prev_hash": null'),
    'it does not follow the last event of its correlation',
  )
  assert.equal(followed(2, { contentHash: sha256('x') })[3], 'it does not follow the last event of its correlation')
})

test('a changed payload, header or uncovered member is found [H-88 H-86 F-09]', () => {
  assert.equal(edited(3, '"zone": "\\u00e9"', '"zone": "e"'), 'the payload is not the one committed to')
  assert.equal(edited(3, `"host_id": "${hostId}"`, '"host_id": "elsewhere"'), 'it is of another host')
  assert.equal(
    edited(3, /"payload_commitment": "[0-9a-f]{64}"/, `"payload_commitment": "${sha256('x')}"`),
    'the content hash is not that of the event',
  )
  assert.equal(
    edited(3, '"redacted": true, "sequence"', '"redacted": false, "sequence"'),
    '`redacted` is not what its call record says',
  )
})

test('an event without a call record is not ours [H-88 H-86 F-09]', () => {
  const [event] = events as [SealedEvent]
  const body = JSON.parse(event.body)
  const auditor = new Auditor(hostId)
  const stranger = { ...body, payload: { chp_withheld: true } }
  assert.equal(auditor.take({ ...event, body: JSON.stringify(stranger) }), 'its call record is not well formed')
})

import assert from 'node:assert/strict'
import { test } from 'vitest'
import { type Caller, effectiveActor, isAllowedActor, isVisible } from './actors.ts'

const alice: Caller = { subject: { id: 'alice', verified: true }, actor: { id: 'bob' } }
const asserted: Caller = { subject: { id: 'local' }, actor: { id: 'bob' } }
const bare: Caller = { subject: { id: 'local', verified: false }, actor: null }

test('the effective actor is the verified subject, else the asserted actor, else the asserted subject [H-31 H-20]', () => {
  assert.equal(effectiveActor(alice), 'alice')
  assert.equal(effectiveActor(asserted), 'bob')
  assert.equal(effectiveActor(bare), 'local')
})

test('the effective actor in a run is the agent the runtime bound [H-31 H-20]', () => {
  assert.equal(effectiveActor({ ...alice, agent: 'urn:agent:planner' }), 'urn:agent:planner')
})

test('a list of allowed actors that is empty is open to all [H-31]', () => {
  for (const caller of [alice, asserted, bare]) assert.equal(isAllowedActor([], caller), true)
})

test('a list of allowed actors demands a verified subject unless told otherwise [H-31]', () => {
  assert.equal(isAllowedActor(['alice'], alice), true)
  assert.equal(isAllowedActor(['bob'], asserted), false)
  assert.equal(isAllowedActor(['bob'], asserted, { unverified: 'accept' }), true)
  assert.equal(isAllowedActor(['local'], bare), false)
  assert.equal(isAllowedActor(['local'], bare, { unverified: 'accept' }), true)
  assert.equal(isAllowedActor(['bob'], { subject: { id: 'bob', verified: 'yes' as never }, actor: null }), false)
})

test('a list of allowed actors is not opened by asserting a listed actor beside a verified subject [H-31]', () => {
  assert.equal(isAllowedActor(['bob'], alice), false)
  assert.equal(isAllowedActor(['bob'], alice, { unverified: 'accept' }), false)
  assert.equal(isAllowedActor(['urn:agent:planner'], { ...alice, agent: 'urn:agent:planner' }), true)
  assert.equal(isAllowedActor(['alice'], { ...alice, agent: 'urn:agent:planner' }), false)
})

test('discovery shows what is open or names the caller, and all to a shared key [H-68]', () => {
  assert.deepEqual(
    [
      isVisible([], 'alice'),
      isVisible(['alice'], 'alice'),
      isVisible(['alice'], 'mallory'),
      isVisible(['alice'], null),
    ],
    [true, true, false, true],
  )
})

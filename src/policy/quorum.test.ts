import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import type { Approver } from '../model/approval.ts'
import {
  type Ballot,
  bindOf,
  type CastVote,
  defaultTerms,
  ineligible,
  partiesOf,
  requiredOf,
  secondsOpen,
  tally,
} from './quorum.ts'

const at = (time: string): number => Date.parse(time)

const ida: Approver = {
  approver_id: 'ida-2026',
  principal: 'ida',
  roles: ['responsible_pharmacist', 'clerk'],
  public_key: 'QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWY=',
  key_id: '730a5edc28c2f8da',
  custody: 'host',
  valid_from: '2026-06-01T00:00:00.000Z',
  valid_until: '2026-07-01T00:00:00.000Z',
  revoked_at: null,
}

const ballot = (more: Partial<Ballot> = {}): Ballot => ({
  required: { roles: ['responsible_pharmacist'], approvers: [], quorum: 1 },
  excluded: ['stock-planner'],
  now: at('2026-06-16T15:00:00Z'),
  ...more,
})

test.each([
  ['one who is not registered', undefined, {}, 'unknown'],
  ['who asked, by name', ida, { excluded: ['ida'] }, 'self'],
  ['who asked, by entry', ida, { excluded: ['ida-2026'] }, 'self'],
  ['one who was revoked', { ...ida, revoked_at: '2026-06-02T00:00:00.000Z' }, {}, 'revoked'],
  ['one whose time has not come', ida, { now: at('2026-05-31T23:59:59.999Z') }, 'window'],
  ['one whose time is over', ida, { now: at('2026-07-01T00:00:00.001Z') }, 'window'],
  ['one whose window cannot be read', { ...ida, valid_from: 'soon' }, {}, 'window'],
  ['one whose end cannot be read', { ...ida, valid_until: 'late' }, {}, 'window'],
  ['one of another role', { ...ida, roles: ['accountant'] }, {}, 'role'],
  ['one who is not named', ida, { required: { roles: [], approvers: ['jo'], quorum: 1 } }, 'role'],
] as [string, Approver | undefined, Partial<Ballot>, string][])('%s does not count [H-55]', (_, who, more, why) => {
  assert.equal(ineligible(who, ballot(more)), why)
})

test.each([
  ['one of the role', ida, {}],
  ['one at the first moment', ida, { now: at('2026-06-01T00:00:00.000Z') }],
  ['one at the last moment', ida, { now: at('2026-07-01T00:00:00.000Z') }],
  ['one without an end', { ...ida, valid_until: null }, { now: at('2030-01-01T00:00:00Z') }],
  ['one named by entry', { ...ida, roles: [] }, { required: { roles: ['x'], approvers: ['ida-2026'], quorum: 1 } }],
  ['one named as a person', { ...ida, roles: [] }, { required: { roles: [], approvers: ['ida'], quorum: 1 } }],
  ['anyone registered, if no role or name is required', ida, { required: { roles: [], approvers: [], quorum: 1 } }],
] as [string, Approver, Partial<Ballot>][])('%s counts [H-55]', (_, who, more) => {
  assert.equal(ineligible(who, ballot(more)), undefined)
})

test('everybody a call is made by or for is a party: subject, principals, actor and owner [H-55]', () => {
  const subject = { id: 'delegate', principal: 'lender', root_principal: 'root' }
  assert.deepEqual(partiesOf(subject, { id: 'agent', owner: 'boss' }), ['delegate', 'lender', 'root', 'agent', 'boss'])
  assert.deepEqual(partiesOf({ id: 'me' }, null), ['me'])
})

const named = (person: string, ...roles: string[]) => ({ approver_id: person, principal: person, roles })
const yes = (person: string, ...roles: string[]): CastVote => ({
  approver: named(person, ...roles),
  decision: 'approve',
})
const anybody = (quorum: number) => ({ roles: [], approvers: [], quorum })
const people = ['ida', 'jo', 'kai', 'lu']

const said = fc.record<CastVote>({
  approver: fc.constantFrom(named('ida', 'a'), named('jo', 'b'), named('kai', 'a', 'b'), named('lu')),
  decision: fc.constantFrom('approve', 'approve', 'approve', 'deny'),
})

test('a quorum counts different people, and one no ends it [H-56]', () => {
  fc.assert(
    fc.property(fc.array(said, { maxLength: 8 }), fc.integer({ min: 1, max: 4 }), (votes, quorum) => {
      const spoke = people.filter((name) => votes.some(({ approver }) => approver.principal === name)).length
      const no = votes.filter(({ decision }) => decision === 'deny').length > 0
      assert.equal(tally(votes, anybody(quorum)), no ? 'denied' : spoke >= quorum ? 'approved' : 'pending')
    }),
  )
})

test('one person who speaks twice is one vote [H-56]', () => {
  const again: CastVote = { ...yes('ida'), approver: { ...named('ida'), approver_id: 'ida-2' } }
  assert.equal(tally([yes('ida'), again], anybody(2)), 'pending')
  assert.equal(tally([yes('ida'), yes('jo')], anybody(2)), 'approved')
})

test('a further demand never lets a call through that would have waited without it [H-35 H-56]', () => {
  const part = fc.record({
    roles: fc.subarray(['a', 'b']),
    approvers: fc.subarray(['ida', 'lu']),
    quorum: fc.integer({ min: 1, max: 2 }),
  })
  fc.assert(
    fc.property(fc.array(said, { maxLength: 6 }), part, fc.array(part, { maxLength: 2 }), (votes, first, also) => {
      const alone = [first, ...also].map((each) => tally(votes, each))
      const all = alone.every((state) => state === 'approved') ? 'approved' : 'pending'
      assert.equal(tally(votes, { ...first, also }), alone.includes('denied') ? 'denied' : all)
    }),
  )
})

test('one vote counts for every demand that names the voter, and for no other [H-55 H-56]', () => {
  const required = requiredOf([{ roles: ['a'] }, { roles: ['b'] }])
  assert.equal(tally([yes('jo', 'b')], required), 'pending')
  assert.equal(tally([yes('jo', 'b'), yes('lu')], required), 'pending')
  assert.equal(tally([yes('jo', 'b'), yes('ida', 'a')], required), 'approved')
  assert.equal(tally([yes('kai', 'a', 'b')], required), 'approved')
  const clerk = { roles: ['x'], approvers: [], quorum: 1, also: [{ roles: ['clerk'], approvers: [], quorum: 1 }] }
  assert.equal(ineligible(ida, ballot({ required: clerk })), undefined)
})

test('a request carries every demand, is open for the shortest time and bound as the strictest wants [H-51]', () => {
  assert.deepEqual(requiredOf([]), anybody(1))
  assert.deepEqual(requiredOf([{ roles: ['a'], quorum: 2 }]), { roles: ['a'], approvers: [], quorum: 2 })
  assert.deepEqual(requiredOf([{ roles: ['a'] }, { approvers: ['ida'], quorum: 2 }]), {
    ...{ roles: ['a'], approvers: [], quorum: 1 },
    also: [{ roles: [], approvers: ['ida'], quorum: 2 }],
  })
  const seconds = [[], [{}], [{ expires_in_s: 7200 }], [{ expires_in_s: 7200 }, {}], [{}, { expires_in_s: 60 }]]
  assert.deepEqual(seconds.map(secondsOpen), [900, 900, 7200, 900, 60])
  const protocol = { bind: 'protocol' } as const
  assert.deepEqual([[], [protocol], [protocol, {}]].map(bindOf), ['call', 'protocol', 'call'])
})

test('without terms one vote within fifteen minutes is asked for [H-51]', () => {
  assert.deepEqual(defaultTerms, { quorum: 1, expires_in_s: 900 })
})

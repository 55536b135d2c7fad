import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { anyPath, anyRequests, isAtOrBelow, makeIds, msAt, pathsOf, reachOf } from '../../test/support/grants.ts'
import type { Grant, Revocation } from '../model/grant.ts'
import type { GrantRequest } from './list.ts'
import { type Holding, type LiveFacts, liveGrants } from './live.ts'
import { mintGrants, narrow } from './mint.ts'

/** A run in a tree of runs, with the time at which it was started. */
interface Run extends Holding {
  readonly parent: Run | undefined
  readonly bornAt: number
}

interface Step {
  readonly parent: number
  readonly request: readonly GrantRequest[] | undefined
}

const anySteps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({ parent: fc.nat(), request: fc.option(anyRequests, { nil: undefined, freq: 3 }) }),
  { maxLength: 7 },
)

const anyRevocations: fc.Arbitrary<Revocation[]> = fc.array(
  fc.oneof(
    fc.record({ by: fc.constant('grant' as const), target: fc.integer({ min: 1, max: 12 }).map((id) => `gr_${id}`) }),
    fc.record({ by: fc.constant('run' as const), target: fc.integer({ min: 0, max: 5 }).map((id) => `run_${id}`) }),
    fc.record({ by: fc.constant('path' as const), target: anyPath }),
    fc.record({ by: fc.constant('subject' as const), target: fc.constantFrom('subject_0', 'subject_1') }),
  ),
  { maxLength: 3 },
)

const lineOf = (run: Run): Run[] => [...(run.parent === undefined ? [] : lineOf(run.parent)), run]

/** Runs started one after the other, a tick apart; a request that is refused starts none. */
function grow(asked: readonly GrantRequest[], steps: readonly Step[], revoked: readonly Revocation[]): Run[] {
  const ids = makeIds()
  const rest = { roots: 'unbounded', protectedBranches: [], mintedBy: 'host', basis: ['subject:ada'] } as const
  const grants = mintGrants(asked, { ...rest, ids: ids(asked.length) })
  const runs: Run[] = [{ runId: 'run_0', subject: 'subject_0', grants, parent: undefined, bornAt: 0 }]
  for (const [index, { parent: chosen, request }] of steps.entries()) {
    const parent = runs[chosen % runs.length]
    assert(parent !== undefined)
    const now = msAt(index + 1)
    const live = liveGrants(lineOf(parent), { now, revocations: revoked.slice(0, index) })
    const wanted = request ?? live
    const inside = wanted.every(({ path }) => live.some((grant) => isAtOrBelow(path, grant.path)))
    const work = () => narrow(live, request, { mintedBy: parent.runId, ids: ids(wanted.length) })
    if (!inside) assert.throws(work, { code: 'grant.outside_parent' })
    else
      runs.push({ runId: `run_${runs.length}`, subject: `subject_${index % 5}`, grants: work(), parent, bornAt: now })
  }
  return runs
}

/** The slow answer: a grant lives if it has not ended itself and, in a child, some grant of the parent over it lives. */
function isAlive(grant: Grant, run: Run, facts: LiveFacts): boolean {
  const { parent } = run
  const revoked = facts.revocations.some(
    ({ by, target }) =>
      (by === 'grant' && target === grant.id) ||
      (by === 'run' && target === run.runId) ||
      (by === 'subject' && target === run.subject) ||
      (by === 'path' && isAtOrBelow(grant.path, target)),
  )
  const expired = grant.expires_at !== null && Date.parse(grant.expires_at) <= facts.now
  if (revoked || expired) return false
  return (
    parent === undefined ||
    parent.grants.some((over) => isAtOrBelow(grant.path, over.path) && isAlive(over, parent, facts))
  )
}

const anyTree = fc.tuple(anyRequests, anySteps, anyRevocations)
const laterFacts = (revocations: readonly Revocation[], tick: number): LiveFacts => ({ now: msAt(tick), revocations })
const liveIn = (run: Run, facts: LiveFacts): readonly Grant[] => liveGrants(lineOf(run), facts)

test('in any tree of runs exactly those grants live that live in the slow model, at any time [G-26 G-27 G-34]', () => {
  fc.assert(
    fc.property(anyTree, fc.integer({ min: 7, max: 10 }), ([asked, steps, revoked], tick) => {
      const facts = laterFacts(revoked, tick)
      for (const run of grow(asked, steps, revoked)) {
        const expected = run.grants.filter((grant) => isAlive(grant, run, facts))
        assert.deepEqual(liveIn(run, facts), expected)
      }
    }),
    { numRuns: 500 },
  )
})

test('narrowing never widens, over any depth: no run reaches what one above it does not [G-30 G-31 G-34]', () => {
  fc.assert(
    fc.property(anyTree, fc.integer({ min: 0, max: 10 }), ([asked, steps, revoked], tick) => {
      const facts = laterFacts(revoked, tick)
      for (const run of grow(asked, steps, revoked)) {
        const reach = reachOf(pathsOf(liveIn(run, facts)))
        for (const above of lineOf(run)) {
          const wider = new Set(reachOf(pathsOf(liveIn(above, facts))))
          assert(reach.every((node) => wider.has(node)))
        }
      }
    }),
  )
})

test('a child without a request holds exactly the live grants of its parent, at birth and at every time after [G-29]', () => {
  fc.assert(
    fc.property(anyTree, fc.integer({ min: 0, max: 3 }), ([asked, steps, revoked], wait) => {
      for (const parent of grow(asked, steps, revoked)) {
        const live = liveIn(parent, { now: parent.bornAt, revocations: [] })
        const grants = narrow(live, undefined, { mintedBy: 'x', ids: live.map((_, index) => `gr_new${index}`) })
        const child: Run = { ...parent, runId: 'run_new', grants, parent }
        const facts = { now: parent.bornAt + wait * 1_000, revocations: [] }
        assert.deepEqual(pathsOf(liveIn(child, facts)), pathsOf(liveIn(parent, facts)))
      }
    }),
  )
})

test('revoking a run ends everything derived from it, and nothing beside it [G-27 G-34]', () => {
  fc.assert(
    fc.property(anyTree, fc.nat(), ([asked, steps], chosen) => {
      const runs = grow(asked, steps, [])
      const target = runs[chosen % runs.length]?.runId ?? ''
      const before = laterFacts([], 7)
      const after = laterFacts([{ by: 'run', target }], 7)
      for (const run of runs) {
        const isBelow = lineOf(run).some(({ runId }) => runId === target)
        assert.deepEqual(liveIn(run, after), isBelow ? [] : liveIn(run, before))
      }
    }),
  )
})

test('time and revocations only take away [G-26 G-27]', () => {
  fc.assert(
    fc.property(anyTree, anyRevocations, fc.nat(10), fc.nat(10), ([asked, steps, revoked], more, tick, wait) => {
      for (const run of grow(asked, steps, revoked)) {
        const first = liveIn(run, laterFacts(revoked, tick))
        const second = liveIn(run, laterFacts([...revoked, ...more], tick + wait))
        assert(second.every((grant) => first.includes(grant)))
      }
    }),
  )
})

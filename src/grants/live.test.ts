import assert from 'node:assert/strict'
import { test } from 'vitest'
import { grantAt, msAt, pathsOf, timeAt } from '../../test/support/grants.ts'
import type { Grant, Revocation } from '../model/grant.ts'
import { type Holding, type LiveFacts, liveGrants, revocationOf } from './live.ts'

const holding = (runId: string, grants: readonly Grant[], subject = 'ada'): Holding => ({ runId, subject, grants })
const facts = (revocations: readonly Revocation[] = [], tick = 0): LiveFacts => ({ now: msAt(tick), revocations })
const live = (line: readonly Holding[], ...rest: Parameters<typeof facts>): string[] =>
  pathsOf(liveGrants(line, facts(...rest)))

const root = holding('run_1', [
  grantAt('a', { id: 'gr_a' }),
  grantAt('b', { id: 'gr_b' }),
  grantAt('a/x', { id: 'gr_x' }),
])

test('a grant lives until the instant of its expiry, and not at it [G-26]', () => {
  const line = [holding('run_1', [grantAt('a', { expires_at: timeAt(5) }), grantAt('b')])]
  assert.deepEqual(liveGrants(line, { now: msAt(5) - 1, revocations: [] }).length, 2)
  assert.deepEqual(live(line, [], 5), ['b'])
  assert.deepEqual(live(line, [], 6), ['b'])
})

test('a time that cannot be read has passed, and nothing with an end lives at no time [G-26]', () => {
  assert.deepEqual(live([holding('run_1', [grantAt('a', { expires_at: 'soon' })])]), [])
  const line = [holding('run_1', [grantAt('a', { expires_at: timeAt(5) })])]
  assert.deepEqual(liveGrants(line, { now: Number.NaN, revocations: [] }), [])
})

test('a revocation ends one grant, those of a run, of a subject, or at and below a path [G-27]', () => {
  assert.deepEqual(live([root]), ['a', 'b', 'a/x'])
  assert.deepEqual(live([root], [{ by: 'grant', target: 'gr_b' }]), ['a', 'a/x'])
  assert.deepEqual(live([root], [{ by: 'run', target: 'run_1' }]), [])
  assert.deepEqual(live([root], [{ by: 'subject', target: 'ada' }]), [])
  assert.deepEqual(live([root], [{ by: 'path', target: 'a' }]), ['b'])
  assert.deepEqual(live([root], [{ by: 'path', target: 'a/x' }]), ['a', 'b'])
  assert.deepEqual(
    live(
      [root],
      [
        { by: 'path', target: 'b' },
        { by: 'grant', target: 'gr_a' },
      ],
    ),
    ['a/x'],
  )
})

test('a revocation of something else ends nothing [G-27]', () => {
  const others: Revocation[] = [
    { by: 'grant', target: 'a' },
    { by: 'grant', target: 'run_1' },
    { by: 'run', target: 'gr_a' },
    { by: 'run', target: 'run_10' },
    { by: 'subject', target: 'Ada' },
    { by: 'path', target: 'a/x/y' },
    { by: 'path', target: 'A' },
    { by: 'path', target: 'gr_a' },
  ]
  assert.deepEqual(live([root], others), ['a', 'b', 'a/x'])
})

test('a derived grant lives while one it comes from does, over any number of runs [G-27 G-34]', () => {
  const child = holding('run_2', [grantAt('a/x/y', { id: 'gr_c', derived_from: ['gr_a', 'gr_x'] })])
  const grandchild = holding('run_3', [grantAt('a/x/y/z', { id: 'gr_g', derived_from: ['gr_c'] })])
  const line = [root, child, grandchild]
  assert.deepEqual(live(line), ['a/x/y/z'])
  assert.deepEqual(live(line, [{ by: 'grant', target: 'gr_a' }]), ['a/x/y/z'])
  assert.deepEqual(live(line, [{ by: 'grant', target: 'gr_x' }]), ['a/x/y/z'])
  assert.deepEqual(
    live(line, [
      { by: 'grant', target: 'gr_a' },
      { by: 'grant', target: 'gr_x' },
    ]),
    [],
  )
  for (const target of ['run_1', 'run_2', 'run_3']) assert.deepEqual(live(line, [{ by: 'run', target }]), [])
  assert.deepEqual(live([root, child], [{ by: 'run', target: 'run_3' }]), ['a/x/y'])
  assert.deepEqual(live([root], [{ by: 'run', target: 'run_2' }]), ['a', 'b', 'a/x'])
})

test('a child grant that comes from nothing, or from a grant that does not cover it, is not live [G-34]', () => {
  const child = holding('run_2', [
    grantAt('a/1', { derived_from: [] }),
    grantAt('a/2', { derived_from: ['gr_b'] }),
    grantAt('a/3', { derived_from: ['gr_gone'] }),
    grantAt('a/4', { derived_from: ['gr_b', 'gr_a'] }),
    grantAt('c', { derived_from: ['gr_a', 'gr_b'] }),
  ])
  assert.deepEqual(live([root, child]), ['a/4'])
})

test('a run in between that holds nothing ends all below it [G-34]', () => {
  const grandchild = holding('run_3', [grantAt('a', { derived_from: ['gr_a'] })])
  assert.deepEqual(live([root, holding('run_2', []), grandchild]), [])
  assert.deepEqual(live([]), [])
})

test('what lives is a frozen list [G-17]', () => {
  assert(Object.isFrozen(liveGrants([root], facts())))
  assert(Object.isFrozen(liveGrants([], facts())))
})

test('revoking a path ends all at or below it and tells which grants above it still cover it [G-27]', () => {
  const grants = ['a', 'a/b', 'a/b/c', 'a/bc', 'b', 'a/b/c/d'].map((path) => grantAt(path))
  const { ends, ancestorsLeft } = revocationOf('a/b/c', grants)
  assert.deepEqual(
    [pathsOf(ends), pathsOf(ancestorsLeft)],
    [
      ['a/b/c', 'a/b/c/d'],
      ['a', 'a/b'],
    ],
  )
  const line = [holding('run_1', grants)]
  const after = live(line, [{ by: 'path', target: 'a/b/c' }])
  assert.deepEqual(after, pathsOf(grants.filter((grant) => !ends.includes(grant))))
})

import assert from 'node:assert/strict'
import { test } from 'vitest'
import { codesOf, noPermissions, packOf } from '../../test/support/knowledge.ts'
import { type ActivationRequest, activate, collisionsIn, type Route } from './activate.ts'
import { diagnostic } from './diagnostic.ts'
import type { Pack } from './pack.ts'

/** Finds every pack whose name is among the words. */
const routeTo =
  (...names: string[]): Route<string> =>
  (packs) => ({ ids: packs.filter(({ header }) => names.includes(header.name)).map(({ id }) => id), decision: 'asked' })

const run = (packs: readonly Pack[], request: Partial<ActivationRequest>, route = routeTo()) => {
  const done = activate({ packs, quarantined: [] }, { permissions: noPermissions, ...request }, route)
  return {
    used: done.activated.map(({ pack, activation }) => [pack.id, activation]),
    refused: done.refused.map(({ named, diagnostics }) => [named, ...codesOf(diagnostics)]),
    decision: done.decision,
  }
}

const pumps = packOf({ name: 'pumps' })
const voice = packOf({ name: 'voice', mode: 'persona' })
const valves = packOf({ name: 'valves' })

test('a pack is used because it was named, because it fits, or because a ranker chose it, and says which [K-43]', () => {
  const packs = [pumps, voice, valves]
  assert.deepEqual(run(packs, { select: ['pumps'] }).used, [['organisation:pumps', 'explicit']])
  assert.deepEqual(run(packs, {}, routeTo('valves')).used, [['organisation:valves', 'implicit']])
  assert.deepEqual(run(packs, { ranked: ['pumps'] }).used, [['organisation:pumps', 'resolver-driven']])
})

test('a pack of data that was named answers by itself; beside a persona what fits is looked for [K-07 K-43]', () => {
  const packs = [pumps, voice, valves]
  assert.deepEqual(run(packs, { select: ['pumps'] }, routeTo('valves')).decision, undefined)
  assert.deepEqual(run(packs, { select: ['voice'] }, routeTo('valves')).used, [
    ['organisation:voice', 'explicit'],
    ['organisation:valves', 'implicit'],
  ])
  assert.deepEqual(run(packs, { select: ['voice'], implicit: false }, routeTo('valves')).used, [
    ['organisation:voice', 'explicit'],
  ])
})

test('a pack is picked by name, id or path [K-45]', () => {
  const twin = packOf({ name: 'pumps', in: 'user', path: 'old/pumps' })
  assert.deepEqual(run([pumps, twin], { select: ['pumps'] }).used, [['user:old/pumps', 'explicit']])
  assert.deepEqual(run([pumps, twin], { select: ['organisation:pumps'] }).used, [['organisation:pumps', 'explicit']])
  assert.deepEqual(run([pumps, twin], { select: ['old/pumps'] }).used, [['user:old/pumps', 'explicit']])
})

test('what cannot be used is refused with its reason when it is named, and then nothing is used in its place [K-48 K-51]', () => {
  const packs = [
    packOf({ name: 'pumps', effective: 'unreviewed' }),
    packOf({ name: 'old', status: 'archived' }),
    valves,
  ]
  assert.deepEqual(run(packs, { select: ['pumps'] }, routeTo('valves')), {
    used: [],
    refused: [['pumps', 'approval-needed']],
    decision: undefined,
  })
  assert.deepEqual(run(packs, { select: ['old'] }).refused, [['old', 'confirm-needed']])
  assert.deepEqual(run(packs, { select: ['nothing'] }).refused, [['nothing', 'entry-missing']])
})

test('a pack that is broken is refused with what is wrong with it [K-24]', () => {
  const wrong = diagnostic('yaml-invalid', 'bad', 'no map')
  const quarantined = [{ id: 'user:bad', root: 'user', path: 'bad', diagnostics: [wrong] }]
  const { refused } = activate({ packs: [], quarantined }, { select: ['bad'], permissions: noPermissions }, routeTo())
  assert.deepEqual(refused, [{ named: 'bad', diagnostics: [wrong] }])
})

test('a pack that may not be used hides none that may [K-50]', () => {
  for (const bad of [{ effective: 'unreviewed' }, { status: 'archived' }, { status: 'draft' }] as const) {
    const packs = [packOf({ name: 'pumps', in: 'workspace', ...bad }), pumps]
    assert.deepEqual(run(packs, {}, routeTo('pumps')).used, [['organisation:pumps', 'implicit']])
    assert.deepEqual(run(packs, { select: ['pumps'] }).used, [['organisation:pumps', 'explicit']])
  }
})

test('a ranker gives no approval and no confirmation [K-50]', () => {
  const packs = [packOf({ name: 'pumps', effective: 'external' }), packOf({ name: 'old', status: 'disputed' })]
  assert.deepEqual(run(packs, { ranked: ['pumps', 'old', 'nothing'] }).used, [])
})

test('a pack is used once, however often it was asked for, and first as what it was named [K-54]', () => {
  assert.deepEqual(run([voice], { select: ['voice', 'voice'], ranked: ['voice'] }, routeTo('voice')).used, [
    ['organisation:voice', 'explicit'],
  ])
})

test('packs that a ranker names twice keep their first place [K-43]', () => {
  const { used } = run([pumps, valves], { ranked: ['valves', 'pumps', 'valves'] })
  assert.deepEqual(
    used.map(([id]) => id),
    ['organisation:valves', 'organisation:pumps'],
  )
})

test('names that collide are told without a question, also where none of them may be used [K-14 K-46]', () => {
  const twins = [packOf({ in: 'user', effective: 'external' }), packOf({ in: 'workspace', effective: 'external' })]
  const told = (packs: readonly Pack[]) => collisionsIn(packs, noPermissions).map(({ code, pack }) => [code, pack])
  assert.deepEqual(told(twins), [['collision', 'workspace:pumps']])
  assert.deepEqual(told([pumps, packOf({ in: 'builtin' })]), [['collision', 'organisation:pumps']])
  assert.deepEqual(told([pumps, valves]), [])
})

test('what is stale, in dispute or waiting for review is used with its warning [K-52]', () => {
  const old = packOf({ name: 'old', status: 'stale' })
  const { activated } = activate(
    { packs: [old], quarantined: [] },
    { select: ['old'], permissions: noPermissions },
    routeTo(),
  )
  assert.deepEqual(codesOf(activated[0]?.warnings ?? []), ['status-stale'])
})

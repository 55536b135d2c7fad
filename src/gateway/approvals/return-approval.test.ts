import assert from 'node:assert/strict'
import { expect, onTestFinished, test } from 'vitest'
import { approvalIdOf, givenApprovals } from '../../../test/support/approvals.ts'
import { signerOf } from '../../../test/support/evidence.ts'
import { typesOf } from '../../../test/support/host.ts'
import { verifyBundle } from '../../evidence/verify/verify.ts'
import { exportBundle } from '../../runtime/evidence/export.ts'
import { openHost } from '../../runtime/hosting/host.ts'
import { makeOffer } from '../../runtime/hosting/offer.ts'
import { operator } from '../../runtime/identity/caller.ts'
import { defineCapability } from '../capability.ts'
import { CallEnded, type Effect } from '../ended.ts'
import { resultText } from '../tools/result-text.ts'

const minute = 60_000

/** A capability that people must agree to. It ends as each entry says, and after the last one succeeds. */
async function givenFailing(
  effects: Effect[],
  { modes = ['sync'] as ('sync' | 'async')[], approver = {}, isClaimed = false } = {},
) {
  let underWay = 0
  const starts: unknown[] = []
  const move = defineCapability(
    {
      id: 'test.move',
      version: '1.0.0',
      description: 'Moves.',
      policy: { approval_required: true },
      effects: ['move'],
      modes,
    },
    async (input) => {
      assert.equal(++underWay, 1, 'two attempts ran at the same time')
      starts.push(input)
      await new Promise((resolve) => setTimeout(resolve, 20))
      underWay--
      const effect = effects.shift()
      if (effect !== undefined) throw new CallEnded('away', 'the server is away', { effect, isClaimed })
      return 'moved'
    },
  )
  const offer = { capabilities: [move], policies: [] }
  const given = await givenApprovals({}, {}, offer)
  await given.person('ida', { roles: [], ...approver })
  const envelope = { capability_id: 'test.move' }
  const ask = (more: object = {}) => given.ask({ to: 'b' }, { ...envelope, ...more })
  return { ...given, ask, starts, offer, envelope }
}

test('a failure that certainly had no effect gives the yes back, and the same call uses it once [H-57]', async () => {
  const given = await givenFailing(['none'])
  const id = approvalIdOf(await given.ask())
  await given.decide(id, 'ida', 'approve')
  const failed = await given.ask()
  assert.deepEqual([failed.outcome, failed.error?.effect], ['failure', 'none'])
  assert.match(
    resultText(failed),
    /nothing was changed.*\n[\s\S]*Next: the approval still holds until 2026-06-16T15:15/,
  )
  expect(await given.request(id)).toMatchObject({ state: 'approved', redeemed_at: null })
  assert.equal((await given.ask()).data, 'moved')
  assert.deepEqual([(await given.ask()).replayed, given.starts.length], [true, 2])
  assert.equal((await given.request(id)).state, 'redeemed')
  const types = typesOf((await given.events()).filter(({ correlation }) => correlation.correlation_id === 'task'))
  assert.deepEqual(types.slice(2), [
    ...['approval_granted', 'approval_grant_verified', 'execution_started', 'execution_failed'],
    ...['approval_grant_verified', 'execution_started', 'execution_completed'],
  ])
  assert(verifyBundle(await exportBundle(given.ambit, operator(given.host.tenant), 'task')).valid)
})

test('a failure of which only an upstream says that it had no effect uses the yes up [H-57 H-90]', async () => {
  const given = await givenFailing(['none', 'none'], { isClaimed: true })
  const id = approvalIdOf(await given.ask())
  await given.decide(id, 'ida', 'approve')
  assert.equal((await given.ask()).error?.effect, 'none')
  assert.deepEqual([(await given.ask()).replayed, given.starts.length], [true, 1])
  assert.equal((await given.request(id)).state, 'redeemed')
})

test.each<Effect>(['unknown', 'done'])('a failure with effect `%s` uses the yes up [H-57 H-60]', async (effect) => {
  const given = await givenFailing([effect])
  const id = approvalIdOf(await given.ask())
  await given.decide(id, 'ida', 'approve')
  const failed = await given.ask()
  assert.deepEqual([(await given.ask()).replayed, given.starts.length], [true, 1])
  assert.equal((await given.request(id)).state, 'redeemed')
  assert.doesNotMatch(resultText(failed), /approval/)
})

test('repeats at once, over two hosts, never run side by side, and none runs after one that worked [H-57 H-60 H-62]', async () => {
  const given = await givenFailing(['none', 'none'])
  const second = await openHost(given.ambit, given.host.tenant, (hostId) => makeOffer(hostId, given.offer))
  onTestFinished(() => second.close())
  const id = approvalIdOf(await given.ask())
  await given.decide(id, 'ida', 'approve')
  const repeat = { ...given.envelope, invocation_id: 'inv-1', correlation: { correlation_id: 'task' } }
  const elsewhere = async () => (await second.gateway.invoke(given.planner, { ...repeat, payload: { to: 'b' } })).result
  const outcomes: string[] = []
  for (let round = 1; round <= 4; round++) {
    const asked = Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? given.ask() : elsewhere()))
    outcomes.push(...(await Promise.all(asked)).map(({ outcome }) => outcome))
  }
  // Two without effect and one that worked, however the repeats fell: side by side they would have been more.
  assert.equal(given.starts.length, 3)
  assert.deepEqual(new Set(outcomes), new Set(['failure', 'success']))
  assert.deepEqual(new Set(outcomes.slice(-20)), new Set(['success']))
  assert.equal((await given.request(id)).state, 'redeemed')
})

test('a yes that was given back ends with its time, and the call with it [H-56 H-57]', async () => {
  const given = await givenFailing(['none'])
  const id = approvalIdOf(await given.ask())
  await given.decide(id, 'ida', 'approve')
  await given.ask()
  given.clock.advance(15 * minute)
  const late = await given.ask()
  assert.deepEqual([late.outcome, late.error, late.denial?.details?.['reason']], ['denied', null, 'approval_expired'])
  assert.deepEqual([given.starts.length, (await given.request(id)).state], [1, 'expired'])
})

test('an edited call that failed without effect is made again as the approver wrote it [H-57]', async () => {
  const given = await givenFailing(['none'])
  const id = approvalIdOf(await given.ask())
  const edited = await given.decide(id, 'ida', { decision: 'edit', payload: { to: 'c' } } as never)
  assert.equal((await given.ask()).error?.effect, 'none')
  assert.equal((await given.ask()).data, 'moved')
  assert.deepEqual(given.starts, [{ to: 'c' }, { to: 'c' }])
  assert.equal((await given.request(edited.approval_id)).state, 'redeemed')
})

test('a grant that its approver signed for one attempt is not given back, nor the yes to a deferred call [H-54 H-57]', async () => {
  const key = signerOf(0xa1)
  const signed = await givenFailing(['none'], { approver: { publicKey: key.publicKey } })
  const request = await signed.request(approvalIdOf(await signed.ask()))
  await signed.ask({ approval_ref: [signed.grant(request, key)] })
  assert.equal((await signed.request(request.approval_id)).state, 'redeemed')
  assert.deepEqual([(await signed.ask()).replayed, signed.starts.length], [true, 1])

  const deferred = await givenFailing(['none'], { modes: ['async'] })
  const id = approvalIdOf(await deferred.ask({ mode: 'async' }))
  await deferred.decide(id, 'ida', 'approve')
  await deferred.ask({ mode: 'async' })
  await expect.poll(async () => typesOf(await deferred.events()).at(-1)).toBe('execution_failed')
  assert.equal((await deferred.request(id)).state, 'redeemed')
})

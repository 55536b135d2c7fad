import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { stillClock } from '../../test/support/host.ts'
import { limits } from '../base/limits.ts'
import { Cancelled } from '../gateway/ended.ts'
import { openBreaker } from './breaker.ts'

const down = () => Promise.reject(new Error('down'))
const isFault = (error: unknown) => error instanceof Error && error.message === 'down'

const going = new AbortController().signal

const given = () => {
  const clock = stillClock()
  const breaker = openBreaker('depot', clock)
  const fail = async (times: number) => {
    for (let count = 0; count < times; count++) await assert.rejects(breaker.run(down, isFault, going), /down/)
  }
  return { clock, breaker, fail }
}

test('a server that failed often in a row is left alone, and nothing is sent to it [H-90]', async () => {
  const { breaker, fail } = given()
  await fail(limits.breakerFailuresMax - 1)
  assert.equal(breaker.hindrance(), undefined)
  await fail(1)
  assert.deepEqual(breaker.hindrance(), {
    lifecycle: 'unavailable',
    reason: 'the server `depot` failed 5 times in a row and is left alone for a while',
    retryAfterS: limits.breakerOpenMs / 1000,
  })
  const never = () => assert.fail('was called')
  await assert.rejects(breaker.run(never, isFault, going), { code: 'upstream_unavailable', effect: 'none' })
})

test('an answer in between, or a failure that is not the fault of the server, starts the count again [H-90]', async () => {
  const { breaker, fail } = given()
  await fail(limits.breakerFailuresMax - 1)
  await breaker.run(async () => 1, isFault, going)
  await fail(limits.breakerFailuresMax - 1)
  await assert.rejects(
    breaker.run(() => Promise.reject(new Error('your mistake')), isFault, going),
    /your mistake/,
  )
  await fail(limits.breakerFailuresMax - 1)
  assert.equal(breaker.hindrance(), undefined)
})

test('after a while one call finds out; others wait for it, and its failure starts the wait again [H-90]', async () => {
  const { breaker, fail, clock } = given()
  await fail(limits.breakerFailuresMax)
  clock.advance(limits.breakerOpenMs)
  assert.equal(breaker.hindrance(), undefined)
  const { promise, reject } = Promise.withResolvers<never>()
  const probe = breaker.run(() => promise, isFault, going)
  assert.equal(breaker.hindrance()?.retryAfterS, 1)
  reject(new Error('down'))
  await assert.rejects(probe, /down/)
  assert.equal(breaker.hindrance()?.retryAfterS, limits.breakerOpenMs / 1000)
  clock.advance(limits.breakerOpenMs)
  await breaker.run(async () => 1, isFault, going)
  assert.equal(breaker.hindrance(), undefined)
})

test('a call that was taken back says nothing about the server: it neither counts nor starts the count again [H-90]', async () => {
  const { breaker, fail, clock } = given()
  const back = AbortSignal.abort(new Cancelled())
  const takeBack = () => assert.rejects(breaker.run(down, isFault, back), /down/)
  for (let count = 0; count < limits.breakerFailuresMax; count++) await takeBack()
  await fail(limits.breakerFailuresMax - 1)
  await takeBack()
  assert.equal(breaker.hindrance(), undefined)
  await fail(1)
  clock.advance(limits.breakerOpenMs)
  await takeBack()
  assert.equal(breaker.hindrance(), undefined)
  await fail(1)
  assert.equal(breaker.hindrance()?.retryAfterS, limits.breakerOpenMs / 1000)
})

test('whatever happens, the wait is never longer than one period [H-90]', async () => {
  const step = fc.oneof(fc.constant('start'), fc.constant('fail'), fc.integer({ min: -100_000, max: 100_000 }))
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const { clock, breaker } = given()
      const calls: { fail: () => void; ended: Promise<unknown> }[] = []
      for (const step of steps) {
        if (step === 'start') {
          const { promise, reject } = Promise.withResolvers<never>()
          const ended = breaker.run(() => promise, isFault, going).catch(() => undefined)
          calls.push({ fail: () => reject(new Error('down')), ended })
        } else if (step === 'fail') {
          const call = calls.shift()
          call?.fail()
          await call?.ended
        } else clock.advance(step as number)
        assert((breaker.hindrance()?.retryAfterS ?? 0) * 1000 <= limits.breakerOpenMs)
      }
    }),
  )
})

test('a clock that steps back ends the wait [H-90]', async () => {
  const { breaker, fail, clock } = given()
  await fail(limits.breakerFailuresMax)
  clock.advance(-1)
  assert.equal(breaker.hindrance(), undefined)
})

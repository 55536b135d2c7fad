import assert from 'node:assert/strict'
import { test } from 'vitest'
import { Failure } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import type { Model, TurnRequest } from '../runs/turn.ts'
import { fakeClock } from '../testing/ports.ts'
import { type ScriptedTurn, scriptedModel } from '../testing/scripted-model.ts'
import { withRetries } from './retry.ts'

const none: TurnRequest = { system: '', messages: [], tools: [], signal: new AbortController().signal }
const limited = (retryAfterMs?: number) => new Failure('model.limited', 'too much', { retryAfterMs })
const broken = (retryable: boolean) => new Failure('model.failed', 'broken', { retryable })

test('what is limited or failed before anything came is tried again, longer apart each time, and counted [F-26]', async () => {
  const { turn, waits } = trying([limited(), broken(true), new TypeError('fetch failed'), 'done'])
  assert.deepEqual(await turn(), { text: 'done', calls: [], usage: {}, retries: 3 })
  assert.deepEqual(waits, [limits.backoffMs, 2 * limits.backoffMs, 4 * limits.backoffMs])
})

test('the wait that a provider asks for is kept, and never shortened below ours [F-26]', async () => {
  const { turn, waits } = trying([limited(45_000), limited(1), limited(-5), 'done'])
  assert.equal((await turn()).retries, 3)
  assert.deepEqual(waits, [45_000, 2 * limits.backoffMs, 4 * limits.backoffMs])
})

test.each([
  [[broken(false), 'unused'], 0, 'model.failed'],
  [[new Failure('model.invalid', 'two calls'), 'unused'], 0, 'model.invalid'],
  [[new Error('no key'), 'unused'], 0, 'model.failed'],
  [[limited(), broken(false), 'unused'], 1, 'model.failed'],
  [[limited(), limited(), limited(), limited(), limited(), 'unused'], limits.modelRetriesMax, 'model.limited'],
  [[limited(600_000), 'unused'], 0, 'model.limited'],
])('a failure that stays says how often it was tried: %# [F-26]', async (turns, retries, code) => {
  const { turn, model } = trying(turns)
  await assert.rejects(
    turn(),
    (error) => error instanceof Failure && error.code === code && error.data['retries'] === retries,
  )
  assert.equal(model.requests.length, retries + 1)
})

test('a turn that is silent for too long fails; each part that comes starts the time anew [F-26]', async () => {
  const { clock, sleeps, options } = world(10 * limits.turnMs)
  let onPart: (() => void) | undefined
  let aborted = false
  const model: Model = {
    id: 'slow',
    turn: (request: TurnRequest) => {
      onPart = request.onPart
      request.signal.addEventListener('abort', () => {
        aborted = true
      })
      return new Promise(() => undefined)
    },
  }
  const failed = assert.rejects(withRetries(model, options).turn(none), { message: /fell silent/ })
  clock.advance(limits.turnMs - 1)
  onPart?.()
  await pass(sleeps, clock, 1)
  assert.equal(aborted, false)
  await pass(sleeps, clock, limits.turnMs - 1)
  await failed
  assert(aborted)
})

test('a turn ends at the deadline, parts or not [F-26]', async () => {
  const { clock, sleeps, options } = world(1_000)
  const turn = withRetries({ id: 'slow', turn: () => new Promise(() => undefined) }, options).turn(none)
  const failed = assert.rejects(turn, { code: 'model.failed', message: /no time left/ })
  await pass(sleeps, clock, 1_000)
  await failed
})

test('after an abort nothing is tried, whether it came before, in a turn or in a wait [F-26 G-73]', async () => {
  for (const when of ['before', 'turn', 'wait']) {
    const stop = new AbortController()
    const { options } = world(1_000_000)
    const model = scriptedModel(() => {
      if (when === 'turn') stop.abort()
      return limited()
    })
    const sleep = (ms: number, signal: AbortSignal) => {
      if (ms < limits.turnMs) stop.abort()
      return options.sleep(ms, signal)
    }
    if (when === 'before') stop.abort()
    const turn = withRetries(model, { ...options, sleep }).turn({ ...none, signal: stop.signal })
    await assert.rejects(turn, { code: 'model.failed', message: /the turn was stopped/ })
    assert.equal(model.requests.length, when === 'before' ? 0 : 1)
  }
})

test('a model that does not look at its signal cannot hold a run [F-26 G-73]', async () => {
  const stop = new AbortController()
  const { options } = world(1_000_000)
  const model = withRetries({ id: 'deaf', turn: () => new Promise(() => undefined) }, options)
  const turn = model.turn({ ...none, signal: stop.signal })
  stop.abort()
  await assert.rejects(turn, { code: 'model.failed', message: /the turn was stopped/ })
})

/** Waits that are over at once, except those for silence. */
function trying(turns: readonly ScriptedTurn[]) {
  const { clock, options } = world(300_000)
  const model = scriptedModel(turns)
  const waits: number[] = []
  const sleep = (ms: number, signal: AbortSignal) => {
    if (signal !== none.signal) return options.sleep(ms, signal)
    waits.push(ms)
    clock.advance(ms)
    return Promise.resolve()
  }
  const retried = withRetries(model, { ...options, sleep })
  return { model, waits, turn: () => retried.turn(none) }
}

/** A world in which time passes only when a test says so. */
function world(deadlineMs: number) {
  const clock = fakeClock()
  const sleeps: (() => void)[] = []
  const sleep = (_ms: number, signal: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      sleeps.push(resolve)
      if (signal.aborted) reject(signal.reason)
      signal.addEventListener('abort', () => reject(signal.reason))
    })
  return { clock, sleeps, options: { retriesMax: limits.modelRetriesMax, deadlineMs, clock, sleep } }
}

async function pass(sleeps: (() => void)[], clock: { advance(ms: number): void }, ms: number): Promise<void> {
  clock.advance(ms)
  for (const wake of sleeps.splice(0)) wake()
  await new Promise((resolve) => setImmediate(resolve))
}

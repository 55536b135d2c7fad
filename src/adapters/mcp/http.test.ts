import assert from 'node:assert/strict'
import { onTestFinished, test, vi } from 'vitest'
import { limits } from '../../base/limits.ts'
import { patientScheduler } from './http.ts'

/** The pauses before streams that each end at once, or after `lastsMs`, and are wanted again after `delayMs`. */
async function pausesOf(count: number, delayMs: number, lastsMs = 0): Promise<number[]> {
  vi.useFakeTimers({ now: 0, toFake: ['setTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const again = patientScheduler()
  const pauses: number[] = []
  for (let n = 0; n < count; n++) {
    await vi.advanceTimersByTimeAsync(lastsMs)
    const start = performance.now()
    again(() => pauses.push(performance.now() - start), delayMs)
    await vi.runAllTimersAsync()
  }
  return pauses
}

test('a stream is opened again when its server wants it to be [H-90]', async () => {
  assert.deepEqual(await pausesOf(1, 500), [500])
  assert.deepEqual(await pausesOf(3, 500, 600), [500, 500, 500])
})

test('streams that end together are opened again together, and ever less often if they keep ending [H-90]', async () => {
  vi.useFakeTimers({ now: 0, toFake: ['setTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const again = patientScheduler()
  const opened: number[] = []
  const open = () => {
    opened.push(performance.now())
    if (opened.length < 24) again(open, 500)
  }
  for (let n = 0; n < 8; n++) {
    again(open, 500)
    await vi.advanceTimersByTimeAsync(10)
  }
  await vi.runAllTimersAsync()
  const seconds = opened.slice(0, 24).map((ms) => Math.floor(ms / 500) / 2)
  assert.deepEqual(
    seconds,
    [0.5, 1.5, 3.5].flatMap((second) => Array(8).fill(second)),
  )
})

test('a stream that keeps ending is opened again ever less often, whatever its server wants [H-90]', async () => {
  const { mcpStreamPauseMs: least, backoffMaxMs: most } = limits
  const pauses = await pausesOf(12, 0)
  assert.deepEqual(pauses.slice(0, 4), [least, 2 * least, 4 * least, 8 * least])
  assert.equal(pauses.at(-1), most)
  assert.deepEqual(await pausesOf(1, 10 * most), [most])
})

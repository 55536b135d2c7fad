import assert from 'node:assert/strict'
import { onTestFinished, test, vi } from 'vitest'
import { givenHost, stillClock } from '../../../test/support/host.ts'
import { openHost } from '../../runtime/hosting/host.ts'
import { makeOffer } from '../../runtime/hosting/offer.ts'
import type { Store } from '../../storage/store.ts'
import { addClaim } from '../../storage/tables/claims.ts'
import { amendHistory } from '../../storage/tables/histories.ts'
import { inOrder, number, row } from '../../storage/work.ts'
import { sampleClaim } from '../../testing/storage/sample.ts'

test('all results whose time is over are taken away at once, however many there are, and no others [H-63]', async () => {
  const clock = stillClock()
  const { ambit, host } = await givenHost({ capabilities: [] }, { clock })
  const settled = (key: string, expiresAtMs: number) =>
    addClaim({ ...sampleClaim(key), state: 'settled', result: '1', expiresAtMs }, 0)
  const over = Array.from({ length: 1_201 }, (_, n) => settled(`over-${n}`, clock.now() - n))
  const kept = Array.from({ length: 3 }, (_, n) => settled(`kept-${n}`, clock.now() + 1 + n))
  await ambit.store.write(host.tenant, inOrder(...over, ...kept))

  await host.gateway.tidyUp()
  const left = await ambit.database.read(() => row('SELECT COUNT(*) AS count FROM claims'))
  assert.equal(left && number(left, 'count'), 3)
})

test('histories whose time is over go in as many steps as they need [H-63]', async () => {
  const clock = stillClock()
  const { ambit, host } = await givenHost({ capabilities: [] }, { clock })
  const history = (n: number, expiresAtMs: number) =>
    amendHistory({ key: `s-${n}`, nowMs: 0, expiresAtMs, next: () => '{}' })
  const over = Array.from({ length: 250 }, (_, n) => history(n, clock.now()))
  await ambit.store.write(host.tenant, inOrder(...over, history(999, clock.now() + 1)))

  await host.gateway.tidyUp()
  const left = await ambit.database.read(() => row('SELECT COUNT(*) AS count FROM histories'))
  assert.equal(left && number(left, 'count'), 1)
})

test('a host that tidies up for long does not begin again meanwhile, and is waited for when it closes [H-63]', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const { ambit, host } = await givenHost({ capabilities: [] })
  let reads = 0
  let gate = Promise.resolve()
  const read: Store['read'] = async (work) => {
    reads++
    await gate
    return ambit.store.read(work)
  }
  const slow = await openHost({ ...ambit, store: { ...ambit.store, read } }, host.tenant, (hostId) =>
    makeOffer(hostId, { capabilities: [] }),
  )
  const held = Promise.withResolvers<void>()
  gate = held.promise
  reads = 0
  await vi.advanceTimersByTimeAsync(5_000)
  const once = reads
  assert.notEqual(once, 0)
  await vi.advanceTimersByTimeAsync(30_000)
  assert.equal(reads, once)

  let isClosed = false
  const closing = slow.close().then(() => {
    isClosed = true
  })
  await new Promise((resolve) => setTimeout(resolve, 50))
  assert.equal(isClosed, false)
  held.resolve()
  await closing
})

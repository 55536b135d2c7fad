import assert from 'node:assert/strict'
import { test } from 'vitest'
import { givenHost, stillClock } from '../../test/support/host.ts'
import { addClaim } from '../storage/claims.ts'
import { inOrder, number, row } from '../storage/work.ts'
import { sampleClaim } from '../testing/storage/sample.ts'

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

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { test } from 'vitest'

test('the same packs and facts give the same bytes in two processes [R-67]', async () => {
  const run = async (zone: string) =>
    (
      await promisify(execFile)(process.execPath, [join(import.meta.dirname, 'compile-child.ts')], {
        env: { ...process.env, TZ: zone },
      })
    ).stdout
  const [one, two] = await Promise.all([run('UTC'), run('Asia/Tokyo')])
  assert(one.length > 1_000)
  assert.equal(one, two)
})

import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { onTestFinished, test } from 'vitest'
import { entry, makeTree } from '../../../test/knowledge/tree.ts'
import { watchRoots } from './watch.ts'

test('a change deep below a root is said, and a root that is not there disturbs nobody [K-88]', async () => {
  const top = makeTree({ 'a/b/KNOWLEDGE.md': entry('b') })
  const changed = Promise.withResolvers<void>()
  const root = { id: 'w', scope: 'workspace' } as const
  const stop = watchRoots(
    [
      { ...root, path: top },
      { ...root, path: join(top, 'none') },
    ],
    changed.resolve,
  )
  onTestFinished(stop)
  // A watch may begin some time after it was asked for, so the file is changed until somebody hears of it.
  let heard = false
  const end = changed.promise.then(() => {
    heard = true
  })
  for (let n = 0; !heard && n < 500; n++) {
    writeFileSync(join(top, 'a/b/KNOWLEDGE.md'), entry('b', `version: ${n}\n`))
    await Promise.race([end, sleep(200)])
  }
  assert(heard)
})

test('a root that appears later is noticed; hidden folders and what is excepted are not [K-88]', async () => {
  const top = makeTree({ 'a/KNOWLEDGE.md': entry('a') })
  let heard = 0
  const count = () => {
    heard++
  }
  onTestFinished(watchRoots([{ path: top }], count, [join(top, 'own')]))
  await sleep(500)
  heard = 0
  for (const path of ['.ambit', 'own']) {
    mkdirSync(join(top, path))
    writeFileSync(join(top, path, 'x.json'), '{}')
  }
  await sleep(500)
  assert.equal(heard, 0)
  onTestFinished(watchRoots([{ path: join(top, '.ambit/later') }], count))
  mkdirSync(join(top, '.ambit/later'))
  writeFileSync(join(top, '.ambit/later/KNOWLEDGE.md'), entry('later'))
  for (let n = 0; heard === 0 && n < 50; n++) await sleep(200)
  assert(heard > 0)
})

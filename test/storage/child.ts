// One process of a storage test: `node child.ts <target as JSON> <task> <name>`. Says `ready`, waits for a line, does its
// task, and writes what came of it, one line each.

import { once } from 'node:events'
import { writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { Failure } from '../../src/base/failure.ts'
import { openStore, type Store } from '../../src/storage/store.ts'
import { resumeClaim, takeClaim } from '../../src/storage/tables/claims.ts'
import { acquireLease } from '../../src/storage/tables/leases.ts'
import type { Change } from '../../src/storage/work.ts'
import { addWithin, sampleClaim } from '../../src/testing/storage/sample.ts'
import { openTarget, pairOf, type Target, tenant } from './target.ts'

const [, , json = '', task = '', name = ''] = process.argv

// Written at once, so that what was said is said even if the next thing is the end of this process.
const say = (line: string): number => writeSync(1, `${line}\n`)

const told = createInterface({ input: process.stdin })
if (task === 'open') await openEach()
else await doTask()

async function doTask(): Promise<void> {
  const store = await openStore(openTarget(JSON.parse(json) as Target))
  say('ready')
  await once(told, 'line')
  if (task === 'claims') await race(store, (key) => takeClaim(sampleClaim(key, { owner: name }), 0))
  if (task === 'resumed') await race(store, (key) => resumeClaim(sampleClaim(key, { owner: name })))
  if (task === 'leases') await race(store, (key) => acquireLease({ name: key, holder: name, ttlMs: 1000 }, 0))
  if (task === 'counters') await addUp(store)
  // Some of the processes commit one by one, the others several together.
  if (task === 'commits') await commits(store, Number(name) % 2 === 0 ? 1 : 4, 200)
  if (task === 'endless') await commits(store, 4, Number.POSITIVE_INFINITY)
  if (task === 'three') await commits(store, 1, 3)
  await store.close()
  told.close()
}

/** Opens every target it is told, until it is told no more. */
async function openEach(): Promise<void> {
  say('ready')
  for await (const line of told) {
    const { target, atMs } = JSON.parse(line) as { target: Target; atMs: number }
    // All begin in the same instant, or few of them would ever meet.
    while (Date.now() < atMs);
    const store = await openStore(openTarget(target))
    await store.close()
    say('opened')
  }
}

/** Tries each key in an order of its own, several at a time, and says which it got. */
async function race(store: Store, change: (key: string) => Change): Promise<void> {
  const keys = Array.from({ length: 50 }, (_, index) => `key-${index}`)
  const turn = Number(name) * 13
  const own = [...keys.slice(turn), ...keys.slice(0, turn)]
  await Promise.all(
    own.map((key) =>
      store.write(tenant, change(key)).then(
        () => say(key),
        (error: { code?: string }) => {
          if (!error.code?.endsWith('.taken')) throw error
        },
      ),
    ),
  )
}

/** Adds to one counter, one by one and several together, until it is full, and says each value it got. */
async function addUp(store: Store): Promise<void> {
  const lane = async (): Promise<void> => {
    for (let full = false; !full; ) {
      full = await store.write(tenant, addWithin({ scope: 's', key: 'k', amount: 3, max: 1000 })).then(
        ({ calls }) => say(String(calls)) < 0,
        (error: { code?: string }) => {
          if (error.code !== 'budget.exceeded') throw error
          return true
        },
      )
    }
  }
  await Promise.all(Array.from({ length: 1 + Number(name) }, lane))
}

/** Commits in several lanes and says the id of each that was acknowledged; a lane ends when the store is away. */
async function commits(store: Store, lanes: number, count: number): Promise<void> {
  let next = 0
  const lane = async (): Promise<void> => {
    while (next < count) {
      const id = `${name}-${next++}`
      try {
        await store.commit(tenant, pairOf(id))
        say(id)
      } catch (error) {
        if (!(error instanceof Failure) || error.code !== 'store.unavailable') throw error
        say(`refused ${error.data['outcome']} ${id}`)
        return
      }
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}

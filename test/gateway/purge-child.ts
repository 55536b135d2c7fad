// One process of a test of purging: `node purge-child.ts <folder> <point>`. Says `ready`, waits for a line, and purges all
// correlations there are, in several transactions. At a named point it ends itself, as a power cut would.

import { once } from 'node:events'
import { writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { purgeEvidence } from '../../src/runtime/evidence/purge.ts'
import { operator } from '../../src/runtime/identity/caller.ts'
import { openAmbit } from '../../src/runtime/runtime.ts'
import { tenant } from './world.ts'

const [, , folder = '', point = ''] = process.argv
const say = (line: string): number => writeSync(1, `${line}\n`)

/** The second of several transactions is the one to end in. */
let purges = 0
function stopAt(name: string): void {
  if (name !== point || purges !== 2) return
  process.kill(process.pid, 'SIGKILL')
  for (;;);
}

const told = createInterface({ input: process.stdin })
const ambit = await openAmbit({ folder, env: {} })
const store: typeof ambit.store = {
  ...ambit.store,
  commit: async (of, commit) => {
    purges++
    stopAt('before')
    const seal: typeof commit.seal = (drafts, position) => {
      stopAt('inside')
      return commit.seal(drafts, position)
    }
    const done = await ambit.store.commit(of, { ...commit, seal })
    stopAt('after')
    return done
  },
}
say('ready')
await once(told, 'line')
await purgeEvidence({ ...ambit, store }, operator(tenant), { before: '9999-12-31T00:00:00.000Z' })
await ambit.close()
told.close()
say('done')

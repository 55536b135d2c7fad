import assert from 'node:assert/strict'
import { onTestFinished, test } from 'vitest'
import type { Ids } from '../../src/base/ids.ts'
import { memoryRoot } from '../../src/files/memory.ts'
import { tenantId } from '../../src/model/identity/tenant-id.ts'
import { openConfiguredHosts } from '../../src/runtime/hosting/configured-host.ts'
import { operator } from '../../src/runtime/identity/caller.ts'
import { createTenant } from '../../src/runtime/identity/tenants.ts'
import { openWith } from '../../src/runtime/runtime.ts'
import { settingsFrom } from '../../src/runtime/settings/config.ts'
import { findRun, runsOfRoot } from '../../src/storage/tables/runs/runs.ts'
import { agent, calls, inTurn } from '../support/runs.ts'

/** Ids of runs as two processes make them in the same moment: each of them twice. */
function clashing(ids: Ids): Ids {
  const made = new Map<string, string>()
  return {
    next: (prefix) => {
      if (prefix !== 'run') return ids.next(prefix)
      const again = made.get(prefix)
      if (again === undefined) made.set(prefix, ids.next(prefix))
      else made.delete(prefix)
      return again ?? made.get(prefix) ?? ''
    },
  }
}

test('an id that is taken already is made anew, for a run and a child, and nothing is there twice [G-70 F-14]', async () => {
  const helper = agent('helper', () => 'helped')
  const desk = agent('desk', inTurn(calls(['agent_helper', { input: 'go' }]), 'done'), { tools: [helper] })
  const settings = settingsFrom(
    { agents: [desk], store: { driver: 'sqlite', path: ':memory:' } },
    { folder: '.', env: {} },
  )
  const runtime = await openWith(settings, { now: () => Date.now() }, { files: memoryRoot() })
  const home = tenantId('local')
  await createTenant(runtime, { id: home })
  const hosts = await openConfiguredHosts({ ...runtime, ids: clashing(runtime.ids) }, home, () => undefined)
  onTestFinished(() => hosts.close().finally(() => runtime.close()))
  const { runs } = hosts.home
  const { store } = runtime
  for (const input of ['first', 'second']) {
    const { run_id: id } = await runs.start(operator(home), { agent: 'desk', input })
    for (let status = ''; status !== 'completed'; ) {
      const changed = Promise.withResolvers<void>()
      const unwatch = runs.watch(id, changed.resolve)
      status = (await store.read(() => findRun(home, id)))?.record.status ?? ''
      assert.doesNotMatch(status, /failed|cancelled/)
      if (status !== 'completed') await changed.promise
      unwatch()
    }
    const tree = await store.read(() => runsOfRoot(home, id))
    assert.deepEqual(
      tree.map(({ record }) => [record.agent_id, record.status]),
      [
        ['desk', 'completed'],
        ['helper', 'completed'],
      ],
    )
  }
})

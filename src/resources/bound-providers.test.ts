import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'vitest'
import { folder, makeTree } from '../../test/knowledge/tree.ts'
import { writePackIn } from '../../test/support/knowledge.ts'
import { contextOf } from '../../test/support/resource-context.ts'
import type { ResourceMode } from '../grants/ceilings.ts'
import { tenantId } from '../model/identity/tenant-id.ts'
import { openKnowledge } from '../runtime/knowledge/knowledge.ts'
import { knowledgeSource } from '../runtime/knowledge/provider.ts'
import { openSqlite } from '../storage/drivers/sqlite.ts'
import { openStore } from '../storage/store.ts'
import { countingIds, fakeClock } from '../testing/ports.ts'
import { runTool } from './bind.ts'
import { files } from './files.ts'
import { knowledge } from './knowledge.ts'

async function world() {
  const top = makeTree({ data: folder, 'data/acme/acme/eu/a': 'of eu', 'data/acme/acme/us/a': 'of us' })
  for (const name of ['acme', 'eu', 'world'])
    writePackIn(
      join(top, name),
      `${name}-pumps`,
      { description: `Pumps of ${name}.` },
      { 'documents/a.md': '# Pumps\n\nHot.\n' },
    )
  const root = (name: string, at: string) => ({ id: name, path: join(top, name), scope: 'organisation' as const, at })
  const roots = [root('acme', 'acme'), root('eu', 'acme/eu'), root('world', 'world')]
  const providers = {
    files: files({ root: join(top, 'data') }),
    knowledge: knowledge(knowledgeSource(openKnowledge({ roots }))),
  }
  const store = await openStore(openSqlite({ path: ':memory:' }))
  const { run, signal } = contextOf([])
  const call = (
    name: keyof typeof providers,
    tool: string,
    { input = {}, grants = ['acme/eu'], roots = ['acme'], mode = 'read-write' as ResourceMode } = {},
  ) =>
    runTool(providers[name], tool, input, {
      resource: { name, mode, config: undefined, grants },
      ...{ run, roots, signal, store, tenant: tenantId('acme'), clock: fakeClock(), ids: countingIds() },
    })
  return { providers, call }
}

test('bound to a run, every tool needs a live grant, and no scope that a result names strays [G-43 G-48]', async () => {
  const { providers, call } = await world()
  for (const name of ['files', 'knowledge'] as const)
    for (const tool of Object.keys(providers[name].tools))
      await assert.rejects(call(name, tool, { grants: [] }), { code: 'grant.missing' })
  const { data, scopes } = await call('files', 'search', { input: { query: 'of' } })
  assert.deepEqual(
    [data, scopes],
    [{ ok: true, matches: [{ path: 'a', line: 1, text: 'of eu' }], truncated: false }, ['acme/eu']],
  )
  for (const tool of ['write', 'delete'])
    await assert.rejects(call('files', tool, { mode: 'read' }), { code: 'resource.read_only' })
})

test('knowledge is looked for upwards as far as the root of the tenant, and no further [G-48]', async () => {
  const { call } = await world()
  const seen = async (grants: string[], roots: string[]) => {
    const { data, scopes } = await call('knowledge', 'catalog', { grants, roots, mode: 'read' })
    return [(data as { packs: { name: string }[] }).packs.map(({ name }) => name), scopes]
  }
  assert.deepEqual(await seen(['acme/eu/sales'], ['acme']), [
    ['acme-pumps', 'eu-pumps'],
    ['acme', 'acme/eu'],
  ])
  assert.deepEqual(await seen(['acme/eu/sales'], ['acme/eu']), [['eu-pumps'], ['acme/eu']])
  assert.deepEqual(await seen(['acme/eu/sales'], ['acme/eu/sales']), [[], []])
  assert.deepEqual(await seen(['world/one'], ['world/one']), [[], []])
})

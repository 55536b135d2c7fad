import assert from 'node:assert/strict'
import { test } from 'vitest'
import { tenantId } from '../../src/model/identity/tenant-id.ts'
import type { Ambit } from '../../src/operations/ambit.ts'
import { amendTenant } from '../../src/storage/tables/tenants.ts'
import type { Shell } from '../cli/harness.ts'
import { testAgents, testCapabilities } from '../support/agents.ts'
import { type GivenDoors, throughDoors } from '../support/doors.ts'
import { agent, givenRuns } from '../support/runs.ts'
import { givenServer } from '../support/server.ts'

/** One use of a path at one door. What it is refused with is thrown. */
type Entry = (path: string) => Promise<unknown>

/** Everything that takes a path, in code. */
const inCode = ({ runs, run, memory }: Ambit): Readonly<Record<string, Entry>> => ({
  'starts a run': (path) => runs.start('clerk', 'go', { context: [path] }),
  'starts and follows a run': async (path) => {
    const started = await run('clerk', 'go', { context: ['acme/desk', path] })
    for await (const _ of started.events());
  },
  'starts a run until a time': (path) =>
    runs.start('clerk', 'go', { context: [{ path, expiresAt: '2099-01-01T00:00:00.000Z' }] }),
  'lists memory': (path) => memory.list(path),
  'lists what another provider keeps': (path) => memory.list(path, { collection: 'scratchpad' }),
  'erases a scope': (path) => memory.erase(path),
  'erases a scope with all below it': (path) => memory.erase(path, { recursive: true, reason: 'asked for' }),
})

/** The same on the command line. */
const inShell = (shell: Shell, ...more: string[]): Readonly<Record<string, Entry>> => {
  const entry =
    (...words: string[]): Entry =>
    async (path) => {
      const { code, err } = await shell.run(...words.map((word) => (word === '<path>' ? path : word)), ...more)
      if (code !== 0) throw new Error(err)
    }
  return {
    'starts a run': entry('run', 'clerk', '--input', 'go', '--grant', '<path>'),
    'starts and shows a run': entry(
      'run',
      'clerk',
      '--input',
      'go',
      '--grant',
      'acme/desk',
      '--grant',
      '<path>',
      '--stream',
    ),
    'lists memory': entry('memory', 'list', '<path>'),
    'erases a scope': entry('memory', 'erase', '<path>', '--recursive'),
  }
}

/** Everything that takes a path, at every door there is. */
const entriesOf = ({ ambit, client, shell, url }: GivenDoors): readonly (readonly [name: string, entry: Entry])[] =>
  Object.entries({
    library: inCode(ambit),
    HTTP: inCode(client),
    CLI: inShell(shell),
    'CLI at a host': inShell(shell, '--url', url),
  }).flatMap(([door, entries]) => Object.entries(entries).map(([name, entry]) => [`${door} ${name}`, entry] as const))

// The tenant has one root, `acme`.
const outside = ['beta', 'acm', 'acmes', 'acme-eu', 'Acme', 'beta/acme']

test('a path outside the roots of its tenant is refused by all that takes a path, at every door [G-23]', async () => {
  const clerk =
    'id: clerk\nversion: 1.0.0\nkind: llm\ninstruction: Keep notes.\nresources:\n  memory: {mode: read-write}\n'
  await throughDoors({ files: { 'clerk.yaml': clerk }, turn: `() => ({ text: 'done' })` }, async (given) => {
    const entries = entriesOf(given)
    assert.equal(entries.length, 7 + 7 + 4 + 4)
    for (const [name, entry] of entries) {
      await entry('acme/desk')
      for (const path of name.startsWith('CLI') ? outside.slice(0, 2) : outside)
        await assert.rejects(
          entry(path),
          { message: new RegExp(`grant \`${path}\` is outside this tenant`) },
          `${name}: ${path}`,
        )
    }
    const { runs } = await given.ambit.runs.list({ limit: 200 })
    assert(runs.length > 0 && runs.every(({ grants }) => grants.every(({ path }) => path === 'acme/desk')))
  })
})

test('what lies outside the roots of its tenant by now is neither read nor forgotten, by its id neither [G-23]', async () => {
  const server = await givenServer({
    offer: { capabilities: testCapabilities },
    agents: testAgents().agents,
    roots: ['acme', 'beta'],
  })
  const key = await server.keyOf({ id: 'ada', kind: 'user', roles: ['admin'] })
  const write = (scope: string) =>
    server.ask('POST', '/v1/runs', {
      key,
      body: { agent: 'clerk', input: 'call memory_write {"content":"x"}', context: [scope] },
    })
  for (const scope of ['acme/desk', 'beta/desk']) {
    const { body } = await write(scope)
    await server.ask('GET', `/v1/runs/${body.run_id}/events`, { key })
  }
  const idIn = async (scope: string): Promise<string> =>
    (await server.ask('GET', `/v1/memory?scope=${scope}`, { key })).body.entries[0].entry_id
  const [inside, left] = [await idIn('acme/desk'), await idIn('beta/desk')]
  await server.ambit.store.write(
    tenantId('northlight'),
    amendTenant((tenant) => ({ ...tenant, roots: ['acme'] })),
  )
  for (const [method, rest, body] of [
    ['GET', ''],
    ['POST', '/forget', {}],
  ] as const) {
    const { status, body: answer } = await server.ask(method, `/v1/memory/${left}${rest}`, {
      key,
      ...(body && { body }),
    })
    assert.deepEqual([status, answer.code], [403, 'grant_outside_root'])
    assert.equal((await server.ask(method, `/v1/memory/${inside}${rest}`, { key, ...(body && { body }) })).status, 200)
  }
  for (const [method, path, body] of [
    ['GET', '/v1/memory?scope=beta/desk', undefined],
    ['POST', '/v1/memory/erase', { scope: 'beta' }],
    ['POST', '/v1/runs', { agent: 'clerk', context: ['beta/desk'] }],
  ] as const)
    assert.equal((await server.ask(method, path, { key, body })).body.code, 'grant_outside_root')
})

test('only the tenant `local` of the own process may do without roots; with roots it is held to them [G-23 G-24]', async () => {
  const desk = () => agent('desk', () => 'done')
  const table = [
    { roots: [], served: false, beta: undefined },
    { roots: ['acme'], served: false, beta: 'grant.outside_root' },
    { roots: ['acme'], served: true, beta: 'grant.outside_root' },
    { roots: [], served: true, beta: 'grant.no_root' },
  ]
  for (const { beta, ...place } of table) {
    const { run, ambit } = await givenRuns({ agents: [desk()] }, place)
    const uses: Entry[] = [(path) => run('desk', 'go', { context: [path] }), ambit.memory.list, ambit.memory.erase]
    for (const use of uses) await (beta === undefined ? use('beta') : assert.rejects(use('beta'), { code: beta }))
  }
})

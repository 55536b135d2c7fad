import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { writeDepot } from '../../../test/cli/depot.ts'
import { givenAmbit, givenTenant, tempFolder } from '../../../test/cli/given.ts'
import { acceptedOf, root, script } from '../../../test/support/mcp.ts'
import { deadPort, givenServer } from '../../../test/support/upstream.ts'
import type { McpUpstream } from '../../model/config/upstream.ts'
import { tenantId } from '../../model/identity/tenant-id.ts'
import { addApprover, revokeApprover } from '../identity/approvers.ts'
import { operator } from '../identity/caller.ts'
import { createPrincipal } from '../identity/principals.ts'
import { setSecret } from '../identity/secrets.ts'
import { createTenant } from '../identity/tenants.ts'
import { examine } from './doctor.ts'

/** What doctor says of hosting in this folder. */
async function found(folder: string): Promise<string[]> {
  const said: string[] = []
  for await (const { check, verdict, message } of examine({ folder, env: {} }))
    if (['hosting', 'approvers', 'upstreams', 'secrets'].includes(check)) said.push(`${verdict} ${check}: ${message}`)
  return said
}

/** A capability under an id of its own. */
const renamed = (one: McpUpstream['capabilities'][number], name: string) => ({
  ...one,
  descriptor: { ...one.descriptor, id: `mcp.${name}` },
})

function givenFolder(): string {
  const folder = tempFolder()
  writeDepot(folder)
  return folder
}

const policyIn = (folder: string): string => join(folder, 'policies/quality-release.json')

const rewrite = (path: string, from: string, to: string): void => {
  const text = readFileSync(path, 'utf8')
  assert(text.includes(from))
  writeFileSync(path, text.replace(from, to))
}

describe('doctor looks at what is hosted [F-20 H-09]', () => {
  test('an agent that names a model which is not there is told', async () => {
    const folder = tempFolder()
    const agentsIn = async (model: string, more = '') => {
      const manifest = `id: desk\nversion: 1.0.0\nkind: llm\ninstruction: x\nmodel: ${model}\n${more}`
      writeFileSync(join(folder, 'desk.yaml'), manifest)
      const said: string[] = []
      for await (const { check, verdict, message } of examine({ folder, env: {} }))
        if (check === 'agents') said.push(`${verdict}: ${message}`)
      return said
    }
    const config = "export default { agents: ['desk.yaml'], models: { small: { id: 's', turn: async () => null } } }"
    writeFileSync(join(folder, 'ambit.config.mts'), config)
    assert.deepEqual(await agentsIn('small'), ['ok: 1 agent'])
    assert.deepEqual(await agentsIn('gone'), ['fail: agent `desk`: no model `gone`'])
    assert.deepEqual(await agentsIn('small', 'resources: { notes: {} }\n'), [
      'fail: agent `desk` resource `notes`: no provider for kind `notes`',
    ])
  })

  test('all that is listed registers and compiles, before there is a store', async () => {
    assert.deepEqual(await found(givenFolder()), ['ok hosting: 2 capabilities, 1 policy'])
  })

  test('upstreams count as all else does, and one that is broken is named [H-90]', async () => {
    const folder = tempFolder()
    const descriptor = {
      id: 'api.move',
      version: '1.0.0',
      description: 'Moves.',
      policy: { auth_required: true, approval_required: true },
    }
    const api = {
      adapter: 'http',
      name: 'api',
      server: { url: 'https://api.example' },
      capabilities: [{ request: { method: 'POST', path: '/move' }, descriptor }],
    }
    writeFileSync(join(folder, 'api.json'), JSON.stringify(api))
    writeFileSync(join(folder, 'broken.json'), '{"adapter":"http"}')
    const upstreams = ['api.json', 'broken.json']
    const ambit = await givenAmbit({ folder, config: { tenant: 'acme', upstreams } })
    await createTenant(ambit, { id: 'acme' })
    const said = await found(folder)
    assert.match(said.find((line) => line.startsWith('fail upstreams')) ?? '', /left out: `broken\.json`: /)
    assert(said.includes('ok hosting: 1 capability, 0 policies'), said.join('\n'))
    assert.match(said.find((line) => line.startsWith('warn approvers')) ?? '', /`api\.move`/)
  })

  test('a capability whose tier has people decide needs some who do', async () => {
    const folder = tempFolder()
    const described = { version: '1.0.0', description: 'Looks.', policy: {} }
    const capabilities = ['automated', 'human_driven'].map((tier) => ({
      request: { method: 'GET', path: `/${tier}` },
      descriptor: { ...described, id: `api.${tier}`, metadata: { autonomy: { tier } } },
    }))
    const api = { adapter: 'http', name: 'api', server: { url: 'https://api.example' }, capabilities }
    writeFileSync(join(folder, 'api.json'), JSON.stringify(api))
    const ambit = await givenAmbit({ folder, config: { tenant: 'acme', upstreams: ['api.json'] } })
    await createTenant(ambit, { id: 'acme' })
    const told = 'warn approvers: capability `api.human_driven`'
    assert.equal((await found(folder)).at(-1), `${told} asks for 1 approver, and there are not as many`)
    const second = { ...capabilities[1], descriptor: { ...capabilities[1]?.descriptor, id: 'api.second' } }
    writeFileSync(join(folder, 'api.json'), JSON.stringify({ ...api, capabilities: [...capabilities, second] }))
    assert.equal((await found(folder)).at(-1), `${told} and 1 more ask for 1 approver, and there are not as many`)
  })

  test('a secret that is not there is named, with what needs it [H-90]', async () => {
    const folder = tempFolder()
    const capability = (n: number) => ({
      request: { method: 'GET', path: `/${n}` },
      descriptor: { id: `api.n${n}`, version: '1.0.0', description: 'Looks.', policy: {} },
    })
    const server = { url: 'https://api.example', headers: { authorization: 'Bearer {secret:api_key}' } }
    const api = { adapter: 'http', name: 'api', server, capabilities: [capability(1), capability(2)] }
    writeFileSync(join(folder, 'api.json'), JSON.stringify(api))
    const ambit = await givenAmbit({ folder, config: { tenant: 'acme', upstreams: ['api.json'] } })
    const me = await givenTenant(ambit)
    const missing = 'fail secrets: there is no secret `api_key`, and capability `api.n1` and 1 more cannot do without'
    assert((await found(folder)).includes(missing))
    await setSecret(ambit, me, 'api_key', 'tok-1')
    assert((await found(folder)).includes('ok secrets: 1 secret for capabilities, all there'))
  })

  test('each upstream is asked, and one that does not answer is named with the reason [H-90]', async () => {
    const folder = tempFolder()
    const { origin } = await givenServer((response) => response.writeHead(404).end())
    const dead = `http://127.0.0.1:${await deadPort()}`
    const capability = (id: string) => ({
      request: { method: 'GET', path: '/' },
      descriptor: { id, version: '1.0.0', description: 'Looks.', policy: {} },
    })
    const http = (name: string, url: string) => ({
      ...{ adapter: 'http', name, server: { url }, capabilities: [capability(`api.${name}`)] },
    })
    const mcp = await acceptedOf(script('test/mcp/stdio.ts', 'both'))
    const [add] = mcp.capabilities
    assert.ok(add)
    const server = { ...mcp.server, cwd: root }
    const changed = { ...add, definition: `sha256:${'0'.repeat(64)}` }
    const upstreams = [
      http('here', origin),
      http('dead', dead),
      { ...mcp, server, structured_content: 'unfenced' },
      { ...mcp, name: 'drifted', server, capabilities: [renamed(changed, 'a'), renamed(add, 'b')] },
      { ...mcp, name: 'gone', server: { command: 'no-such-program' }, capabilities: [renamed(add, 'c')] },
    ]
    const egress = { allow: [origin, dead] }
    const ambit = await givenAmbit({ folder, config: { tenant: 'acme', upstreams: upstreams as never, egress } })
    await createTenant(ambit, { id: 'acme' })
    const said = (await found(folder)).filter((line) => line.includes(' upstreams: '))
    assert.deepEqual(said.slice(0, 1), ['ok upstreams: `here` answers'])
    assert.match(said[1] ?? '', /^fail upstreams: `dead`: `http:.*`: the server at `.*` cannot be reached$/)
    assert.deepEqual(said.slice(2), [
      'ok upstreams: `given` answers; what it says as `structuredContent` is passed on, and stands in no fence',
      'warn upstreams: `drifted` answers; gone, or not what was accepted: `add`',
      'fail upstreams: `gone`: the server `gone` is not available: `no-such-program` could not be started (ENOENT)',
    ])
  })

  test('two files with one id: the second is left out and both are named; a folder that is not there is told [H-90]', async () => {
    const folder = tempFolder()
    const api = {
      adapter: 'http',
      name: 'api',
      server: { url: 'https://api.example' },
      capabilities: [
        {
          request: { method: 'POST', path: '/move' },
          descriptor: { id: 'api.move', version: '1.0.0', description: 'Moves.', policy: { auth_required: true } },
        },
      ],
    }
    mkdirSync(join(folder, 'up'))
    for (const name of ['a', 'b']) writeFileSync(join(folder, `up/${name}.json`), JSON.stringify({ ...api, name }))
    writeFileSync(join(folder, 'ambit.config.json'), JSON.stringify({ upstreams: ['up', 'nope'] }))
    assert.deepEqual(await found(folder), [
      'fail upstreams: left out: `up/b.json`: its capability `api.move` is offered by `up/a.json` already',
      'warn upstreams: the folder `nope` that `upstreams` lists is not there',
      'ok hosting: 1 capability, 0 policies',
    ])
  })

  test('where nothing is listed it has nothing to say', async () => {
    assert.deepEqual(await found(tempFolder()), [])
  })

  test.each<[string, string, string, RegExp]>([
    [
      'a policy file that is gone',
      'config',
      'quality-release.json',
      /^fail hosting: `policies.gone\.json`: the file cannot be read/,
    ],
    ['an operator that does not exist', '"=="', '"=~"', /^fail hosting: .*`=~`/],
    ['a rule that reads an undeclared field', 'context.purpose', 'context.mood', /^fail hosting: .*mood/],
    [
      'a reader that is no policy',
      '"name": "quality_release"',
      '"name": "other"',
      /^fail hosting: .*`quality_release`/,
    ],
  ])('%s', async (_, from, to, expected) => {
    const folder = givenFolder()
    if (from === 'config') rewrite(join(folder, 'ambit.config.ts'), to, 'gone.json')
    else rewrite(policyIn(folder), from, to)
    const [first = '', ...rest] = await found(folder)
    assert.match(first, expected)
    assert.deepEqual(rest, [])
  })

  test('a capability that nothing allows is named', async () => {
    const folder = givenFolder()
    rewrite(join(folder, 'ambit.config.ts'), "policy: { statement: 'Anyone may read a temperature.' },", '')
    assert.deepEqual(await found(folder), [
      'ok hosting: 2 capabilities, 1 policy',
      'warn hosting: no caller may call `depot.temperature`: no policy allows it',
    ])
  })

  test('a policy that is about nothing that is offered is named', async () => {
    const folder = givenFolder()
    const stray = { name: 'stray', version: '1', applies_to: ['dpeot.*'], rules: [] }
    writeFileSync(join(folder, 'policies/stray.json'), JSON.stringify(stray))
    rewrite(join(folder, 'ambit.config.ts'), 'policies: [', "policies: ['policies/stray.json', ")
    assert.deepEqual(await found(folder), [
      'ok hosting: 2 capabilities, 2 policies',
      'warn hosting: policy `stray` is about nothing that is offered: `dpeot.*`',
    ])
  })

  test('enough different people must be there for every role that policies ask for', async () => {
    const folder = givenFolder()
    rewrite(policyIn(folder), '"quorum": 1', '"quorum": 2')
    const ambit = await givenAmbit({ folder })
    const me = operator(tenantId('northlight'))
    await createTenant(ambit, { id: 'northlight' })
    const few =
      'warn approvers: rule `quality_release/excursion` asks for 2 of responsible_pharmacist, and there are not as many'
    for (const [index, id] of ['ida', 'jo', 'kai'].entries()) {
      assert.equal((await found(folder)).at(-1), few, id)
      await createPrincipal(ambit, me, { id, kind: 'user' })
      await addApprover(ambit, me, { principal: id, roles: [index === 1 ? 'accountant' : 'responsible_pharmacist'] })
    }
    assert.equal((await found(folder)).at(-1), 'ok approvers: enough for every role that policies ask for')
    await revokeApprover(ambit, me, 'ida')
    assert.equal((await found(folder)).at(-1), few)
  })
})

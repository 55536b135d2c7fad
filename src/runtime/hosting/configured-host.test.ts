import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { givenAmbit, tempFolder } from '../../../test/cli/given.ts'
import { anyone } from '../../../test/support/host.ts'
import type { Json } from '../../base/canonical.ts'
import { defineCapability } from '../../gateway/capability.ts'
import { type TenantId, tenantId } from '../../model/identity/tenant-id.ts'
import { jsonSchemaOf } from '../../model/schemas.ts'
import { createTenant } from '../identity/tenants.ts'
import { loadSettings, settingsFrom } from '../settings/config.ts'
import { settleHosting } from '../settings/hosting.ts'
import { type AmbitConfig, defineConfig, definePolicy } from '../settings/user-config.ts'
import { offerFilesOf, offerSpecOf, openConfiguredHosts } from './configured-host.ts'
import { makeOffer } from './offer.ts'

const policy = definePolicy({
  name: 'all',
  version: '1',
  applies_to: ['desk.*'],
  rules: [{ id: 'yes', when: true, decision: 'allow' }],
})

const source = { folder: '.', env: {} }

function given(files: Readonly<Record<string, string>>): string {
  const folder = tempFolder()
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return folder
}

const hostingIn = async (folder: string) => (await loadSettings({ folder, env: {} })).hosting

describe('a configuration says what is hosted, and by which rules [F-20]', () => {
  test('capabilities, policies and the rules of the host become one offer', async () => {
    const folder = given({
      'rules.json': JSON.stringify({ ...policy, name: 'more' }),
      'ambit.config.ts': `
        import { defineCapability, defineConfig } from 'ambit'
        const hello = defineCapability({ id: 'desk.hello', version: '1.0.0', description: 'Greets.' }, () => ({}))
        export default defineConfig({
          capabilities: [hello],
          policies: [${JSON.stringify(policy)}, 'rules.json'],
          host: {
            port: 0, hostname: '::1', maxRisk: 'low', allow: ['desk.*'], block: ['desk.bye'], environment: 'prod',
            patterns: [{ capability_id: 'desk.hello', field: 'name', pattern: '^root$' }],
            lifecycles: { 'desk.hello': 'deprecated' }, strictOutput: true,
            resolvers: { stock: () => 7 }, safety: () => ({ approved: true, level: 'none', score: 0 }),
          },
        })`,
    })
    const hosting = await hostingIn(folder)
    assert.deepEqual([hosting.port, hosting.hostname], [0, '::1'])
    assert.deepEqual(offerFilesOf(hosting), [join(folder, 'rules.json')])
    const offer = makeOffer('me', offerSpecOf(hosting))
    assert.deepEqual(
      offer.policies.policies.map(({ name }) => name),
      ['all', 'more'],
    )
    assert.equal(offer.registry.get('desk.hello', '1.0.0')?.lifecycle, 'deprecated')
    assert.partialDeepStrictEqual(offer.rules, { maxRisk: 'low', environment: 'prod', blocked: ['desk.bye'] })
    assert.deepEqual(
      [offer.strictOutput, typeof offer.safety, Object.keys(offer.resolvers)],
      [true, 'function', ['stock']],
    )
  })

  test('without any of it nothing is offered, to this machine alone', async () => {
    const hosting = await hostingIn(tempFolder())
    assert.equal(hosting.hostname, '127.0.0.1')
    assert.deepEqual(offerSpecOf(hosting), { capabilities: [], policies: [] })
  })

  test('what only code can say is no part of the JSON Schema', () => {
    const { properties } = jsonSchemaOf('config') as { properties: Record<string, { properties?: object }> }
    assert.equal(properties['capabilities'], undefined)
    const host = Object.keys(properties['host']?.properties ?? {})
    assert(host.includes('maxRisk') && !host.includes('resolvers') && !host.includes('safety'))
  })

  test('a capability takes its input from any Standard Schema, and its handler the type of it', async () => {
    const typed = defineCapability(
      { id: 'desk.add', version: '1.0.0', description: 'Adds.', input: z.strictObject({ a: z.int(), b: z.int() }) },
      ({ a, b }) => ({ sum: (a satisfies number) + (b satisfies number) }),
    )
    const plain = defineCapability(
      { id: 'desk.echo', version: '1.0.0', description: 'Echoes.', input: { type: 'object' } },
      (input) => ({ ...(input satisfies Record<string, Json>) }),
    )
    const bare = defineCapability({ id: 'desk.any', version: '1.0.0', description: 'Takes anything.' }, ({ name }) => ({
      name: name ?? null,
    }))
    const config: AmbitConfig = defineConfig({ capabilities: [typed, plain, bare], policies: [policy] })
    assert.equal(settingsFrom(config, source).hosting.spec.capabilities.length, 3)
    assert.partialDeepStrictEqual(typed.descriptor.input_schema, { type: 'object', required: ['a', 'b'] })
  })
})

describe('a reload changes what all tenants are offered, or nothing [F-20]', () => {
  const offering = (...ids: readonly string[]) => {
    const capabilities = ids.map((id) =>
      defineCapability({ id, version: '1.0.0', description: 'Tests.', policy: {} }, () => ({})),
    )
    return settleHosting({ capabilities }, '.')
  }
  const [home, one, two] = [tenantId('home'), tenantId('one'), tenantId('two')]

  async function givenHosts() {
    const ambit = await givenAmbit()
    for (const id of [home, one, two]) await createTenant(ambit, { id })
    const hosts = await openConfiguredHosts(
      { ...ambit, settings: { ...ambit.settings, hosting: offering('desk.old') } },
      home,
      () => undefined,
    )
    onTestFinished(() => hosts.close())
    const offered = async (tenant: TenantId) => {
      const { host, release } = await hosts.hold(tenant)
      release()
      return host.gateway.discover(anyone).map(({ id }) => id)
    }
    return { hosts, offered }
  }

  test('in tenants with an open host, and in one that opens later', async () => {
    const { hosts, offered } = await givenHosts()
    assert.deepEqual([await offered(home), await offered(one)], [['desk.old'], ['desk.old']])
    await hosts.reload(offering('desk.new', 'desk.more'))
    for (const tenant of [home, one, two]) assert.deepEqual(await offered(tenant), ['desk.new', 'desk.more'])
  })

  test('in one that is opening meanwhile', async () => {
    const { hosts, offered } = await givenHosts()
    const opening = offered(one)
    await hosts.reload(offering('desk.new'))
    assert.deepEqual(await opening, ['desk.new'])
  })

  test('an offer that cannot be made leaves all as they were', async () => {
    const { hosts, offered } = await givenHosts()
    await offered(one)
    await assert.rejects(hosts.reload(offering('desk.new', 'desk.new')), { code: 'capability.invalid' })
    for (const tenant of [home, one, two]) assert.deepEqual(await offered(tenant), ['desk.old'])
  })
})

describe('one that is wrong is refused with its place [F-20]', () => {
  test.each<[unknown, string]>([
    [{ capabilities: {} }, '/capabilities'],
    [{ capabilities: [{ id: 'desk.hello' }] }, '/capabilities/0'],
    [{ capabilities: [{ descriptor: {}, handler: 'x' }] }, '/capabilities/0'],
    [{ host: { safety: true } }, '/host/safety'],
    [{ host: { resolvers: [] } }, '/host/resolvers'],
    [{ host: { resolvers: { stock: 7 } } }, '/host/resolvers/stock'],
  ])('code: %j', (value, pointer) => {
    assert.throws(() => settingsFrom(value as AmbitConfig, source), { code: 'field.invalid', data: { pointer } })
  })

  test.each<[unknown, string, string]>([
    [{ host: { ports: 1 } }, 'field.unknown', '/host/ports'],
    [{ host: { port: 65_536 } }, 'field.invalid', '/host/port'],
    [{ host: { maxRisk: 'none' } }, 'field.invalid', '/host/maxRisk'],
    [{ host: { lifecycles: { a: 'off' } } }, 'field.invalid', '/host/lifecycles/a'],
    [{ host: { mandatePrincipals: ['any'] } }, 'field.invalid', '/host/mandatePrincipals/0'],
    [
      { host: { patterns: [{ capability_id: 'a', field: 'b', pattern: '(' }] } },
      'field.invalid',
      '/host/patterns/0/pattern',
    ],
    [{ host: 'here' }, 'field.invalid', '/host'],
    [{ policies: [{ ...policy, rule: [] }] }, 'field.unknown', '/policies/0/rule'],
    [{ policies: [7] }, 'field.invalid', '/policies/0'],
  ])('JSON: %j', async (value, code, pointer) => {
    const folder = given({ 'ambit.config.json': JSON.stringify(value) })
    await assert.rejects(loadSettings({ folder, env: {} }), { code, data: { pointer } })
  })

  test.each([
    ['that is not there', undefined, /^`rules\.json`: the file cannot be read: ENOENT$/],
    ['that is no JSON', '{', /^`rules\.json`: .* at line 1/],
    ['that is no policy', '{"name":"x"}', /^`rules\.json`: policy: `\/version` is missing/],
  ])('a policy file %s, when it is needed', async (_, text, message) => {
    const folder = given({
      'ambit.config.json': JSON.stringify({ policies: ['rules.json'] }),
      ...(text !== undefined && { 'rules.json': text }),
    })
    const hosting = await hostingIn(folder)
    assert.throws(() => offerSpecOf(hosting), { code: 'policy.invalid', message })
  })
})

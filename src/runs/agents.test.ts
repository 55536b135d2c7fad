import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { Failure } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import { type ProviderFacts, registerAgents } from './agents.ts'
import { readManifest } from './manifest.ts'

const memory: ProviderFacts = {
  kind: 'memory',
  maxMode: 'read-write',
  tools: { read: {}, write: { mode: 'read-write' } },
}
const files: ProviderFacts = { kind: 'files', maxMode: 'read', tools: { list: {}, read: {} } }
const providers = new Map([memory, files].map((provider) => [provider.kind, provider]))
const capabilities = ['mail.send', 'mail-send', 'crm.read']

const agent = (id: string, more: object) =>
  readManifest({ id, version: '1.0.0', kind: 'llm', instruction: '', ...more })
const line = (id: string, ...steps: object[]) => readManifest({ id, version: '1.0.0', kind: 'sequential', steps })
const register = (...agents: ReturnType<typeof agent>[]) => registerAgents(agents, providers, capabilities)

function refusal(...agents: ReturnType<typeof agent>[]): Pick<Failure, 'code' | 'data' | 'help' | 'message'> {
  try {
    register(...agents)
  } catch (error) {
    assert(error instanceof Failure)
    return error
  }
  return assert.fail('the agents should be refused')
}

test('agents whose names all exist are registered, with those that stand in a step [G-37 G-39]', () => {
  const desk = agent('desk', {
    tools: ['mail.send', 'agent.line'],
    resources: { memory: {}, notes: { kind: 'memory' } },
  })
  const inner = { id: 'inner', version: '1.0.0', kind: 'tool', capability: 'crm.read' }
  const registry = register(desk, line('line', { id: 'a', ref: 'desk' }, { id: 'b', agent: inner }))
  assert.deepEqual([...registry.keys()], ['desk', 'line', 'inner'])
  assert.equal(registry.get('desk'), desk)
  assert.equal(registry.get('inner')?.kind, 'tool')
  assert.equal(registry.get('constructor'), undefined)
})

test('a kind without a provider is refused, and agent, resource and kind are named [G-40]', () => {
  for (const kind of ['memorry', 'constructor', 'toString']) {
    const { code, message, data, help } = refusal(agent('desk', { resources: { notes: { kind } } }))
    assert.equal(code, 'resource.unknown_kind')
    assert.match(help ?? '', /`providers`/)
    assert.equal(message, `agent \`desk\` resource \`notes\`: no provider for kind \`${kind}\``)
    assert.deepEqual(data, { agent: 'desk', resource: 'notes', kind })
  }
})

test('a mode above what the provider can is refused [G-37]', () => {
  const { code, message, data } = refusal(agent('desk', { resources: { files: { mode: 'read-write' } } }))
  assert.equal(code, 'resource.mode_unsupported')
  assert.equal(message, 'agent `desk` resource `files`: kind `files` is read only')
  assert.deepEqual(data, { agent: 'desk', resource: 'files', kind: 'files' })
})

test('what an agent names must exist [G-40]', () => {
  const cases: [agents: ReturnType<typeof agent>[], code: string][] = [
    [[agent('desk', { tools: ['mail.sent'] })], 'capability.not_found'],
    [[agent('desk', { tools: ['agent.other'] })], 'agent.not_found'],
    [[line('line', { id: 'a', ref: 'other' })], 'agent.not_found'],
    [[line('line', { id: 'a', ref: 'crm' })], 'agent.not_found'],
    [[readManifest({ id: 'one', version: '1.0.0', kind: 'tool', capability: 'crm.write' })], 'capability.not_found'],
    [[agent('desk', { resources: { memory: { expose: ['reed'] } } })], 'manifest.invalid'],
    [[agent('desk', { resources: { memory: { expose: ['constructor'] } } })], 'manifest.invalid'],
    [[agent('desk', {}), agent('desk', {})], 'manifest.invalid'],
    [[agent('desk', {}), line('line', { id: 'a', agent: agent('desk', {}).manifest })], 'manifest.invalid'],
  ]
  for (const [agents, code] of cases) assert.equal(refusal(...agents).code, code)
})

test('two tools with one name in front of a model are refused, wherever they come from [G-42]', () => {
  const cases: object[] = [
    { tools: ['mail.send', 'mail-send'] },
    { tools: ['mail.send', 'mail.send'] },
    { tools: ['mail.send'], resources: { mail: { kind: 'sending' } } },
    { tools: ['agent.desk', 'agent_desk'] },
    { resources: { a_b: { kind: 'memory' }, 'a-b': { kind: 'memory' } } },
    { resources: { a_b: { kind: 'memory' }, 'a-b': { kind: 'files' } } },
    { resources: { a: { kind: 'nested' }, a_b: { kind: 'memory' } } },
  ]
  for (const one of cases) {
    const more: ProviderFacts[] = [
      { kind: 'sending', maxMode: 'read', tools: { send: {} } },
      { kind: 'nested', maxMode: 'read', tools: { b_read: {} } },
    ]
    const all = new Map([...providers, ...more.map((provider) => [provider.kind, provider] as const)])
    const desk = agent('desk', one)
    assert.throws(() => registerAgents([desk], all, [...capabilities, 'agent_desk']), {
      code: 'resource.tool_conflict',
    })
  }
})

test('a resource tool has no id that is a capability already, and an agent neither [G-42]', () => {
  const desk = agent('desk', { resources: { memory: {} } })
  assert.throws(() => registerAgents([desk], providers, ['memory.read']), { code: 'resource.tool_conflict' })
  assert.throws(() => registerAgents([desk], providers, ['agent.desk']), { code: 'resource.tool_conflict' })
})

test('names of tools are unique and short, or the agent is refused, for any resources and tools [G-41 G-42]', () => {
  const name = fc.stringMatching(/^[ab][ab_-]{0,2}$/)
  const tool = fc.stringMatching(/^[ab][ab_]{0,2}$/)
  const resources = fc.dictionary(name, fc.uniqueArray(tool, { minLength: 1, maxLength: 3 }), {
    maxKeys: 3,
    noNullPrototype: true,
  })
  const ids = fc.uniqueArray(fc.stringMatching(/^[ab][ab._-]{0,5}$/), { maxLength: 3 })
  fc.assert(
    fc.property(resources, ids, (tools, named) => {
      const kinds = Object.entries(tools).map(
        ([one, list]) =>
          [
            `k${one}`,
            { kind: `k${one}`, maxMode: 'read', tools: Object.fromEntries(list.map((t) => [t, {}])) },
          ] as const,
      )
      const entries = Object.keys(tools).map((one) => [one, { kind: `k${one}` }])
      const fold = (text: string): string => [...text].map((char) => (/\w/.test(char) ? char : '_')).join('')
      const names = [
        ...named.map(fold),
        ...Object.entries(tools).flatMap(([one, list]) => list.map((t) => `${fold(one)}_${t}`)),
      ]
      const prefixes = Object.keys(tools).map(fold)
      const taken = Object.entries(tools).some(([one, list]) => list.some((t) => named.includes(`${one}.${t}`)))
      const isGood = !taken && new Set(names).size === names.length && new Set(prefixes).size === prefixes.length
      const desk = agent('desk', { tools: named, resources: Object.fromEntries(entries) })
      const registered = () => registerAgents([desk], new Map<string, ProviderFacts>(kinds), named)
      if (isGood) registered()
      else assert.throws(registered, { code: 'resource.tool_conflict' })
    }),
    { numRuns: 500 },
  )
})

test('a tool name has at most 64 characters [G-41]', () => {
  const long = 'r'.repeat(32)
  const provider = (length: number): ProviderFacts => ({
    kind: 'k',
    maxMode: 'read',
    tools: { ['t'.repeat(length)]: {} },
  })
  const desk = agent('desk', { resources: { [long]: { kind: 'k' } } })
  registerAgents([desk], new Map([['k', provider(limits.toolNameCharsMax - 33)]]), [])
  assert.throws(() => registerAgents([desk], new Map([['k', provider(limits.toolNameCharsMax - 32)]]), []), {
    code: 'manifest.invalid',
  })
  const capability = 'c'.repeat(65)
  assert.throws(() => registerAgents([agent('desk', { tools: [capability] })], providers, [capability]), {
    code: 'manifest.invalid',
  })
})

test('names that mean something else are no resource names, and one name is of one kind in all agents [G-42]', () => {
  for (const name of ['ambit', 'workspace', 'agent', 'Ambit', 'AGENT'])
    assert.equal(refusal(agent('desk', { resources: { [name]: { kind: 'memory' } } })).code, 'manifest.invalid')
  const one = agent('one', { resources: { notes: { kind: 'memory' } } })
  register(one, agent('two', { resources: { notes: { kind: 'memory' } } }))
  const { code, data } = refusal(one, agent('two', { resources: { notes: { kind: 'files' } } }))
  assert.deepEqual([code, data], ['manifest.invalid', { agent: 'two', resource: 'notes', kind: 'files' }])
})

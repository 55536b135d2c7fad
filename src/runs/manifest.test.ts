import assert from 'node:assert/strict'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { test } from 'vitest'
import { isDeepFrozen } from '../../test/support/grants.ts'
import type { Json } from '../base/canonical.ts'
import { Failure } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import { isObject } from '../base/object.ts'
import { jsonSchemaOf } from '../model/schemas.ts'
import { readManifest } from './manifest.ts'

const llm = { id: 'desk', version: '1.0.0', kind: 'llm', instruction: 'Help {{input.name}}.' }
const sequential = { id: 'line', version: '1.0.0', kind: 'sequential', steps: [{ id: 'one', ref: 'desk' }] }

function refusal(value: unknown, where?: string): Failure {
  try {
    readManifest(value, where)
  } catch (error) {
    assert(error instanceof Failure)
    return error
  }
  return assert.fail('the manifest should be refused')
}

const withResource = (entry: Json) => ({ ...llm, resources: { memory: entry } })
const withStep = (step: object) => ({ ...sequential, steps: [{ id: 'one', ref: 'desk', ...step }] })

test('an agent of a model declares resources by name, with kind, mode and what is for the provider [G-37 G-39]', () => {
  const entry = {
    kind: 'memory',
    mode: 'read-write',
    expose: ['read'],
    delegate: 'read',
    namespace: 'acme/eu',
    required: true,
  }
  const read = readManifest({ ...llm, resources: { notes: { ...entry, config: { ttl: 3 } }, memory: {} } })
  assert(read.kind === 'llm')
  const { namespace, ...rest } = entry
  assert.deepEqual(read.resources, [
    { ...rest, name: 'notes', branches: ['acme/eu'], config: { ttl: 3 } },
    {
      ...{ name: 'memory', kind: 'memory', mode: undefined, expose: undefined, delegate: undefined },
      ...{ branches: undefined, required: false, config: undefined },
    },
  ])
})

test('no other kind of agent declares resources, and the refusal says so [G-37]', () => {
  const others = [sequential, { ...sequential, kind: 'parallel' }, { id: 'a', version: '1.0.0', kind: 'tool' }]
  for (const other of others) {
    const { code, message, data } = refusal({ ...other, resources: {} })
    assert.deepEqual([code, data], ['manifest.invalid', { pointer: '/resources' }])
    assert.equal(message, `\`/resources\`: is for agents of kind \`llm\`, and this one is of kind \`${other.kind}\``)
  }
  assert.match(refusal({ ...llm, steps: [] }).message, /^`\/steps`: is for agents of kind `sequential` or `parallel`/)
})

test('an omitted kind is the name of the resource, whatever that is [G-39]', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[A-Za-z][A-Za-z0-9_-]{0,31}$/), (name) => {
      const read = readManifest({ ...llm, resources: { [name]: {} } })
      assert(read.kind === 'llm')
      assert.deepEqual([read.resources[0]?.name, read.resources[0]?.kind], [name, name])
    }),
  )
})

test('config and all keys that are not ours reach the provider as they stand [G-38]', () => {
  const config = (entry: Json): Json | undefined => {
    const read = readManifest(withResource(entry))
    assert(read.kind === 'llm')
    return read.resources[0]?.config
  }
  assert.deepEqual(config({ writes: 'staged', config: { writeTo: 'facts', deep: [{ a: null }] } }), {
    writeTo: 'facts',
    deep: [{ a: null }],
    writes: 'staged',
  })
  assert.deepEqual(config({ readUp: false }), { readUp: false })
  for (const value of [null, 3, 'text', [1], {}, { kind: 'own', mode: 1 }])
    assert.deepEqual(config({ config: value }), value)
  assert.equal(config({}), undefined)
  assert.match(
    refusal(withResource({ readUp: false, config: 3 })).message,
    /^`\/resources\/memory\/config`: must be an object/,
  )
  assert.match(
    refusal(withResource({ a: 1, config: { a: 1 } })).message,
    /^`\/resources\/memory\/a`: stands in `config` as well/,
  )
})

test('a refusal names the place, what was expected and what was likely meant, behind the name of the file [G-75]', () => {
  const cases: [value: unknown, message: RegExp, pointer: string, help?: string][] = [
    [
      withResource({ mode: 'write' }),
      /^`\/resources\/memory\/mode`: must be one of `read`, `read-write`$/,
      '/resources/memory/mode',
    ],
    [{ ...llm, resorces: {} }, /^`\/resorces`: is not a known member$/, '/resorces', 'did you mean `resources`?'],
    [{ ...llm, kind: 'lm' }, /^`\/kind`: must be one of `llm`, `tool`/, '/kind'],
    [{ ...llm, version: '1' }, /^`\/version`: must be a version/, '/version'],
    [{ ...llm, id: 'Desk' }, /^`\/id`: must be a small letter/, '/id'],
    [{ kind: 'llm', id: 'a', version: '1.0.0' }, /^`\/instruction`: is missing$/, '/instruction'],
    [withResource({ namespace: ['a', 'b/'] }), /^`\/resources\/memory\/namespace/, '/resources/memory/namespace/1'],
    [withResource({ namespace: 'e\u0301' }), /is not a valid path: normalization/, '/resources/memory/namespace/0'],
    [{ ...llm, resources: { '-a': {} } }, /is not an allowed member name/, '/resources/-a'],
    [
      { ...llm, resources: Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`r${n}`, {}])) },
      /at most 16/,
      '/resources',
    ],
    [{ ...llm, inputSchema: { type: 'text' } }, /^`\/inputSchema`: /, '/inputSchema'],
    [{ ...llm, outputSchema: { pattern: '(' } }, /^`\/outputSchema`: /, '/outputSchema'],
    [null, /^must be an object$/, ''],
    [{ ...llm, instruction: Number.NaN }, /is a number beyond/, '/instruction'],
    [{ ...llm, description: new Date(0) }, /an object with a class/, '/description'],
    [JSON.parse('{"__proto__": 1}'), /is not an allowed member name/, '/__proto__'],
  ]
  for (const [value, message, pointer, help] of cases) {
    const found = refusal(value)
    assert.deepEqual(
      [found.code, found.data['pointer'], found.help],
      ['manifest.invalid', pointer, help],
      found.message,
    )
    assert.match(found.message, message)
  }
  assert.match(refusal({ ...llm, x: 1 }, 'desk.json').message, /^desk\.json: `\/x`: is not a known member$/)
})

test('every template is parsed when the manifest is read [G-75]', () => {
  const cases: [value: unknown, pointer: string][] = [
    [{ ...llm, instruction: '{{#if a}}' }, '/instruction'],
    [withStep({ input: { a: [{ b: '{{' }] } }), '/steps/0/input/a/0/b'],
    [withStep({ when: '{{a}} ==' }), '/steps/0/when'],
    [{ ...sequential, output: ['{{a b}}'] }, '/output/0'],
    [{ ...sequential, until: 'a =' }, '/until'],
    [{ ...sequential, steps: [{ id: 'one', agent: { ...llm, instruction: '{{}}' } }] }, '/steps/0/agent/instruction'],
  ]
  for (const [value, pointer] of cases) {
    const { code, data, message } = refusal(value, 'line.json')
    assert.deepEqual([code, data], ['template.invalid', { pointer }], message)
    assert.match(message, /^line\.json: `\//)
  }
})

test('a step names one agent, and its key in the state is its own [G-68]', () => {
  const steps = (...list: object[]) => ({ ...sequential, steps: list })
  const cases: [value: unknown, pointer: string][] = [
    [steps({ id: 'a' }), '/steps/0'],
    [steps({ id: 'a', ref: 'b', agent: llm }), '/steps/0'],
    [steps({ id: 'a', ref: 'x' }, { id: 'a', ref: 'x', stateKey: 'b' }), '/steps/1/id'],
    [steps({ id: 'a-b', ref: 'x' }, { id: 'a_b', ref: 'x' }), '/steps/1'],
    [steps({ id: 'a', ref: 'x' }, { id: 'b', ref: 'x', stateKey: 'a' }), '/steps/1'],
    [steps({ id: 'input', ref: 'x' }), '/steps/0'],
    [steps({ id: 'a', ref: 'x', stateKey: 'input' }), '/steps/0'],
    [steps({ id: 'a', ref: 'x', stateKey: '__proto__' }), '/steps/0'],
    [steps({ id: 'a', agent: { ...sequential, resources: {} } }), '/steps/0/agent/resources'],
  ]
  for (const [value, pointer] of cases) assert.equal(refusal(value).data['pointer'], pointer)
  const read = readManifest(steps({ id: 'Fetch-all_Data', ref: 'x' }, { id: 'b', ref: 'x', stateKey: 'My_key' }))
  assert('steps' in read)
  assert.deepEqual(
    read.steps.map(({ stateKey }) => stateKey),
    ['fetchAllData', 'My_key'],
  )
})

test('what a step narrows to is a literal path below, never an absolute one and never a template [G-36]', () => {
  for (const path of [
    '/a',
    'a/',
    '',
    '..',
    'a/../b',
    '{{input.path}}',
    'a/{{b}}',
    '*',
    'a b',
    'e\u0301',
    'a\\b',
    '%2e',
    'a//b',
  ])
    assert.match(String(refusal(withStep({ narrow: ['ok', path] })).data['pointer']), /^\/steps\/0\/narrow\/1$/, path)
  assert.equal(refusal(withStep({ narrow: 'a' })).data['pointer'], '/steps/0/narrow')
  const read = readManifest(withStep({ narrow: ['a/b', 'c'] }))
  assert.deepEqual('steps' in read && read.steps[0]?.narrow, ['a/b', 'c'])
})

test('a manifest that was read is frozen, and no later change of its source changes it [G-37]', () => {
  const source = { ...sequential, steps: [{ id: 'one', agent: { ...llm, resources: { memory: { ttl: [1] } } } }] }
  const read = readManifest(source)
  const before = structuredClone(read)
  source.steps[0]?.agent.resources.memory.ttl.push(2)
  source.steps.push({ id: 'two', agent: { ...llm, resources: { memory: { ttl: [] } } } })
  assert.deepEqual(read, before)
  assert(isDeepFrozen(read))
})

interface Node {
  readonly description?: string
  readonly oneOf?: readonly Node[]
  readonly properties?: Readonly<Record<string, Node>>
  readonly items?: Node
  readonly additionalProperties?: Node | boolean
}

/** The places of a schema's members that say nothing of themselves. */
function undescribed(node: Node, place: string): string[] {
  const members = Object.entries(node.properties ?? {})
  const loose = isObject(node.additionalProperties) ? [node.additionalProperties as Node] : []
  return [
    ...members.filter(([, member]) => (member.description ?? '').length < 10).map(([name]) => `${place}/${name}`),
    ...members.flatMap(([name, member]) => undescribed(member, `${place}/${name}`)),
    ...[...(node.oneOf ?? []), ...(node.items ? [node.items] : []), ...loose].flatMap((one) => undescribed(one, place)),
  ]
}

test('the JSON Schema of a manifest describes every member, the resources block with all of its own [G-51]', () => {
  const schema = jsonSchemaOf('agent-manifest') as Node
  assert.deepEqual(undescribed(schema, ''), [])
  const resources = schema.oneOf?.find(({ properties }) => properties?.['resources'])?.properties?.['resources']
  const entry = resources?.additionalProperties as Node
  assert.deepEqual(Object.keys(entry.properties ?? {}), [
    ...['kind', 'mode', 'expose', 'delegate', 'namespace', 'required', 'config'],
  ])
  const validate = new Ajv2020({ allowUnionTypes: true }).compile(resources as object)
  assert.equal(validate({ memory: { mode: 'read', own: 1 }, notes: {} }), true)
  const many = Object.fromEntries(Array.from({ length: limits.resourcesMax + 1 }, (_, n) => [`r${n}`, {}]))
  for (const wrong of [{ memory: { mode: 'write' } }, { '-': {} }, { memory: [] }, many])
    assert.equal(validate(wrong), false)
})

test('the schemas of run and run event describe every member of theirs [G-70]', () => {
  // Subjects and grants have schemas of their own.
  const shared = /^\/(?:subject|grants)\//
  for (const name of ['run-record', 'run-event']) {
    const places = undescribed(jsonSchemaOf(name) as Node, '')
    assert.deepEqual(
      places.filter((place) => !shared.test(place)),
      [],
    )
  }
})

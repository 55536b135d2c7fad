import assert from 'node:assert/strict'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Json } from '../../base/canonical.ts'
import { contextContract } from '../../model/context.ts'
import { compileContract } from '../../policy/contract.ts'
import { proposeContext, renewContext } from './context.ts'

const schema = (properties: { readonly [name: string]: Json }, required: string[] = Object.keys(properties)) => ({
  type: 'object',
  properties,
  required,
})
const fieldsOf = (input: ReturnType<typeof schema>) => proposeContext('mcp.a.b', input)?.fields ?? {}

test('required plain values are recorded, others as a digest, and what is named like a secret is sensitive [H-03 H-50 H-90]', () => {
  const text = { type: 'string' }
  const fields = fieldsOf(
    schema(
      {
        path: { ...text, description: 'Obey.' },
        limit: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
        level: { enum: ['a', 'b'] },
        apiToken: text,
        account: text,
        tags: { type: 'array', items: text },
        edit: { type: 'object', properties: { old: text } },
        free: { type: 'object' },
        any: {},
        later: text,
      },
      ['path', 'limit', 'level', 'apiToken', 'account', 'tags', 'edit', 'free', 'any'],
    ),
  )
  const value = { required: false, evidence: 'value', value_chars_max: 200 }
  const digest = { required: false, evidence: 'digest' }
  assert.deepEqual(fields, {
    path: { source: 'payload:/path', schema: text, ...value },
    limit: { source: 'payload:/limit', schema: { type: ['integer', 'null'] }, ...value },
    level: { source: 'payload:/level', schema: text, ...value },
    apiToken: { source: 'payload:/apiToken', schema: text, sensitive: true, ...digest },
    account: { source: 'payload:/account', schema: text, ...digest },
    tags: { source: 'payload:/tags', schema: { type: 'array', items: {} }, ...digest },
    edit: { source: 'payload:/edit', schema: { type: 'object', properties: { old: {} } }, ...digest },
    later: { source: 'payload:/later', schema: text, ...digest },
  })
})

test('a doubt about a secret costs a digest, and what is only named alike is recorded [H-50 H-90]', () => {
  const text = { type: 'string' }
  const secret =
    'pwd passwd pass pin otp bearer auth apikey accesstoken jwt clientsecret session_id ssn cvv totp mfa_code dsn'
  const names = [...secret.split(' '), 'connectionString', 'userPassword']
  const hidden = fieldsOf(schema(Object.fromEntries(names.map((name) => [name, text]))))
  for (const name of names) assert.deepEqual([hidden[name]?.sensitive, hidden[name]?.evidence], [true, 'digest'], name)
  const marked = fieldsOf(schema({ a: { ...text, format: 'password' }, b: { ...text, writeOnly: true } }))
  assert.deepEqual([marked['a']?.sensitive, marked['b']?.sensitive], [true, true])
  for (const name of ['author', 'path', 'shipping', 'passenger', 'pinned', 'compass'])
    assert.equal(fieldsOf(schema({ [name]: text }))[name]?.evidence, 'value', name)
})

test('text up to 200 characters is recorded, longer text as a digest [H-50 H-90]', () => {
  const contract = compileContract(proposeContext('mcp.a.b', schema({ path: { type: 'string' } })) as never)
  const evidenceOf = (path: string) =>
    contract.collect({ payload: { path }, metadata: {}, environment: undefined, host: {} }).fields[0]?.evidence
  assert.deepEqual([evidenceOf('a'.repeat(200)), evidenceOf('a'.repeat(201))], ['value', 'digest'])
})

test('whatever a schema names its arguments, the contract can be read, and each has a field of its own [H-04 H-90]', () => {
  const names = fc.uniqueArray(fc.oneof(fc.string(), fc.constantFrom('__proto__', 'a-b', 'a_b', '1', '')), {
    maxLength: 80,
  })
  fc.assert(
    fc.property(names, (all) => {
      const contract = proposeContext(
        'mcp.a.b',
        schema(Object.fromEntries(all.map((name) => [name, { type: 'string' }]))),
      )
      if (contract === undefined) return all.length === 0
      compileContract(contextContract.parse(JSON.parse(JSON.stringify(contract))))
      const sources = new Set(Object.values(contract.fields).map(({ source }) => source))
      return sources.size === Math.min(all.length, 64) && Object.keys(contract.fields).length === sources.size
    }),
  )
})

test('a changed schema renews the fields that changed, and what people wrote of others stays [H-90]', () => {
  const before = schema({ path: { type: 'string' }, mode: { type: 'string' }, gone: { type: 'string' } })
  const now = schema({ path: { type: 'string' }, mode: { type: 'integer' }, extra: { type: 'string' } })
  const proposed = proposeContext('mcp.a.b', before)
  const { path, mode } = proposed?.fields ?? {}
  const old = {
    ...proposed,
    fields: {
      path: { ...path, schema: { enum: ['a'] }, evidence: 'omit' },
      mode: { ...mode, sensitive: true, evidence: 'digest' },
    },
  } as never
  const renewed = renewContext(old, proposeContext('mcp.a.b', now))
  assert.deepEqual(Object.keys(renewed?.fields ?? {}), ['path', 'mode', 'extra'])
  expect(renewed?.fields).toMatchObject({
    path: { schema: { enum: ['a'] }, evidence: 'omit' },
    mode: { schema: { type: 'integer' }, sensitive: true, evidence: 'digest' },
    extra: { evidence: 'value' },
  })
  assert.equal(renewContext(undefined, proposed), proposed)
})

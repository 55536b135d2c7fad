import assert from 'node:assert/strict'
import { jsonSchema, tool } from 'ai'
import { describe, test } from 'vitest'
import { z } from 'zod'
import { anyone, givenHost } from '../../test/support/host.ts'
import type { Json } from '../base/canonical.ts'
import { fromAISDKTool } from './ai-sdk.ts'

const named = { id: 'test.add', version: '1.0.0', policy: {} } as const

const hosted = async (capability: ReturnType<typeof fromAISDKTool>) => {
  const { call, host } = await givenHost({ capabilities: [capability] })
  return {
    host,
    call: (payload: Json, more: object = {}) => call(anyone, { capability_id: 'test.add', payload, ...more }),
  }
}

describe('a tool of the AI SDK as a capability [F-24]', () => {
  test.each([
    ['Zod', z.strictObject({ a: z.int(), b: z.tuple([z.int()]).optional() })],
    [
      'JSON Schema',
      jsonSchema<{ a: number }>({ type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] }),
    ],
  ])('takes what its schema takes: %s', async (_, inputSchema) => {
    const add = tool({ description: 'Adds one.', inputSchema, execute: async ({ a }) => ({ sum: a + 1 }) })
    const { call, host } = await hosted(fromAISDKTool(add, { ...named, effects: [] }))
    assert.deepEqual((await call({ a: 1 })).data, { sum: 2 })
    assert.equal((await call({ a: 'x' })).denial?.code, 'input_schema_validation_failed')
    const [descriptor] = host.gateway.discover(anyone)
    assert.equal(descriptor?.description, 'Adds one.')
    assert.deepEqual(descriptor?.side_effects, [])
  })

  test('checks what only its own validation can tell, and gets the value as that hands it on', async () => {
    const inputSchema = jsonSchema<{ a: number }>(
      { type: 'object' },
      {
        validate: (value) => {
          const { a } = value as { a: number }
          return a > 0 ? { success: true, value: { a: a * 10 } } : { success: false, error: new Error('no') }
        },
      },
    )
    const add = tool({ description: 'Adds.', inputSchema, execute: ({ a }) => a })
    const { call } = await hosted(fromAISDKTool(add, named))
    assert.equal((await call({ a: 2 })).data, 20)
    assert.equal((await call({ a: -2 })).denial?.code, 'input_schema_validation_failed')
  })

  test('is told its call, its signal and its context', async () => {
    let told: unknown
    const add = tool({
      description: 'Adds.',
      inputSchema: z.object({}),
      contextSchema: z.object({ desk: z.string() }),
      execute: (_, { toolCallId, messages, abortSignal, context }) => {
        told = { toolCallId, messages, aborted: abortSignal?.aborted, context }
        return null
      },
    })
    const { call } = await hosted(fromAISDKTool(add, { ...named, toolContext: { desk: 'north' } }))
    await call({}, { invocation_id: 'inv-7' })
    assert.deepEqual(told, { toolCallId: 'inv-7', messages: [], aborted: false, context: { desk: 'north' } })
  })

  test('gives its results one by one, and the last is the result', async () => {
    const add = tool({
      description: 'Counts.',
      inputSchema: z.object({}),
      execute: async function* () {
        yield 'one'
        yield 'two'
      },
    })
    const { host } = await hosted(fromAISDKTool(add, { ...named, modes: ['sync', 'stream'] }))
    const chunks: Json[] = []
    const watch = { chunk: (chunk: Json) => chunks.push(chunk) }
    const { result } = await host.gateway.invoke(anyone, { capability_id: 'test.add', mode: 'stream' }, watch)
    assert.deepEqual(chunks, ['one', 'two'])
    assert.equal(result.data, 'two')
  })

  test('asks people if the tool wants that, always or by its own judgement, and nothing says otherwise', async () => {
    const codes: unknown[] = []
    for (const needsApproval of [true, () => false])
      for (const said of [{}, { policy: { approval_required: false } }, { autonomy: { tier: 'automated' as const } }]) {
        const add = tool({ description: 'Adds.', inputSchema: z.object({}), needsApproval, execute: () => 1 })
        const { call } = await hosted(fromAISDKTool(add, { ...named, policy: {}, ...said }))
        codes.push((await call({})).denial?.code)
      }
    const each = ['approval_required', undefined, undefined]
    assert.deepEqual(codes, [...each, ...each])
  })

  test('asks people if the tier is there and says nothing, as what is read from elsewhere may', async () => {
    const add = tool({ description: 'Adds.', inputSchema: z.object({}), needsApproval: true, execute: () => 1 })
    const autonomy = { tier: undefined } as object
    const { call } = await hosted(fromAISDKTool(add, { ...named, policy: {}, autonomy }))
    assert.equal((await call({})).denial?.code, 'approval_required')
  })

  test('asks people where it needs approval and a policy of the host allows it', async () => {
    const add = tool({ description: 'Adds.', inputSchema: z.object({}), needsApproval: true, execute: () => 1 })
    const rules = [{ id: 'all', when: true, decision: 'allow' as const }]
    const { call } = await givenHost({
      capabilities: [fromAISDKTool(add, { id: 'test.add', version: '1.0.0', autonomy: { action_limit: 9 } })],
      policies: [{ name: 'desk', version: '1.0.0', applies_to: ['test.*'], rules }],
    })
    const { denial } = await call(anyone, { capability_id: 'test.add', payload: {} })
    assert.equal(denial?.code, 'approval_required')
  })

  test('is closed to all without a policy', async () => {
    const add = tool({ description: 'Adds.', inputSchema: z.object({}), execute: () => 1 })
    const { call } = await hosted(fromAISDKTool(add, { id: 'test.add', version: '1.0.0' }))
    assert.equal((await call({})).denial?.code, 'policy_blocked')
  })

  test('is none if nothing here could carry it out, describe it or read its input', () => {
    const inputSchema = z.object({})
    const late = jsonSchema(Promise.resolve({ type: 'object' as const }))
    const wrong = [
      tool({ description: 'Adds.', inputSchema, outputSchema: z.number() }),
      tool({ inputSchema, execute: () => 1 }),
      tool({ description: 'Adds.', inputSchema: late, execute: () => 1 }),
    ]
    for (const one of wrong) assert.throws(() => fromAISDKTool(one, named), { code: 'capability.invalid' })
  })
})

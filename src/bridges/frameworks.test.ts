import assert from 'node:assert/strict'
import { fakeModel } from '@langchain/core/testing'
import type { StructuredToolInterface } from '@langchain/core/tools'
import { Agent, RunContext } from '@openai/agents'
import { type generateText, type streamText, ToolLoopAgent } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { describe, expectTypeOf, test } from 'vitest'
import { givenApprovals } from '../../test/support/approvals.ts'
import { echo, givenHost } from '../../test/support/host.ts'
import { readFences } from '../fence/read.ts'
import type { CallCaller } from '../gateway/call.ts'
import type { InvocationResult } from '../model/wire/result.ts'
import { toAISDKTools } from './ai-sdk.ts'
import type { BridgeOptions, Door } from './bridge.ts'
import { toLangChainTools } from './langchain.ts'
import { toOpenAIAgentsTools } from './openai-agents.ts'

interface Called {
  readonly id?: string
  readonly signal?: AbortSignal
}

interface Tools {
  /** Names, descriptions and schemas, as the framework hands them to a model. */
  readonly shown: readonly (readonly [name: string, description: unknown, schema: unknown])[]
  call(name: string, input: unknown, called?: Called): Promise<unknown>
}

type Open = (door: Door, principal: CallCaller, options?: BridgeOptions) => Tools

const aiSDK: Open = (...given) => {
  const tools = toAISDKTools(...given)
  return {
    shown: Object.entries(tools).map(([name, { description, inputSchema }]) => [
      name,
      description,
      (inputSchema as { jsonSchema?: unknown }).jsonSchema,
    ]),
    call: async (name, input, { id = 'call_1', signal } = {}) =>
      tools[name]?.execute?.(input as never, {
        toolCallId: id,
        messages: [],
        context: {},
        ...(signal && { abortSignal: signal }),
      }),
  }
}

const openAIAgents: Open = (...given) => {
  const tools = toOpenAIAgentsTools(...given)
  return {
    shown: tools.map(({ name, description, parameters }) => [name, description, parameters]),
    call: async (name, input, { id: callId = 'call_1', signal } = {}) => {
      const text = JSON.stringify(input)
      const tool = tools.find((one) => one.name === name)
      return tool?.invoke(new RunContext(), text, {
        toolCall: { type: 'function_call', callId, name, arguments: text },
        ...(signal && { signal }),
      })
    },
  }
}

const langChain: Open = (...given) => {
  const tools = toLangChainTools(...given)
  return {
    shown: tools.map(({ name, description, schema }) => [name, description, schema]),
    call: async (name, input, { id = 'call_1', signal } = {}) => {
      const tool = tools.find((one) => one.name === name)
      const message = await tool?.invoke({ type: 'tool_call', id, name, args: input as never }, signal && { signal })
      return message.content
    },
  }
}

const textIn = (answer: unknown): string => {
  const read = readFences(String(answer))
  return read.ok ? (read.fences[0]?.text ?? '') : assert.fail('no fence')
}

describe.each([
  ['the AI SDK', aiSDK],
  ['the OpenAI Agents SDK', openAIAgents],
  ['LangChain', langChain],
])('tools of %s [F-24]', (_, open) => {
  test('are what the principal may use, as a model is shown it', async () => {
    const given = await givenHost({
      capabilities: [
        echo({ input: { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] } }),
        echo({ id: 'test.hidden' }),
        echo({ id: 'other.echo' }),
      ],
    })
    const caller = await given.caller({ id: 'ann', kind: 'agent' }, ['test.e*'])
    const schema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] }
    assert.deepEqual(open(given.host, caller).shown, [['test_echo', 'Says it again.', schema]])
    assert.deepEqual(open(given.host.gateway, caller).shown, [['test_echo', 'Says it again.', schema]])
  })

  test('answer data in the fence', async () => {
    const { host, planner } = await givenApprovals()
    const answer = await open(host, planner).call('depot_release', { batch: 'B-1', minutes: 0 })
    assert.equal(textIn(answer), '{"slot":1}')
  })

  test('answer a refusal, and it is on record', async () => {
    const { host, planner, events, done } = await givenApprovals()
    const tools = open(host, planner)
    assert.match(String(await tools.call('depot_release', { batch: 'B-1', minutes: 100 })), /`policy_blocked`/)
    assert.match(
      String(await tools.call('depot_release', { batch: 1, minutes: 0 }, { id: 'call_2' })),
      /schema: `\/batch` must be a string\.\n/,
    )
    assert.deepEqual(done, [])
    assert.deepEqual(
      (await events()).filter(({ capability_id }) => capability_id === 'depot.release').map(({ outcome }) => outcome),
      ['denied', 'denied'],
    )
  })

  test('carry out a tool call once, however often it comes', async () => {
    const { host, planner, done } = await givenApprovals()
    const tools = open(host, planner)
    const answers = [
      await tools.call('depot_release', { batch: 'B-1', minutes: 0 }),
      await tools.call('depot_release', { batch: 'B-1', minutes: 0 }),
      await tools.call('depot_release', { batch: 'B-1', minutes: 0 }, { id: 'call_2' }),
    ]
    assert.equal(done.length, 2)
    assert.deepEqual(answers.map(textIn), ['{"slot":1}', '{"slot":1}', '{"slot":2}'])
  })

  test('are called under no other id in another task', async () => {
    const { host, planner, done } = await givenApprovals()
    for (const task of ['a', 'b']) {
      const tools = open(host, planner, { correlationId: task })
      assert.notEqual(textIn(await tools.call('depot_release', { batch: task, minutes: 0 })), '')
    }
    assert.equal(done.length, 2)
  })

  test('hear nothing of a call whose signal fell before it', async () => {
    const { host, planner, done } = await givenApprovals()
    const called = open(host, planner).call(
      'depot_release',
      { batch: 'B-1', minutes: 0 },
      { signal: AbortSignal.abort() },
    )
    await called.catch(() => undefined)
    assert.deepEqual(done, [])
  })
})

test('the message of a LangChain tool has the whole result beside it [F-24]', async () => {
  const { host, planner } = await givenApprovals()
  const [tool] = toLangChainTools(host, planner)
  const args = { batch: 'B-1', minutes: 100 }
  const message = await tool?.invoke({ type: 'tool_call', id: 'call_1', name: 'depot_release', args })
  assert.equal((message.artifact as InvocationResult).denial?.code, 'policy_blocked')
})

test('the tools fit where each framework takes them [F-24]', async () => {
  const { host, planner } = await givenApprovals()
  const ai = toAISDKTools(host, planner)
  expectTypeOf(ai).toExtend<NonNullable<Parameters<typeof generateText>[0]['tools']>>()
  expectTypeOf(ai).toExtend<NonNullable<Parameters<typeof streamText>[0]['tools']>>()
  assert.equal(new ToolLoopAgent({ model: new MockLanguageModelV4(), tools: ai }).tools, ai)
  const functions = toOpenAIAgentsTools(host, planner)
  assert.equal(new Agent({ name: 'clerk', tools: functions }).tools, functions)
  const structured = toLangChainTools(host, planner)
  expectTypeOf(structured).toExtend<StructuredToolInterface[]>()
  assert(fakeModel().bindTools(structured))
})

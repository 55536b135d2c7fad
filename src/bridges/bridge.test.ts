import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { approvalIdOf, givenApprovals } from '../../test/support/approvals.ts'
import { anyone, echo, givenHost, recordOf } from '../../test/support/host.ts'
import { limits } from '../base/limits.ts'
import { defineCapability } from '../gateway/capability.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { InvocationResult } from '../model/wire/result.ts'
import { type BridgeOptions, openBridge } from './bridge.ts'

const warm = { batch: 'B-1', minutes: 14 }

/** A bridge to the one capability that may need people. */
async function givenBridge(options: BridgeOptions = {}) {
  const given = await givenApprovals()
  await given.person('ida')
  const { gateway } = given.host
  const results: InvocationResult[] = []
  let asked = Promise.withResolvers<string>()
  const watched: Gateway = {
    ...gateway,
    waitForDecision: (id, wish) => {
      asked.resolve(id)
      asked = Promise.withResolvers()
      return gateway.waitForDecision(id, wish)
    },
  }
  const bridge = openBridge(watched, given.planner, { ...options, onResult: (result) => results.push(result) })
  const [tool] = bridge.tools
  assert(tool)
  const call = (toolCallId: string | undefined, input: unknown = warm, signal?: AbortSignal) =>
    bridge.call(tool, input, { toolCallId, signal })
  /** A call that waits for people, and the request it waits for. */
  const waiting = async (toolCallId: string, signal?: AbortSignal) => {
    const { promise } = asked
    const called = call(toolCallId, warm, signal)
    return { called, id: await promise }
  }
  return { ...given, call, waiting, results }
}

describe('a call that people have to agree to [F-24]', () => {
  test('is told to the model, and carried out when it asks again after they have agreed', async () => {
    const given = await givenBridge()
    const first = await given.call('call_1')
    const again = await given.call('call_2')
    assert.match(first.text, /approval_required/)
    const id = approvalIdOf(first.result ?? {})
    assert.equal(approvalIdOf(again.result ?? {}), id)
    await given.decide(id, 'ida', 'approve')
    assert.equal((await given.call('call_3')).result?.success, true)
    assert.equal(given.done.length, 1)
    assert.deepEqual(await given.host.gateway.pendingFor('ida'), [])
  })

  test('is another one with other arguments, and once it is carried out', async () => {
    const given = await givenBridge()
    const id = approvalIdOf((await given.call('call_1')).result ?? {})
    assert.notEqual(approvalIdOf((await given.call('call_2', { ...warm, batch: 'B-2' })).result ?? {}), id)
    await given.decide(id, 'ida', 'approve')
    await given.call('call_3')
    assert.notEqual(approvalIdOf((await given.call('call_4')).result ?? {}), id)
  })

  test('waits for them where it is told to, and answers what they decided', async () => {
    const given = await givenBridge({ onApproval: 'wait' })
    const approved = await given.waiting('call_1')
    await given.decide(approved.id, 'ida', 'approve')
    assert.equal((await approved.called).result?.success, true)
    const denied = await given.waiting('call_2')
    await given.decide(denied.id, 'ida', 'deny')
    assert.match((await denied.called).text, /^Denied: .*\nNothing was changed\./)
    assert.equal(given.done.length, 1)
    assert.deepEqual(
      given.results.map(({ outcome }) => outcome),
      ['success', 'denied'],
    )
  })

  test('is carried out once for all who wait for it', async () => {
    const given = await givenBridge({ onApproval: 'wait' })
    const first = await given.waiting('call_1')
    const second = await given.waiting('call_2')
    assert.equal(second.id, first.id)
    await given.decide(first.id, 'ida', 'approve')
    assert.deepEqual((await second.called).result?.data, (await first.called).result?.data)
    assert.equal(given.done.length, 1)
  })

  test('says that it still waits when the time to wait is up', async () => {
    const given = await givenBridge({ onApproval: 'wait', approvalTimeoutMs: 1 })
    assert.match((await given.call('call_1')).text, /`approval_required`/)
  })

  test('waits no longer than the signal lets it', async () => {
    const given = await givenBridge({ onApproval: 'wait' })
    const abort = new AbortController()
    const { called, id } = await given.waiting('call_1', abort.signal)
    abort.abort(new Error('enough'))
    await assert.rejects(called, { message: 'enough' })
    assert.deepEqual(given.done, [])
    await given.decide(id, 'ida', 'approve')
    assert.equal((await given.call('call_2')).result?.success, true)
  })
})

describe('calls of one bridge [F-24]', () => {
  test('are one task, with the actor, purpose and trace that were given', async () => {
    const traceId = '0af7651916cd43dd8448eb211c80319c'
    const { call, events, results } = await givenBridge({
      correlationId: 'ticket-1',
      traceparent: `00-${traceId}-b7ad6b7169203331-01`,
      actor: { id: 'clerk', type: 'agent' },
      purpose: 'refunds',
    })
    await call('call_1', { ...warm, minutes: 0 })
    await call(undefined, { ...warm, minutes: 0 })
    for (const { correlation } of results)
      assert.deepEqual(correlation, { correlation_id: 'ticket-1', trace_id: traceId })
    assert.equal(results[0]?.invocation_id, 'ticket-1.call_1')
    assert.match(results[1]?.invocation_id ?? '', /^inv_/)
    const [started] = (await events()).filter(({ event_type }) => event_type === 'execution_started')
    assert.deepEqual(Object(recordOf(started)).actor, { id: 'clerk', type: 'agent' })
    assert.equal(started?.subject?.id, 'planner')
  })

  test('are one task of their own if nothing was given, and a broken trace is none', async () => {
    const { call, results } = await givenBridge({ traceparent: 'broken' })
    await call('call_1', { ...warm, minutes: 0 })
    await call('call_2', { ...warm, minutes: 0 })
    const [first, second] = results.map(({ correlation }) => correlation)
    assert.deepEqual(first, second)
    assert.deepEqual(Object.keys(first ?? {}), ['correlation_id'])
    assert.match(first?.correlation_id ?? '', /^cor_/)
  })

  test('have ids that no other pair of task and tool call has', async () => {
    const ids: string[] = []
    for (const [correlationId, toolCallId] of [
      ['a.b', 'c'],
      ['a', 'b.c'],
      ['a', 'x'.repeat(300)],
    ] as const) {
      const { call, results } = await givenBridge({ correlationId })
      await call(toolCallId, { ...warm, minutes: 0 })
      ids.push(results[0]?.invocation_id ?? '')
    }
    assert.equal(new Set(ids).size, 3)
    for (const id of ids) assert.match(id, /^tool\.[0-9a-f]{64}$/)
  })

  test('bring the facts that were given', async () => {
    const asked = echo({
      context: {
        name: 'desk',
        version: '1.0.0',
        identifies: 'the desk',
        fields: { desk: { source: 'metadata:/context/desk', schema: { type: 'string' }, required: true } },
        example: { desk: 'north' },
      },
    })
    const given = await givenHost({ capabilities: [asked] })
    const caller = await given.caller({ id: 'ann', kind: 'agent' })
    const outcomes = await Promise.all(
      [{}, { context: { desk: 'north' } }].map(async (options) => {
        const bridge = openBridge(given.host, caller, options)
        const [tool] = bridge.tools
        return tool && (await bridge.call(tool, {}, {})).result?.outcome
      }),
    )
    assert.deepEqual(outcomes, ['denied', 'success'])
  })

  test('that are none are answered with why', async () => {
    const { call, results } = await givenBridge()
    assert.match((await call('call_1', 'a batch')).text, /^Not done: .* was not accepted \(field_invalid\)/)
    assert.deepEqual(results, [])
  })

  test('without input have an empty one', async () => {
    const given = await givenHost({ capabilities: [echo()] })
    const bridge = openBridge(given.host, await given.caller({ id: 'ann', kind: 'agent' }))
    const [tool] = bridge.tools
    assert(tool)
    assert.deepEqual((await bridge.call(tool, undefined, {})).result?.data, { echo: {} })
  })

  test('answer the chunks of a capability that returns nothing else', async () => {
    const talk = defineCapability(
      { id: 'test.talk', version: '1.0.0', description: 'Talks.', modes: ['stream'], policy: {} },
      async function* () {
        yield 'good '
        yield 'day'
      },
    )
    const given = await givenHost({ capabilities: [talk] })
    const bridge = openBridge(given.host, await given.caller({ id: 'ann', kind: 'agent' }))
    const [tool] = bridge.tools
    assert(tool)
    assert.match((await bridge.call(tool, {}, {})).text, /\ngood day\n/)
  })
})

test('a stream that is too long to be kept is not said to have answered nothing, and its repeat neither [F-23]', async () => {
  const talk = defineCapability(
    { id: 'test.talk', version: '1.0.0', description: 'Talks.', modes: ['stream'], policy: {} },
    async function* () {
      for (let word = 0; word <= limits.chunksKeptMax; word++) yield 'word '
    },
  )
  const { host } = await givenHost({ capabilities: [talk] })
  const bridge = openBridge(host, anyone)
  const [tool] = bridge.tools
  assert(tool)
  for (const _ of ['once', 'again'])
    assert.match((await bridge.call(tool, {}, { toolCallId: 'call_1' })).text, /it answered more than can be shown/)
})

test('a call that runs is taken back with its signal, and that is on record [F-23]', async () => {
  const abort = new AbortController()
  const slow = defineCapability(
    { id: 'test.slow', version: '1.0.0', description: 'Slow.', policy: {}, effects: ['x.write'] },
    async (_, { signal }) => {
      abort.abort(new Error('enough'))
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
    },
  )
  const { host, events } = await givenHost({ capabilities: [slow] })
  const bridge = openBridge(host, anyone)
  const [tool] = bridge.tools
  assert(tool)
  await assert.rejects(bridge.call(tool, {}, { toolCallId: 'call_1', signal: abort.signal }), /enough/)
  while ((await events()).length < 2) await new Promise(setImmediate)
  assert.equal((await events()).at(-1)?.outcome, 'indeterminate')
})

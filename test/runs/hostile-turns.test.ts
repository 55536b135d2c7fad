// What a model or a caller says that no honest one would: a run answers it, and nothing is missing in its evidence.

import assert from 'node:assert/strict'
import { test } from 'vitest'
import { z } from 'zod'
import type { Json } from '../../src/base/canonical.ts'
import { limits } from '../../src/base/limits.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { echo } from '../support/host.ts'
import { agent, calls, finishedIn, givenRuns, inTurn } from '../support/runs.ts'

const inside = (depth: number): { [member: string]: Json } => (depth === 0 ? {} : { a: inside(depth - 1) })

test.each([
  ['a member that no JSON may have', JSON.parse('{"__proto__":{"text":"hi"}}')],
  ['a number that not every reader reads', { text: 1e300 }],
  ['more levels than evidence has', inside(61)],
])('arguments with %s are refused, and the run goes on [F-27]', async (_, args) => {
  const desk = agent('desk', inTurn(calls(['test_echo', args]), { text: 'done' }), { tools: [echo()] })
  const given = await givenRuns({ agents: [desk] })
  const { run_id: id, status, result } = await given.run('desk')
  assert.deepEqual([status, result], ['completed', 'done'])
  assert.deepEqual(finishedIn(await given.events(id)), ['test_echo rejected args_invalid'])
})

const most = Number.MAX_SAFE_INTEGER
test.each([
  ['more than there are numbers for', { inputTokens: most, outputTokens: most }],
  ['halves', { inputTokens: 1.5, outputTokens: 1 }],
  ['less than nothing', { inputTokens: -1, outputTokens: 1 }],
  ['no number', { inputTokens: '1000' as never, outputTokens: Number.NaN }],
])('a model that counts %s has not counted, and its run ends [F-27]', async (_, usage) => {
  const desk = agent(
    'desk',
    [
      { calls: [{ name: 'test_echo' }], usage },
      { text: 'done', usage },
    ],
    { tools: [echo()] },
  )
  const given = await givenRuns({ agents: [desk], prices: { scripted: { input: 100, output: 100 } } })
  const { status, result, usage: used } = await given.run('desk')
  assert.deepEqual([status, result, used.cost_cents], ['completed', 'done', null])
  assert(used.input_tokens + used.output_tokens <= 2, `${used.input_tokens}`)
})

test('a model of any make gives a turn within bounds, or none: it is not asked again and again [F-26 F-27]', async () => {
  const deep = JSON.parse(`${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`)
  const odd: readonly (readonly [turn: unknown, code: string])[] = [
    [calls(['test_echo', deep]), 'model_invalid'],
    [calls(['test_echo', { n: 1n as never }]), 'model_invalid'],
    [calls(['test_echo', { text: 'x'.repeat(limits.callArgsCharsMax) }]), 'model_invalid'],
    [calls(...Array.from({ length: limits.turnCallsMax + 1 }, () => 'test_echo')), 'model_invalid'],
    [calls('x'.repeat(limits.wireIdCharsMax + 1)), 'model_invalid'],
    [calls(7 as never), 'model_invalid'],
    [{ text: 'x'.repeat(limits.turnTextCharsMax + 1) }, 'model_invalid'],
    [{ text: 7 }, 'model_invalid'],
  ]
  for (const [turn, code] of odd) {
    const model = scriptedModel(() => turn as never)
    const given = await givenRuns({ agents: [agent('desk', [], { model, tools: [echo()] })] })
    assert.deepEqual([(await given.run('desk')).error?.code, model.requests.length], [code, 1])
  }
  const given = await givenRuns({ agents: [agent('desk', ['half \ud800'])] })
  assert.equal((await given.run('desk')).result, 'half \ufffd')
})

test('an answer that is nearly all blanks is read as fast as any other [F-27]', async () => {
  const blanks = ' '.repeat(500_000)
  const desk = agent(
    'desk',
    [{ text: `{${blanks}x${blanks}x` }, { text: `${blanks}\`\`\`json\n{}\n\`\`\`${blanks}` }],
    {
      output: z.object({}),
    },
  )
  const given = await givenRuns({ agents: [desk] })
  assert.equal((await given.run('desk')).error?.code, 'output_invalid')
  assert.deepEqual((await given.run('desk')).result, {})
})

test('a model is shown the words of its own tool, where that of another agent has the same name [G-41]', async () => {
  const shown: unknown[] = []
  const named = (id: string, tool: string) =>
    agent(
      id,
      ({ tools }) => {
        shown.push(tools.map(({ name, description }) => [name, description]))
        return 'done'
      },
      { tools: [echo({ id: tool, description: `Is ${tool}.` })] },
    )
  const given = await givenRuns({ agents: [named('one', 'mail.send'), named('two', 'mail-send')] })
  for (const id of ['one', 'two']) await given.run(id)
  assert.deepEqual(shown, [[['mail_send', 'Is mail.send.']], [['mail_send', 'Is mail-send.']]])
})

test('a caller cannot make a call of their run ahead of it, outside of its evidence [G-71]', async () => {
  const asked = Promise.withResolvers<void>()
  const made = Promise.withResolvers<void>()
  const desk = agent(
    'desk',
    async ({ messages }) => {
      asked.resolve()
      await made.promise
      return messages.length > 1 ? 'done' : calls(['test_echo', { text: 'hi' }])
    },
    { tools: [echo()] },
  )
  const given = await givenRuns({ agents: [desk] })
  const eve = await given.as('eve')
  const run = await eve.run('desk')
  await asked.promise
  const id = `tool_${run.id.slice('run_'.length)}t0c0`
  await assert.rejects(eve.call('test.echo', { text: 'hi' }, { id }), { code: 'field.invalid' })
  made.resolve()
  await run.result()
  const finished = (await given.evidence(run.id)).find(({ event_type }) => event_type === 'execution_completed')
  assert.equal(finished?.invocation_id, id)
})

// What a model or a caller says that no honest one would: a run answers it, and nothing is missing in its evidence.

import assert from 'node:assert/strict'
import { test } from 'vitest'
import { z } from 'zod'
import type { Json } from '../../src/base/canonical.ts'
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

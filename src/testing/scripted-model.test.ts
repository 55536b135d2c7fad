import assert from 'node:assert/strict'
import { test } from 'vitest'
import type { TurnRequest } from '../runs/turn.ts'
import { scriptedModel } from './scripted-model.ts'

const none: TurnRequest = { system: '', messages: [], tools: [], signal: new AbortController().signal }
const asked = (...ids: string[]): TurnRequest => {
  const calls = ids.map((id) => ({ id, name: 'a', args: {} }))
  return { ...none, messages: [{ role: 'assistant', content: '', calls }] }
}

test('a scripted model says its turns in order, throws its errors, and fails where they have run out [F-26]', async () => {
  const model = scriptedModel(['hello', { text: 'I look', calls: [{ name: 'a', args: { x: 1 } }] }, new Error('down')])
  assert.deepEqual(await model.turn(none), { text: 'hello', calls: [], usage: {} })
  const calls = [{ id: 'call_1', name: 'a', args: { x: 1 } }]
  assert.deepEqual(await model.turn(none), { text: 'I look', calls, usage: {} })
  await assert.rejects(model.turn(none), /down/)
  await assert.rejects(model.turn(none), { code: 'model.failed', message: 'the script has no turn 4: it has run out' })
})

test('ids of calls are counted on from the conversation, so that any process gives the same [F-26]', async () => {
  const script = { calls: [{ name: 'a' }, { name: 'b', args: 'cut' }] }
  for (const model of [scriptedModel([script, script]), scriptedModel(() => script)]) {
    const ids = async (request: TurnRequest) => (await model.turn(request)).calls.map(({ id }) => id)
    assert.deepEqual(await ids(none), ['call_1', 'call_2'])
    assert.deepEqual(await ids(asked('call_7', 'call_3', 'other')), ['call_8', 'call_9'])
  }
})

test('a script may be a function that waits, and what it was asked is kept as it was [F-26]', async () => {
  const model = scriptedModel(async ({ messages }) => `${messages.length} so far`, { id: 'counter' })
  const messages: TurnRequest['messages'][number][] = [{ role: 'user', content: 'hi' }]
  assert.equal((await model.turn({ ...none, messages })).text, '1 so far')
  messages.push({ role: 'user', content: 'again' })
  assert.equal((await model.turn({ ...none, messages })).text, '2 so far')
  assert.deepEqual([model.id, ...model.requests.map((request) => request.messages.length)], ['counter', 1, 2])
})

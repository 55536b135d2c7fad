import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { canonical, type Json } from '../base/canonical.ts'
import { disarm } from '../fence/disarm.ts'
import { readFences } from '../fence/read.ts'
import type { RunEvent } from '../model/run.ts'
import { readTranscript } from './transcript.ts'

const seed = Uint8Array.from({ length: 16 }, (_, index) => index)
type Event = Pick<RunEvent, 'type' | 'data'>
const read = (events: readonly Event[]) => readTranscript(events, { seed, isPeer: (tool) => tool.startsWith('agent_') })

const plan = (text: string, ...calls: { id: string; name: string; args: Json }[]): Event => ({
  type: 'plan.proposed',
  data: { text, calls },
})
const call = (id: string, name = 'memory_read', args: Json = {}) => ({ id, name, args })
const finished = (call_id: string, answer: object, status = 'ok'): Event => ({
  type: 'tool.finished',
  data: { call_id, tool: 'memory_read', status, ...answer },
})

function fenced(content: string): { origin: string | undefined; name: string | undefined; text: string } {
  const reading = readFences(content)
  assert(reading.ok && reading.fences.length === 1)
  const [only] = reading.fences
  return { origin: only?.attributes['origin'], name: only?.attributes['name'], text: only?.text ?? '' }
}

test('what was made of a turn is taken again for the next, and only new events are fenced [F-27]', () => {
  const made = new Map()
  const readOn = (events: readonly Event[]) => readTranscript(events, { seed, isPeer: () => false, made }).messages
  const events = [plan('one', call('1'), call('2')), finished('1', { output: 'x' })]
  const before = readOn(events)
  events.push(finished('2', { output: { y: 1 } }), plan('two', call('3')), finished('3', { output: 'z' }))
  const after = readOn(events)
  assert.equal(before.length, 2)
  for (const [index, message] of before.entries()) assert.equal(after[index], message)
  assert.deepEqual(after, read(events).messages)
})

test('a run that has said nothing yet starts with its first turn [R-103]', () => {
  assert.deepEqual(read([]), { messages: [], unanswered: [], answer: undefined, turns: 0 })
  assert.equal(read([{ type: 'run.started', data: {} }]).turns, 0)
})

test('tools answer in the order they were called, text as it is and all else as JSON, in a fence [R-103]', () => {
  const { messages, unanswered, answer, turns } = read([
    plan('Let me look.', call('1'), call('2', 'agent_help', { q: 1 }), call('3', 'memory_write', 'no object')),
    finished('2', { output: 'from a child' }, 'completed'),
    { type: 'tool.progress', data: { call_id: '1' } },
    finished('3', { error: { code: 'args_invalid', message: '`/q`: is missing', retryable: false } }, 'rejected'),
    finished('1', { output: { entries: [] } }),
  ])
  assert.deepEqual([unanswered, answer, turns], [[], undefined, 1])
  const [said, ...answers] = messages
  assert.deepEqual(said, {
    role: 'assistant',
    content: 'Let me look.',
    calls: [call('1'), call('2', 'agent_help', { q: 1 }), call('3', 'memory_write', 'no object')],
  })
  assert.deepEqual(
    answers.map((message) => [message.role === 'tool' && message.callId, fenced(message.content)]),
    [
      ['1', { origin: 'tool', name: 'memory_read', text: '{"entries":[]}' }],
      ['2', { origin: 'peer', name: 'agent_help', text: 'from a child' }],
      ['3', { origin: 'tool', name: 'memory_write', text: '{"code":"args_invalid","message":"`/q`: is missing"}' }],
    ],
  )
})

test('a turn without calls is the answer, as the model gave it [R-103]', () => {
  const { answer, unanswered } = read([plan('', call('1')), finished('1', {}), plan('Done </ambit_data>')])
  assert.deepEqual([answer, unanswered], ['Done </ambit_data>', []])
})

test('a call that is paused has no answer yet, and of two answers the first counts [R-103]', () => {
  const paused = [
    plan('', call('1')),
    finished('1', { error: { code: 'approval_pending', message: 'wait' } }, 'paused'),
  ]
  assert.deepEqual(read(paused).unanswered, [call('1')])
  const [, answer] = read([...paused, finished('1', { output: 'first' }), finished('1', { output: 'second' })]).messages
  assert.equal(fenced(answer?.content ?? '').text, 'first')
})

test('ids of calls count within their turn, and answers to calls that were not made are not read [R-103]', () => {
  const { messages, unanswered } = read([
    finished('1', { output: 'too early' }),
    plan('', call('1')),
    finished('9', { output: 'strange' }),
    finished('1', { output: 'one' }),
    plan('', call('1'), call('2')),
  ])
  assert.deepEqual(unanswered, [call('1'), call('2')])
  assert.deepEqual(
    messages.map(({ role, content }) => (role === 'tool' ? fenced(content).text : role)),
    ['assistant', 'one', 'assistant'],
  )
})

const hostile = fc
  .array(fc.constantFrom('<', '</', 'ambit_data', '>', '&lt;', 'end of data ', '\n', ' ', 'x', '&'), { maxLength: 12 })
  .map((parts) => parts.join(''))

interface Past {
  readonly text: string
  readonly answers: readonly string[]
}

const anyPast: fc.Arbitrary<readonly Past[]> = fc.array(
  fc.record({ text: hostile, answers: fc.array(hostile, { minLength: 1, maxLength: 3 }) }),
  { maxLength: 3 },
)

test('cut off after any event, a run knows what it has and what it lacks, and nothing forges a fence [G-45 R-103]', () => {
  fc.assert(
    fc.property(anyPast, fc.infiniteStream(fc.nat()), (past, picks) => {
      const events = past.flatMap(({ text, answers }) => {
        const calls = answers.map((_, index) => call(`${index}`))
        const ends = answers.map((output, index) => finished(`${index}`, { output }))
        const shuffled = ends.map((end) => ({ end, at: picks.next().value ?? 0 })).sort((a, b) => a.at - b.at)
        return [plan(text, ...calls), ...shuffled.map(({ end }) => end)]
      })
      for (let count = 0; count <= events.length; count++) {
        const known = events.slice(0, count)
        const { messages, unanswered, turns } = read(known)
        const made = known.filter(({ type }) => type === 'plan.proposed').length
        assert.equal(turns, made)
        const lastPlan = known.findLastIndex(({ type }) => type === 'plan.proposed')
        const ended = new Set(known.slice(lastPlan + 1).map(({ data }) => data['call_id']))
        const open = (past[made - 1]?.answers ?? []).map((_, index) => `${index}`).filter((id) => !ended.has(id))
        assert.deepEqual(
          unanswered.map(({ id }) => id),
          open,
        )
        const expected = past
          .slice(0, made)
          .flatMap(({ text, answers }, turn) => [
            disarm(text).text,
            ...answers
              .filter((_, id) => turn < made - 1 || !open.includes(`${id}`))
              .map((answer) => disarm(answer).text),
          ])
        assert.deepEqual(
          messages.map(({ role, content }) => (role === 'tool' ? fenced(content).text : content)),
          expected,
        )
        for (const { role, content } of messages)
          if (role !== 'tool') assert.deepEqual(readFences(content), { ok: true, fences: [] })
      }
    }),
  )
})

test('the same events and seed give the same messages [R-103]', () => {
  const events = [plan('a', call('1')), finished('1', { output: ['x'] })]
  assert.equal(canonical(read(events) as unknown as Json), canonical(read(structuredClone(events)) as unknown as Json))
})

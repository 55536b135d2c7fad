import assert from 'node:assert/strict'
import { expect, test } from 'vitest'
import { anyone, echo, givenHost } from '../../test/support/host.ts'
import { limits } from '../base/limits.ts'
import { defineCapability } from './capability.ts'

const wide = (bytes: number): string => 'é'.repeat(Math.ceil(bytes / 6))
const sizeOf = (event: object): number => JSON.stringify(event).replace(/[^ -~]/g, '______').length

test('what a caller says of a call in every event has a limit, each with the place that goes beyond it [H-80]', async () => {
  const { call, events } = await givenHost({ capabilities: [echo()] })
  const before = (await events()).length
  const members = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`m${n}`, n]))
  const long = 'x'.repeat(257)
  for (const [given, pointer] of [
    [{ correlation: { baggage: { a: 'x'.repeat(limits.baggageBytesMax) } } }, '/correlation/baggage'],
    [{ correlation: { baggage: members(65) } }, '/correlation/baggage'],
    [{ correlation: { causation_id: long } }, '/correlation/causation_id'],
    [{ correlation: { parent_correlation_id: long } }, '/correlation/parent_correlation_id'],
    [{ correlation: { trace_id: long } }, '/correlation/trace_id'],
    [{ actor: { id: 'a', owner: long } }, '/actor/owner'],
    [{ actor: { id: 'a', authority_refs: Array.from({ length: 33 }, () => 'r') } }, '/actor/authority_refs'],
  ] as const)
    await expect(call(anyone, { capability_id: 'test.echo', ...given })).rejects.toMatchObject({
      code: 'field.invalid',
      data: { pointer },
    })
  assert.equal((await events()).length, before)
  const most = { baggage: { ...members(63), a: 'x'.repeat(7_000) }, trace_id: '\u{1f600}'.repeat(256) }
  const refs = Array.from({ length: 32 }, () => '\u{1f600}'.repeat(128))
  const actor = { id: 'a', owner: 'o'.repeat(256), authority_refs: refs }
  const { outcome } = await call(anyone, { capability_id: 'test.echo', actor, correlation: most })
  assert.equal(outcome, 'success')
})

const noting = {
  name: 'noted',
  version: '1.0.0',
  identifies: 'What is noted with the call.',
  fields: { note: { source: 'payload:/note', schema: { type: 'string' }, evidence: 'value' as const } },
  example: { note: 'a' },
}

test('context that would make an event too long refuses the call, before anything is done or written [H-80]', async () => {
  let done = 0
  const noted = defineCapability(
    { id: 'test.noted', version: '1.0.0', description: 'Notes.', policy: {}, context: noting },
    () => ++done,
  )
  const { call, events } = await givenHost({ capabilities: [noted] })
  const before = (await events()).length
  const note = (bytes: number) => ({ capability_id: 'test.noted', payload: { note: wide(bytes) } })
  await expect(call(anyone, note(limits.eventWordsBytesMax))).rejects.toMatchObject({ code: 'payload.too_large' })
  assert.deepEqual([done, (await events()).length], [0, before])
  assert.equal((await call(anyone, note(limits.eventWordsBytesMax - 600))).outcome, 'success')
  for (const event of await events()) assert(sizeOf(event) <= limits.eventBytesMax)
})

test('a handler cannot make its outcome too long to be recorded [H-45 H-80]', async () => {
  const told: unknown[] = []
  const emits = defineCapability(
    {
      id: 'test.emits',
      version: '1.0.0',
      description: 'Emits.',
      policy: {},
      output: { type: 'object', additionalProperties: { type: 'string' } },
    },
    (_, { emit }) => {
      for (const bytes of [limits.eventWordsBytesMax, limits.eventWordsBytesMax - 600])
        try {
          emit('com.example.said', { text: wide(bytes) })
        } catch (error) {
          told.push((error as { code: string }).code)
        }
      return { [wide(2_000_000)]: 1 }
    },
  )
  const { call, events } = await givenHost({ capabilities: [emits], strictOutput: true })
  const { denial } = await call(anyone, { capability_id: 'test.emits' })
  assert.deepEqual([denial?.code, told], ['output_schema_validation_failed', ['payload.too_large']])
  assert.equal((await events()).at(-1)?.event_type, 'execution_denied')
})

test('an event has room for the longest context and the longest words of a handler together [H-45 H-80]', async () => {
  const most = limits.eventWordsBytesMax - 600
  const says = defineCapability(
    {
      id: 'test.says',
      version: '1.0.0',
      description: 'Says.',
      policy: {},
      context: noting,
    },
    (_, { emit }) => emit('com.example.said', { text: wide(most) }) ?? null,
  )
  const { call, events } = await givenHost({ capabilities: [says] })
  const authority_refs = Array.from({ length: limits.authorityRefsMax }, () => '\u{1f600}'.repeat(128))
  const { outcome } = await call(anyone, {
    capability_id: 'test.says',
    payload: { note: wide(most) },
    actor: { id: 'a', authority_refs },
    correlation: { baggage: { a: 'é'.repeat(limits.baggageBytesMax / 2 - 10) } },
  })
  assert.equal(outcome, 'success')
  const types = (await events()).map(({ event_type }) => event_type)
  assert.deepEqual(types.slice(-3), ['execution_started', 'com.example.said', 'execution_completed'])
})

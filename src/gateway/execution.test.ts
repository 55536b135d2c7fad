import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { chunkDigest } from '../../test/support/evidence-statements.ts'
import { anyone, echo, givenHost, recordOf, typesOf } from '../../test/support/host.ts'
import type { Json } from '../base/canonical.ts'
import { Failure } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import { defineCapability } from './capability.ts'

test('what a handler is told of its call may be passed on whole, and cannot be changed [H-18]', async () => {
  const keen = defineCapability({ id: 'test.keen', version: '1.0.0', description: 'Keen.', policy: {} }, (_, call) => {
    const passedOn = { ...call, extra: 1 }
    assert.throws(() => Object.assign(call, { purpose: 'another' }), TypeError)
    assert.equal(passedOn.idempotencyKey, call.idempotencyKey)
    assert(passedOn.signal instanceof AbortSignal)
    return Object.keys(passedOn)
  })
  const { call } = await givenHost({ capabilities: [keen] })
  const { outcome, data } = await call(anyone, { capability_id: 'test.keen' })
  assert.equal(outcome, 'success')
  assert((data as string[]).includes('signal') && (data as string[]).includes('idempotencyKey'))
})

test('output that breaks its schema is marked, and denied when strict; it is on record either way [H-41 H-42]', async () => {
  let runs = 0
  const bad = defineCapability(
    { id: 'test.bad', version: '1.0.0', description: 'Bad.', policy: {}, output: { type: 'object', required: ['x'] } },
    () => {
      runs++
      return { secret_plan: 1 }
    },
  )
  const { call, events } = await givenHost({ capabilities: [bad] })
  const warned = await call(anyone, { capability_id: 'test.bad' })
  assert.deepEqual(
    [warned.outcome, (await events()).at(-1)?.payload['output_schema_valid' as never]],
    ['success', false],
  )
  const strict = { capability_id: 'test.bad', invocation_id: 'inv-1', require_output_schema: true }
  const denied = await call(anyone, strict)
  assert.deepEqual(
    [denied.outcome, denied.denial?.code, denied.data],
    ['denied', 'output_schema_validation_failed', null],
  )
  assert.deepEqual(denied.denial?.details, {
    schema_id: 'test.bad:1.0.0#output',
    path: '',
    keyword: 'required',
    effect: 'done',
  })
  assert.deepEqual((await call(anyone, strict)).replayed, true)
  assert.equal(runs, 2)
  const host = await givenHost({ capabilities: [bad], strictOutput: true })
  assert.equal((await host.call(anyone, { capability_id: 'test.bad' })).outcome, 'denied')
})

const invalid = { type: 'InvalidResult', code: 'invalid_result' }

test.each([
  [
    'throws an error',
    () => {
      throw Object.assign(new RangeError('too far\nat secret/place'), { code: 'E_FAR' })
    },
    { type: 'RangeError', code: 'E_FAR', message: 'too far' },
  ],
  [
    'throws something else',
    () => {
      throw { password: 'x' }
    },
    { type: 'Error', code: null, message: 'the handler failed' },
  ],
  [
    'returns a cycle',
    () => {
      const cycle: Record<string, unknown> = {}
      cycle['self'] = cycle
      return cycle
    },
    {
      ...invalid,
      message: expect.stringMatching(/^the result cannot be used: `\/self(\/self)+.*lies deeper than 60 levels$/),
    },
  ],
  [
    'returns a function',
    () => () => 1,
    { ...invalid, message: 'the result cannot be used: it is function, which JSON has not' },
  ],
  [
    'returns a number that is none',
    () => ({ 'a/b': [{ n: Number.NaN }] }),
    { ...invalid, message: 'the result cannot be used: `/a~1b/0/n` is a number beyond 2^53 − 1, or none' },
  ],
  [
    'returns a date',
    () => ({ rows: [{ at: new Date(0) }] }),
    { ...invalid, message: 'the result cannot be used: `/rows/0/at` is an object with a class' },
  ],
  [
    'throws a failure',
    () => {
      throw new Failure('field.invalid', 'the room is not known', {}, 'name another')
    },
    { type: 'Failure', code: 'field_invalid', message: 'the room is not known; name another' },
  ],
] as [string, () => unknown, object][])(
  'a handler that %s has failed, without a stack [H-43 H-70]',
  async (_, handler, error) => {
    const capability = defineCapability(
      { id: 'test.fail', version: '1.0.0', description: 'Fails.', policy: {} },
      handler,
    )
    const { call, events } = await givenHost({ capabilities: [capability] })
    const result = await call(anyone, { capability_id: 'test.fail' })
    assert.deepEqual([result.outcome, result.success, result.data, result.denial], ['failure', false, null, null])
    expect(result.error).toMatchObject({ ...error, effect: 'none' })
    const last = (await events()).at(-1)
    assert.equal(last?.event_type, 'execution_failed')
    assert.equal(JSON.stringify(last).includes('secret/place'), false)
  },
)

test('a call out of time has failed, or is indeterminate if it has effects; its handler hears of it [H-66]', async () => {
  const heard: string[] = []
  const slow = (id: string, effects?: string[]) =>
    defineCapability(
      { id, version: '1.0.0', description: 'Slow.', policy: {}, timeoutS: 0.02, ...(effects && { effects }) },
      (_, { signal }) =>
        new Promise((resolve, reject) => {
          signal.addEventListener('abort', () => {
            heard.push(id)
            id === 'a.rejects' ? reject(new Error('aborted')) : resolve('late')
          })
        }),
    )
  const { call, events } = await givenHost({
    capabilities: [slow('a.read'), slow('a.write', ['stock.move']), slow('a.rejects')],
  })
  for (const [id, outcome, effect] of [
    ['a.read', 'failure', 'none'],
    ['a.rejects', 'failure', 'none'],
    ['a.write', 'indeterminate', 'unknown'],
  ] as const) {
    const result = await call(anyone, { capability_id: id, invocation_id: id })
    assert.deepEqual(
      [result.outcome, result.error?.type, result.error?.effect, result.denial],
      [outcome, 'TimeoutError', effect, null],
    )
    assert.equal((await events()).at(-1)?.event_type, id === 'a.write' ? 'execution_indeterminate' : 'execution_failed')
    assert.equal((await call(anyone, { capability_id: id, invocation_id: id })).replayed, true)
  }
  assert.deepEqual(heard, ['a.read', 'a.rejects', 'a.write'])
})

test('a stream without an end is stopped with its time [H-66]', async () => {
  let stopped = false
  const endless = defineCapability(
    { id: 'test.endless', version: '1.0.0', description: 'Endless.', policy: {}, timeoutS: 0.05, modes: ['stream'] },
    async function* () {
      try {
        for (let n = 0; ; n++) {
          await sleep(1)
          yield n
        }
      } finally {
        stopped = true
      }
    },
  )
  const { call } = await givenHost({ capabilities: [endless] })
  assert.equal((await call(anyone, { capability_id: 'test.endless', mode: 'stream' })).outcome, 'failure')
  await vi.waitFor(() => assert(stopped))
})

test('chunks come as they are made and are counted; a watcher who leaves does not end the call [H-67]', async () => {
  const stream = defineCapability(
    { id: 'test.stream', version: '1.0.0', description: 'Streams.', policy: {}, modes: ['sync', 'stream'] },
    async function* () {
      yield 's1'
      yield 's2'
      return { chunks: 2 }
    },
  )
  const { host, events } = await givenHost({ capabilities: [stream] })
  const seen: unknown[] = []
  const watch = {
    chunk: (chunk: Json) => {
      seen.push(chunk)
      throw new Error('gone')
    },
  }
  const envelope = { capability_id: 'test.stream', mode: 'stream', invocation_id: 'inv-s' }
  const { result, chunks } = await host.gateway.invoke(anyone, envelope, watch)
  assert.deepEqual([seen, chunks, result.data], [['s1', 's2'], ['s1', 's2'], { chunks: 2 }])
  assert.equal((await events()).at(-1)?.payload['chunk_count' as never], 2)
  const again = await host.gateway.invoke(anyone, envelope)
  assert.deepEqual([again.result.replayed, again.chunks], [true, ['s1', 's2']])
})

test('a handler gets one frozen value: what it does to its input changes nothing on record [H-18]', async () => {
  const thief = defineCapability(
    { id: 'test.thief', version: '1.0.0', description: 'Changes what it is given.', policy: {} },
    (input, call) => {
      const { deep } = input as { deep: object }
      for (const target of [input as object, deep, call.correlation, call.subject, call.context])
        assert.throws(() => Object.assign(target, { changed: true }), TypeError)
      return null
    },
  )
  const { call, events } = await givenHost({ capabilities: [thief] })
  const result = await call(anyone, { capability_id: 'test.thief', payload: { deep: { a: 1 } } })
  assert.equal(result.outcome, 'success')
  const [start, end] = (await events()).slice(-2).map(recordOf)
  assert.equal(start?.input, end?.input)
})

test('a safety evaluator that fails has not approved [H-40]', async () => {
  const { call } = await givenHost({
    capabilities: [echo()],
    safety: () => {
      throw new Error('down')
    },
  })
  const { denial } = await call(anyone, { capability_id: 'test.echo' })
  assert.deepEqual([denial?.code, denial?.details?.['guardrail']], ['safety_blocked', 'safety_unavailable'])
})

test('of a stream that is too long to keep only the result is given again; its digest is over all of it [H-67]', async () => {
  const length = limits.chunksKeptMax + 1
  const long = defineCapability(
    { id: 'test.long', version: '1.0.0', description: 'Long.', policy: {}, modes: ['stream'] },
    async function* () {
      for (let n = 0; n < length; n++) yield n
      return 'done'
    },
  )
  const { host, events } = await givenHost({ capabilities: [long] })
  const envelope = { capability_id: 'test.long', mode: 'stream', invocation_id: 'inv-l' }
  let seen = 0
  const watch = { chunk: () => void seen++ }
  assert.equal((await host.gateway.invoke(anyone, envelope, watch)).result.data, 'done')
  assert.equal(seen, length)
  const { chunk_count, chunk_seq_digest } = ((await events()).at(-1)?.payload ?? {}) as Record<string, unknown>
  const all = Array.from({ length }, (_, n) => n)
  assert.deepEqual([chunk_count, chunk_seq_digest], [length, chunkDigest(all)])
  const again = await host.gateway.invoke(anyone, envelope)
  assert.deepEqual([again.result.replayed, again.result.data, again.chunks], [true, 'done', undefined])
})

test.each([
  [['x.write'], 'indeterminate', 'unknown'],
  [[], 'failure', 'none'],
])(
  'a call with the effects %j that is taken back while it runs ends as %s [H-66 H-90]',
  async (effects, outcome, effect) => {
    const left = new AbortController()
    const told = Promise.withResolvers<boolean>()
    const slow = defineCapability(
      { id: 'test.slow', version: '1.0.0', description: 'Slow.', policy: {}, effects },
      async (_, { signal }) => {
        signal.addEventListener('abort', () => told.resolve(signal.aborted))
        left.abort()
        await sleep(60_000, undefined, { signal, ref: false })
      },
    )
    const { host } = await givenHost({ capabilities: [slow] })
    const watch = { chunk: () => undefined, signal: left.signal }
    const { result } = await host.gateway.invoke(anyone, { capability_id: 'test.slow' }, watch)
    assert.deepEqual([result.outcome, result.error?.code, result.error?.effect], [outcome, 'cancelled', effect])
    assert.equal(await told.promise, true)
  },
)

test('a call that is taken back before it begins does not begin, and is known to have had no effect [H-66 H-90]', async () => {
  const handler = vi.fn(() => 1)
  const spec = { id: 'test.late', version: '1.0.0', description: 'Late.', policy: {}, effects: ['x.write'] }
  const { host, events } = await givenHost({ capabilities: [defineCapability(spec, handler)] })
  const watch = { chunk: () => undefined, signal: AbortSignal.abort() }
  const { result } = await host.gateway.invoke(anyone, { capability_id: 'test.late' }, watch)
  assert.deepEqual([result.outcome, result.error?.code, result.error?.effect], ['failure', 'cancelled', 'none'])
  assert.deepEqual(typesOf(await events()).slice(-2), ['execution_started', 'execution_failed'])
  expect(handler).not.toHaveBeenCalled()
})

test('a stream of which too much comes is ended, and may close what it has open [H-66]', async () => {
  const closed = Promise.withResolvers<void>()
  const pours = defineCapability(
    { id: 'test.pour', version: '1.0.0', description: 'Pours.', policy: {}, modes: ['stream'] },
    async function* () {
      try {
        yield 1
        yield (() => undefined) as unknown
        yield 2
      } finally {
        closed.resolve()
      }
    },
  )
  const { call } = await givenHost({ capabilities: [pours] })
  const result = await call(anyone, { capability_id: 'test.pour', mode: 'stream' })
  assert.equal(result.error?.code, 'invalid_result')
  await closed.promise
})

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { test } from 'vitest'
import { dataFolder } from '../../test/support/data.ts'
import { formatTraceparent, formatTracestate, parseTraceparent, parseTracestate, readTrace } from './trace.ts'

const good = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

test('a traceparent is read and written back [F-04]', () => {
  const trace = parseTraceparent(good)
  assert.deepEqual(trace, { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7', sampled: true })
  assert.equal(trace && formatTraceparent(trace), good)
  assert.equal(parseTraceparent(good.replace(/01$/, '02'))?.sampled, false)
})

test('only what the grammar allows is a traceparent [F-04]', () => {
  const bad = [
    '',
    good.toUpperCase(),
    good.replace(/^00/, 'ff'),
    `${good}-x`,
    good.replace('4bf92f3577b34da6a3ce929d0e0e4736', '0'.repeat(32)),
    good.replace('00f067aa0ba902b7', '0'.repeat(16)),
    good.slice(0, -1),
  ]
  assert.deepEqual(
    bad.map(parseTraceparent),
    bad.map(() => undefined),
  )
  assert.notEqual(parseTraceparent(`${good.replace(/^00/, '01')}-later`), undefined)
})

test('a tracestate keeps its order, drops blanks, and is refused whole [F-04]', () => {
  const state = parseTracestate(' a=1 ,, b@c=2\t')
  assert.deepEqual(state, [
    ['a', '1'],
    ['b@c', '2'],
  ])
  assert.equal(state && formatTracestate(state), 'a=1,b@c=2')
  assert.equal(parseTracestate('a=1,B=2'), undefined)
  assert.equal(parseTracestate(Array.from({ length: 33 }, (_, n) => `k${n}=1`).join(',')), undefined)
})

test('without a good traceparent there is no trace at all [F-04]', () => {
  assert.deepEqual(readTrace([['tracestate', 'a=1']]), { parent: undefined, state: [] })
  assert.deepEqual(
    readTrace([
      ['TraceParent', good],
      ['tracestate', 'a='],
    ]),
    { parent: parseTraceparent(good), state: [] },
  )
})

test('no text makes a reader throw [F-04]', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => void [parseTraceparent(text), parseTracestate(text)]))
})

const folder = dataFolder('trace-context')
test.skipIf(folder === undefined)(
  'every published case of the trace context is decided as its list says [F-04]',
  () => {
    type Case = { header: string; value: string; valid: boolean; note: string }
    const cases = JSON.parse(readFileSync(join(folder ?? '', 'cases.json'), 'utf8')) as Case[]
    assert.equal(cases.length, 137)
    for (const { header, value, valid, note } of cases) {
      const own = !/^traceparent$/i.test(header)
      const { parent, state } = readTrace([...(own ? [['traceparent', good] as const] : []), [header, value]])
      const empty = /^tracestate$/i.test(header) && parseTracestate(value)?.length === 0
      assert.equal(own ? state.length > 0 || empty : parent !== undefined, valid, `${header}: ${note}`)
    }
  },
)

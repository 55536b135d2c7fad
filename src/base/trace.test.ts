import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { test } from 'vitest'
import { dataFolder } from '../../test/support/data.ts'
import { formatTraceparent, parseTraceparent } from './trace.ts'

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

test('no text makes a reader throw [F-04]', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => void parseTraceparent(text)))
})

const folder = dataFolder('trace-context')
test.skipIf(folder === undefined)('every published case of a traceparent is decided as its list says [F-04]', () => {
  type Case = { header: string; value: string; valid: boolean; note: string }
  const cases = JSON.parse(readFileSync(join(folder ?? '', 'cases.json'), 'utf8')) as Case[]
  const own = cases.filter(({ header }) => /^traceparent$/i.test(header))
  assert.equal(own.length, 69)
  for (const { value, valid, note } of own) assert.equal(parseTraceparent(value) !== undefined, valid, note)
})

import assert from 'node:assert/strict'
import { generateKeyPairSync, sign } from 'node:crypto'
import fc from 'fast-check'
import { test } from 'vitest'
import { keyIdOf, verifySignature } from './ed25519.ts'
import { Failure, problem, quote } from './failure.ts'
import { statusOf, wireCode } from './failure-codes.ts'
import { formatId } from './ids.ts'
import { formatTime, parseTime } from './time.ts'

test('a failure becomes one problem body, with its code in wire spelling [F-05]', () => {
  const failure = new Failure('tenant.not_found', 'tenant `x` not found', { id: 'x' }, 'create it first')
  assert.deepEqual(problem(failure, 'abc'), {
    type: 'urn:ambit:problem:tenant_not_found',
    title: 'tenant not found',
    status: 404,
    code: 'tenant_not_found',
    detail: 'tenant `x` not found',
    data: { id: 'x' },
    remediation: 'create it first',
    trace_id: 'abc',
  })
})

test('an unexpected error shows nothing of itself [F-05]', () => {
  const text = JSON.stringify(problem(new TypeError('password=hunter2 at /srv/app/x.ts')))
  assert.equal(text.includes('hunter2') || text.includes('/srv') || text.includes('TypeError'), false)
  assert.equal(problem(undefined).status, 500)
})

test('every code is a noun and a condition, has one wire spelling and an error status [F-05]', () => {
  const codes = Object.keys(statusOf) as (keyof typeof statusOf)[]
  for (const code of codes) assert.match(code, /^[a-z]+(\.[a-z]+(_[a-z]+)*)?$/)
  assert.equal(new Set(codes.map(wireCode)).size, codes.length)
  assert(Object.values(statusOf).every((status) => status >= 400 && status < 600))
})

test('foreign text in a message is in backticks, escaped and short [F-05]', () => {
  assert.equal(quote('a`b\n\u202e\\'), '`a\\u{60}b\\u{a}\\u{202e}\\u{5c}`')
  assert.equal(quote('x'.repeat(200)).length, 82)
})

test('ids have a prefix, one alphabet, and sort by time [F-04]', () => {
  const id = (ms: number, fill: number) => formatId('evt', ms, new Uint8Array(10).fill(fill))
  assert.match(id(1_760_000_000_000, 255), /^evt_[0-9a-hjkmnp-tv-z]{26}$/)
  fc.assert(
    fc.property(fc.nat(2 ** 41), fc.nat(2 ** 41), (a, b) => {
      if (a !== b) assert.equal(id(a, 255) < id(b, 0), a < b)
    }),
  )
  assert.notEqual(id(5, 1), id(5, 2))
})

test('times are written in one width and read as instants [F-04 H-89]', () => {
  assert.equal(formatTime(0), '1970-01-01T00:00:00.000Z')
  for (const ms of [1, 999, 1000, 1001.9, -1, -1000, -1001, Date.UTC(2026, 1, 28, 23, 59, 59, 999), 253402300799999])
    for (const again of [ms, ms + 1, ms]) assert.equal(formatTime(again), new Date(again).toISOString())
  assert.throws(() => formatTime(Number.NaN), RangeError)
  assert.equal(parseTime('2026-01-01T01:00:00+01:00'), parseTime('2026-01-01T00:00:00.000Z'))
  assert.equal(parseTime('2026-01-01T00:00:00.1234567Z'), Date.UTC(2026, 0, 1, 0, 0, 0, 123))
  const bad = [
    '',
    '2026-01-01',
    '2026-02-30T00:00:00Z',
    '2026-01-01T24:00:00Z',
    '2026-01-01T00:00:61Z',
    '2026-01-01 00:00:00Z',
    '2026-1-1T0:0:0Z',
    '2026-01-01T00:00:00',
  ]
  assert.deepEqual(
    bad.map(parseTime),
    bad.map(() => undefined),
  )
})

test('a signature holds for exactly its key and bytes, and garbage is false [H-87]', () => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)
  const key = raw.toString('base64')
  const signature = sign(null, Buffer.from('text'), privateKey).toString('base64')
  assert.equal(verifySignature(key, 'text', signature), true)
  assert.equal(verifySignature(key, 'texT', signature), false)
  assert.equal(verifySignature(key, 'text', signature.replace(/=+$/, '')), false)
  assert.equal(verifySignature(key.slice(0, -4), 'text', signature), false)
  assert.equal(verifySignature('', 'text', ''), false)
  assert.match(keyIdOf(key) ?? '', /^[0-9a-f]{16}$/)
  assert.equal(keyIdOf('A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg='), '56475aa75463474c')
  assert.equal(keyIdOf('not a key'), undefined)
})

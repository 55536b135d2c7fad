import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { formatTime } from '../base/time.ts'
import { turnFailure } from './turn-failure.ts'

const live = new AbortController().signal
const failureOf = (error: unknown, came = false) => turnFailure('acme/m1', error, live, came)

test.each([
  [{ statusCode: 429 }, 'model.limited', true],
  [{ statusCode: 529 }, 'model.limited', true],
  [{ type: 'overloaded_error', message: 'Overloaded' }, 'model.limited', true],
  [{ type: 'error', error: { type: 'rate_limit_error' } }, 'model.limited', true],
  [{ statusCode: 200, data: { error: { code: 'rate_limit_exceeded' } } }, 'model.limited', true],
  ['overloaded_error', 'model.limited', true],
  [{ statusCode: 500 }, 'model.failed', true],
  [{ code: 502, message: 'bad gateway' }, 'model.failed', true],
  [{ statusCode: 408 }, 'model.failed', true],
  [{ isRetryable: true, message: 'Cannot connect to API' }, 'model.failed', true],
  [new TypeError('fetch failed'), 'model.failed', true],
  [{ statusCode: 400 }, 'model.failed', false],
  [{ statusCode: 401, isRetryable: true }, 'model.failed', false],
  [new Error('no key'), 'model.failed', false],
  [undefined, 'model.failed', false],
])('%j is %s; retryable: %s [F-26]', (error, code, retryable) => {
  const failure = failureOf(error)
  assert.deepEqual([failure.code, failure.data['retryable']], [code, retryable])
  assert.equal(failureOf(error, true).data['retryable'], code === 'model.limited')
})

test('how long to wait is read as seconds, as a date and in the finer form of some [F-26]', () => {
  const waitOf = (responseHeaders: object) => failureOf({ statusCode: 429, responseHeaders }).data['retryAfterMs']
  assert.equal(waitOf({ 'retry-after': '7' }), 7_000)
  assert.equal(waitOf({ 'retry-after': '7', 'retry-after-ms': '250' }), 250)
  assert(Number(waitOf({ 'retry-after': formatTime(0) })) < 0)
  assert(Number(waitOf({ 'retry-after': 'Fri, 31 Dec 9999 23:59:59 GMT' })) > 0)
  for (const headers of [{}, { 'retry-after': 'soon' }, { 'retry-after': '' }]) assert.equal(waitOf(headers), undefined)
})

test('a failure says status and reason in plain words, and no key, address or token [F-11 F-26]', () => {
  const shown = (message: string) => failureOf({ statusCode: 401, message }).message
  assert.equal(
    shown('Incorrect API key provided: sk-proj-Ab12. You can find it at https://acme.example/keys?user=7.'),
    'model `acme/m1`: status 401, `Incorrect API key You can find it at`',
  )
  assert.equal(
    shown('too many tokens: 130000 of 128000'),
    'model `acme/m1`: status 401, `too many tokens: 130000 of 128000`',
  )
  assert.equal(shown('Authorization: Bearer hunter'), 'model `acme/m1`: status 401, `Authorization:`')
  const secrets = fc.oneof(
    fc.stringMatching(/^sk-[a-zA-Z0-9-]{8,40}$/),
    fc.stringMatching(/^[a-f]{0,8}[0-9][a-f0-9]{12,40}$/),
    fc.stringMatching(/^https:\/\/[a-z]{3,8}:[a-z]{3,8}@[a-z]{3,8}\.example$/),
    fc.stringMatching(/^[A-Za-z]{25,60}$/),
  )
  const wrap = fc.constantFrom('bad key "$"', 'key=$', 'token: $ is wrong', '($)', 'Bearer $', '$')
  fc.assert(
    fc.property(secrets, wrap, (secret, around) => {
      const { message, data } = failureOf(new Error(around.replace('$', secret)))
      assert(!`${message}${JSON.stringify(data)}`.includes(secret))
    }),
  )
})

import assert from 'node:assert/strict'
import { test } from 'vitest'
import { ended, givenHttp as given } from '../../../test/support/http-upstream.ts'
import { importOne } from '../../../test/support/openapi.ts'
import { givenServer } from '../../../test/support/upstream.ts'

/** A form as a document describes it, sent to a real server. */
async function givenForm(encoding: object) {
  const { origin, seen } = await givenServer((response) => response.end())
  const content = { 'application/x-www-form-urlencoded': { schema: { type: 'object' }, encoding } }
  const { request, descriptor } = importOne({ requestBody: { content } }, { method: 'post' })
  assert(request && descriptor)
  const { call } = await given(origin, [{ request, descriptor: { ...descriptor, policy: {} } }])
  return { send: (body: object) => call({ body }), sent: () => seen.map(({ body }) => body) }
}

test.each<[object | undefined, object, string]>([
  [undefined, { a: { b: 1 } }, 'a=%7B%22b%22%3A1%7D'],
  [
    { style: 'deepObject', explode: true },
    { a: { b: 'x&y', c: { d: [1, 2] } } },
    'a%5Bb%5D=x%26y&a%5Bc%5D%5Bd%5D=1&a%5Bc%5D%5Bd%5D=2',
  ],
  [{ style: 'deepObject' }, { a: 'text', b: { c: 1 } }, 'a=text&b=%7B%22c%22%3A1%7D'],
  [{ style: 'deepObject' }, { a: {}, b: 1 }, 'b=1'],
  [{ explode: false }, { a: ['x,y', 'z'], b: 'p q' }, 'a=x%2Cy,z&b=p+q'],
  [{ style: 'form', explode: true }, { a: [1, 2] }, 'a=1&a=2'],
  [{ style: 'spaceDelimited' }, { a: [1, 2] }, 'a=1%202'],
  [{ style: 'pipeDelimited', explode: false }, { a: [1, 2] }, 'a=1%7C2'],
  // Members of an object are no fields of their own: they could be those of others.
  [{ style: 'form', explode: true }, { a: { b: 1 } }, 'a=%7B%22b%22%3A1%7D'],
  [{ contentType: 'text/plain' }, { a: [1, 2] }, 'a=1&a=2'],
  [{ style: 'other' }, { a: [1] }, 'a=1'],
])('a member of a form that is encoded as %j: %j [H-90]', async (encoding, body, expected) => {
  const { send, sent } = await givenForm(encoding === undefined ? {} : { a: encoding })
  assert.equal((await send(body)).outcome, 'success')
  assert.deepEqual(sent(), [expected])
})

test('what has no form in a style is not sent [H-90]', async () => {
  const { send, sent } = await givenForm({ a: { style: 'deepObject' }, b: { explode: false } })
  for (const body of [{ a: { b: [{ c: 1 }] } }, { b: [[1]] }])
    assert.deepEqual(ended(await send(body)), ['failure', 'request_invalid', 'none'])
  assert.deepEqual(sent(), [])
})

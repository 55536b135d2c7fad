import assert from 'node:assert/strict'
import { test } from 'vitest'
import { givenServer } from '../../test/support/server.ts'
import { givenTracer } from '../../test/support/tracer.ts'

test('a request is one span, with one of its call in it; neither says anything of the content [H-70]', async () => {
  const seen = givenTracer()
  const { ask } = await givenServer()
  const canary = 'canary-4711'
  const body = { capability_id: 'conformance.guarded', payload: { other: canary }, subject: { id: canary } }
  const traceparent = `00-${'2'.repeat(32)}-${'3'.repeat(16)}-01`
  const { headers } = await ask('POST', '/invoke', { body, headers: { traceparent } })
  const [request, call] = seen
  assert.equal(headers.get('traceparent'), `00-${'2'.repeat(32)}-${request?.id}-01`)
  assert.deepEqual(seen, [
    {
      name: 'POST /invoke',
      ended: true,
      parent: '3'.repeat(16),
      id: request?.id,
      trace: '2'.repeat(32),
      attributes: { 'http.request.method': 'POST', 'http.route': '/invoke', 'http.response.status_code': 200 },
    },
    {
      name: 'invoke',
      ended: true,
      parent: request?.id,
      id: call?.id,
      trace: '2'.repeat(32),
      attributes: { 'ambit.invocation.outcome': 'denied', 'ambit.invocation.denial': 'invariant_failed' },
    },
  ])
  const metrics = await ask('GET', '/metrics')
  assert.match(metrics.text, /^ambit_invocations_total\{outcome="denied"\} 1$/m)
  assert.match(metrics.text, /^ambit_requests_total\{route="\/invoke",status="200"\} 1$/m)
  assert.doesNotMatch(`${metrics.text}${JSON.stringify(seen)}`, /canary/)
})

import assert from 'node:assert/strict'
import { type Attributes, type Context, type Span, type SpanOptions, trace } from '@opentelemetry/api'
import { onTestFinished, test } from 'vitest'
import { givenServer } from '../../test/support/server.ts'

interface Seen {
  name: string
  ended: boolean
  readonly parent: string | undefined
  readonly id: string
  readonly attributes: Attributes
}

/** A tracer that remembers. */
function givenTracer(): Seen[] {
  const seen: Seen[] = []
  const startSpan = (name: string, options: SpanOptions = {}, context?: Context): Span => {
    const parent = context && trace.getSpanContext(context)
    const id = (seen.length + 1).toString(16).padStart(16, '0')
    const span: Seen = { name, ended: false, parent: parent?.spanId, id, attributes: { ...options.attributes } }
    seen.push(span)
    const traceId = parent?.traceId ?? '1'.repeat(32)
    return {
      spanContext: () => ({ traceId, spanId: id, traceFlags: 1 }),
      setAttribute: (key: string, value: never) => {
        span.attributes[key] = value
      },
      updateName: (given: string) => {
        span.name = given
      },
      end: () => {
        span.ended = true
      },
    } as unknown as Span
  }
  trace.setGlobalTracerProvider({ getTracer: () => ({ startSpan, startActiveSpan: () => assert.fail() }) })
  onTestFinished(() => trace.disable())
  return seen
}

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
      attributes: { 'http.request.method': 'POST', 'http.route': '/invoke', 'http.response.status_code': 200 },
    },
    {
      name: 'invoke',
      ended: true,
      parent: request?.id,
      id: call?.id,
      attributes: { 'ambit.invocation.outcome': 'denied', 'ambit.invocation.denial': 'invariant_failed' },
    },
  ])
  const metrics = await ask('GET', '/metrics')
  assert.match(metrics.text, /^ambit_invocations_total\{outcome="denied"\} 1$/m)
  assert.match(metrics.text, /^ambit_requests_total\{route="\/invoke",status="200"\} 1$/m)
  assert.doesNotMatch(`${metrics.text}${JSON.stringify(seen)}`, /canary/)
})

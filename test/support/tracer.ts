// A tracer that remembers whatever it is told.

import assert from 'node:assert/strict'
import { type Attributes, type Context, type Span, type SpanOptions, trace } from '@opentelemetry/api'
import { onTestFinished } from 'vitest'

export interface SeenSpan {
  name: string
  ended: boolean
  readonly parent: string | undefined
  readonly id: string
  readonly trace: string
  readonly attributes: Attributes
  error?: string | undefined
}

/** The spans of this test, in the order they begin. A span that is told anything else fails the test. */
export function givenTracer(): SeenSpan[] {
  const seen: SeenSpan[] = []
  const startSpan = (name: string, options: SpanOptions = {}, context?: Context): Span => {
    const parent = context && trace.getSpanContext(context)
    const id = (seen.length + 1).toString(16).padStart(16, '0')
    const traceId = parent?.traceId ?? `${seen.length + 1}`.padStart(32, '1')
    const attributes = { ...options.attributes }
    const span: SeenSpan = { name, ended: false, parent: parent?.spanId, id, trace: traceId, attributes }
    seen.push(span)
    return {
      spanContext: () => ({ traceId, spanId: id, traceFlags: 1 }),
      setAttribute: (key: string, value: never) => {
        span.attributes[key] = value
      },
      setStatus: ({ message }: { readonly message?: string }) => {
        span.error = message
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

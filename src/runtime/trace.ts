import { randomBytes, randomInt } from 'node:crypto'
import type { Attributes, Context, Span } from '@opentelemetry/api'
import { isSpanContextValid, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import type { TraceParent } from '../base/trace.ts'
import { version } from '../base/version.ts'

export type Traced = ReturnType<typeof beginSpan>

/** Begins a span below a place in a trace, or a trace of its own. Without a tracer it has a place all the same. */
export function beginSpan(
  name: string,
  parent: TraceParent | undefined,
  { attributes = {}, kind = SpanKind.INTERNAL }: { readonly attributes?: Attributes; readonly kind?: SpanKind } = {},
) {
  const span = trace.getTracer('ambit', version).startSpan(name, { kind, attributes }, contextOf(parent))
  const set = (more: Attributes): void => {
    for (const [name, value] of Object.entries(more)) if (value !== undefined) span.setAttribute(name, value)
  }
  return {
    /** Where it is: what begins below it has this as its parent. */
    place: placeOf(span, parent),
    rename: (to: string): void => void span.updateName(to),
    set,
    end: (more: Attributes = {}, error?: string): void => {
      set(more)
      if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: error })
      span.end()
    },
  }
}

function contextOf(parent: TraceParent | undefined): Context {
  if (parent === undefined) return ROOT_CONTEXT
  const { traceId, spanId, sampled } = parent
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: sampled ? 1 : 0, isRemote: true })
}

/** Without a tracer the span has no place of its own: then it gets a name all the same. */
function placeOf(span: Span, parent: TraceParent | undefined): TraceParent {
  const own = span.spanContext()
  if (isSpanContextValid(own) && own.spanId !== parent?.spanId)
    return { traceId: own.traceId, spanId: own.spanId, sampled: (own.traceFlags & 1) === 1 }
  const { traceId = randomBytes(16).toString('hex'), sampled = false } = parent ?? {}
  return { traceId, spanId: nextSpanId(), sampled }
}

// Eight random digits of the process, then eight that count up: no two spans of a trace have one id.
const ofProcess = randomBytes(4).toString('hex')
let count = randomInt(0xffff)

function nextSpanId(): string {
  count = (count + 1) % 0xffff_ffff
  return ofProcess + (count + 1).toString(16).padStart(8, '0')
}

import { randomBytes } from 'node:crypto'
import { canonical, type Json } from '../base/canonical.ts'
import { sha256 } from '../base/hash.ts'
import { formatId } from '../base/ids.ts'
import { parseTraceparent } from '../base/trace.ts'
import type { CallCaller } from '../gateway/call.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { approvalIdOf } from '../gateway/tools/result-text.ts'
import { failureText, resultText, type Tool, toolsOf } from '../gateway/tools/tools.ts'
import type { Actor } from '../model/identity/subject.ts'
import type { ReceivedEnvelope } from '../model/wire/invocation.ts'
import type { InvocationResult } from '../model/wire/result.ts'

/** The gateway of a tenant, or the host that has it. */
export type Door = Gateway | { readonly gateway: Gateway }

export interface BridgeOptions {
  /** The task that all calls of this bridge belong to; a new one unless given. */
  readonly correlationId?: string
  /** A W3C `traceparent` that the calls continue; a malformed one is left out. */
  readonly traceparent?: string
  /** Who acts; recorded beside the principal, and never believed in its place. */
  readonly actor?: Actor
  readonly purpose?: string
  /** Facts that contracts of capabilities ask for and no payload has. */
  readonly context?: { readonly [name: string]: Json }
  /**
   * What becomes of a call that people have to agree to: the model is told so at once (`return`, the default), or the
   * tool answers only when they have decided (`wait`).
   */
  readonly onApproval?: 'return' | 'wait'
  /** How long `wait` waits; without it until the request is over. */
  readonly approvalTimeoutMs?: number
  /** Told every result, with all that the model is not shown. */
  readonly onResult?: (result: InvocationResult, tool: Tool) => void
}

/** What a framework knows of the call that it passes on. */
interface ToolCallFacts {
  readonly toolCallId?: string | undefined
  readonly signal?: AbortSignal | undefined
}

/** What one principal may use of a gateway, for one task: make a new one for each, so that no right outlives its key. */
export function openBridge(door: Door, principal: CallCaller, options: BridgeOptions = {}) {
  const gateway = 'gateway' in door ? door.gateway : door
  const correlationId = options.correlationId ?? formatId('cor', Date.now(), randomBytes(10))
  const base = { ...envelopeOf(options), correlation: correlationOf(correlationId, options) }
  // The same call again, under whatever id, is the one that waits for people.
  const asking = async (tool: Tool, payload: Json, named: string, signal: AbortSignal | undefined) => {
    const { capabilityId: capability_id, version, mode } = tool
    const asked = { ...base, capability_id, version, mode, payload }
    const envelope = { ...asked, invocation_id: (await gateway.waitingCall(principal, asked)) ?? named }
    return () => gateway.invoke(principal, envelope, { chunk: () => undefined, signal })
  }
  return {
    tools: toolsOf(gateway.discover(principal)),
    /**
     * Calls through the gateway, as the principal; without a result the call was none, and the text says why. A tool call
     * that comes again under its id takes effect once. The signal ends the waiting, and takes back a call that runs
     * already: how that ended is on record.
     */
    call: async (
      tool: Tool,
      input: unknown,
      { toolCallId, signal }: ToolCallFacts,
    ): Promise<{ readonly text: string; readonly result?: InvocationResult }> => {
      signal?.throwIfAborted()
      try {
        const ask = await asking(tool, (input ?? {}) as Json, invocationId(correlationId, toolCallId), signal)
        const first = await until(signal, ask())
        const decided = await isDecided(gateway, first.result, options, signal)
        const { result, chunks, isCut } = decided ? await until(signal, ask()) : first
        options.onResult?.(result, tool)
        return { text: resultText(result, { chunks, isCut }), result }
      } catch (error) {
        return { text: failureText(tool.capabilityId, error) }
      }
    },
  }
}

/** Waits for people where it is told to; true if the call is to be made again. */
async function isDecided(
  gateway: Gateway,
  result: InvocationResult,
  { onApproval, approvalTimeoutMs: timeoutMs }: BridgeOptions,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const approval = approvalIdOf(result)
  if (approval === undefined || onApproval !== 'wait') return false
  await gateway.waitForDecision(approval, { ...(signal && { signal }), ...(timeoutMs !== undefined && { timeoutMs }) })
  return true
}

const envelopeOf = ({ actor, purpose, context }: BridgeOptions): Partial<ReceivedEnvelope> => ({
  ...(actor && { actor }),
  ...((purpose ?? context) !== undefined && {
    metadata: { ...(purpose !== undefined && { purpose }), ...(context && { context }) },
  }),
})

function correlationOf(correlation_id: string, { traceparent }: BridgeOptions) {
  const trace = traceparent === undefined ? undefined : parseTraceparent(traceparent)
  return { correlation_id, ...(trace && { trace_id: trace.traceId }) }
}

/** Within its task only: some models count their tool calls from 0 in every conversation. */
function invocationId(correlationId: string, toolCallId: string | undefined): string {
  if (toolCallId === undefined) return formatId('inv', Date.now(), randomBytes(10))
  const isPlain = [correlationId, toolCallId].every((part) => /^[A-Za-z0-9_-]{1,100}$/.test(part))
  return isPlain ? `${correlationId}.${toolCallId}` : `tool.${sha256(canonical([correlationId, toolCallId]))}`
}

async function until<T>(signal: AbortSignal | undefined, work: Promise<T>): Promise<T> {
  if (signal === undefined) return work
  const aborted = Promise.withResolvers<never>()
  const abort = (): void => aborted.reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([work, aborted.promise])
  } finally {
    signal.removeEventListener('abort', abort)
    // The caller has left; only the record says how the work ended.
    work.catch(() => undefined)
  }
}

import type { Json } from '../../base/canonical.ts'
import { Failure } from '../../base/failure.ts'
import { copyEvent } from '../../evidence/copy.ts'
import { deepFreeze } from '../../policy/contract.ts'
import type { ToolAnswer } from '../../runs/answer.ts'
import { callIdAt, makeCall } from './calls.ts'
import { runChild } from './child.ts'
import { RunEnd } from './endings.ts'
import type { RunNode } from './tree.ts'

/** What trusted code that is an agent may do within its run. All of it is found again by its order when the run is taken up. */
export interface AgentRun {
  readonly runId: string
  readonly agentId: string
  /** The paths that its run was granted. */
  readonly grants: readonly string[]
  /** What the caller of the root run gave for tools. */
  readonly toolContext: { readonly [member: string]: Json }
  readonly signal: AbortSignal
  /** Runs another agent below this run; with `context` under these grants alone. A refusal is thrown. */
  invoke(agent: string, input: Json, options?: InvokeOptions): Promise<Json>
  /** Calls a capability through the gateway. A refusal is thrown. */
  call(capability: string, payload?: { readonly [member: string]: Json }): Promise<Json>
}

export interface InvokeOptions {
  /** Each path must be covered by a grant of this run; an empty list gives none. */
  readonly context?: readonly (string | { readonly path: string; readonly expiresAt: string | null })[]
  readonly sessionId?: string
  readonly contextIds?: readonly string[]
}

/** An agent that is trusted code, with an input of its own. It runs again from its start when its run is taken up after a pause or a crash. */
export type AgentCode = (input: never, run: AgentRun) => Promise<Json> | Json

/** A call or child run was refused, or failed. */
export class CallRefused extends Error {
  readonly code: string
  readonly status: ToolAnswer['status']
  constructor({ status, error }: ToolAnswer) {
    super(error?.message ?? 'the call was refused')
    this.name = 'CallRefused'
    this.code = error?.code ?? status
    this.status = status
  }
}

/** Runs an agent that is code, or calls the one capability that it stands for. */
export async function runCode(node: RunNode): Promise<Json> {
  const { agent, record } = node
  const { manifest } = agent.definition
  const code = agent.run
  const capability = 'capability' in manifest ? manifest.capability : undefined
  if (code === undefined && capability === undefined)
    throw new Failure('manifest.invalid', `agent \`${manifest.id}\` has neither code nor a capability`)
  const { run, stopped, end } = runOf(node)
  const work = async (): Promise<Json> =>
    code === undefined
      ? run.call(capability ?? '', asPayload(record.input))
      : code(structuredClone(record.input) as never, run)
  try {
    // A pause or a cancel ends the code where it is: what it makes of the refusal is not its result.
    return copyEvent((await Promise.race([work().catch(endedBy), stopped])) ?? null, 'the result', 2)
  } finally {
    await end()
  }
}

function endedBy(error: unknown): never {
  if (error instanceof CallRefused) throw new RunEnd(error.code, error.message)
  throw error
}

const asPayload = (input: Json): { readonly [member: string]: Json } =>
  typeof input === 'object' && input !== null && !Array.isArray(input)
    ? (input as { [member: string]: Json })
    : { input }

function runOf(node: RunNode) {
  const { record, tree, stopping } = node
  const stopped = Promise.withResolvers<never>()
  const underWay = new Set<Promise<unknown>>()
  const over = new AbortController()
  let order = 0
  const stop = (): void => stopped.reject(stopping.reason)
  stopping.addEventListener('abort', stop, { once: true, signal: over.signal })
  const nextId = (kind: string): string => callIdAt(node, `${kind}${order++}`)
  const answered = async (begin: () => Promise<ToolAnswer>): Promise<Json> => {
    // Code that nobody waits for any more acts no more.
    if (over.signal.aborted) throw new Failure('run.finished', `run \`${record.run_id}\` has ended`)
    const work = begin()
    underWay.add(work)
    const answer = await work.catch((error: unknown) => {
      stopped.reject(error)
      return new Promise<never>(() => undefined)
    })
    if (answer.status === 'ok' || answer.status === 'completed') return structuredClone(answer.output)
    throw new CallRefused(answer)
  }
  const run: AgentRun = Object.freeze({
    ...{
      runId: record.run_id,
      agentId: record.agent_id,
      toolContext: deepFreeze(structuredClone(tree.root.toolContext)),
      signal: node.ending.signal,
    },
    grants: Object.freeze(record.grants.map(({ path }) => path)),
    invoke: async (agentId: string, given: Json, { context, sessionId, contextIds }: InvokeOptions = {}) => {
      const payload = { input: copyEvent(given, 'the input', 2) }
      const asked = { tool: agentId, agentId, payload, context, sessionId, contextIds }
      return answered(() => runChild(node, { callId: nextId('i'), ...asked }))
    },
    call: async (capability: string, given: { readonly [member: string]: Json } = {}) => {
      const payload = copyEvent(given, 'the payload', 2)
      return answered(async () => {
        const callId = nextId('c')
        const known = tree.journal.eventOf(record.run_id, callId, 'tool.finished')
        if (known !== undefined) return known.data as unknown as ToolAnswer
        const made = { callId, tool: capability, capabilityId: capability, payload, surface: () => true }
        return makeCall(node, made)
      })
    },
  })
  // Calls that the code does not wait for are still part of its run.
  const end = async (): Promise<void> => {
    over.abort()
    await Promise.allSettled(underWay)
  }
  return { run, stopped: stopped.promise, end }
}

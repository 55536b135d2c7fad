import assert from 'node:assert/strict'
import { isObject } from '../../src/base/object.ts'
import type { Provider } from '../../src/resources/define.ts'
import type { EntryStore } from '../../src/resources/entry-store.ts'
import type { ResourceToolContext, Touched } from '../../src/resources/provider.ts'

interface Given extends Partial<ResourceToolContext> {
  readonly tenantId?: string
  readonly sessionId?: string | null
  readonly runId?: string
  /** Beside the grants, the scopes that reads reach. */
  readonly above?: readonly string[]
}

/** What a tool of a run with these grants is told. The store has scopes and nothing else. */
export function contextOf(grants: readonly string[], given: Given = {}): ResourceToolContext {
  const { tenantId = 'acme', sessionId = null, runId = 'run_0000000000000001', above = [], ...more } = given
  return Object.freeze({
    resourceName: 'given',
    kind: 'given',
    mode: 'read-write',
    config: undefined,
    grants: Object.freeze([...grants]),
    run: {
      runId,
      rootId: runId,
      parentId: null,
      agentId: 'clerk',
      sessionId,
      tenantId,
      subject: { id: 'ada', type: 'human' },
      toolCallId: 'tool_1',
      traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
    },
    signal: new AbortController().signal,
    store: { scopes: [...grants, ...above] } as unknown as EntryStore,
    ...more,
  })
}

/** Calls the tools of a provider with nothing before them. */
export function callsOf({ tools }: Provider, context: ResourceToolContext) {
  return async (tool: string, input: Readonly<Record<string, unknown>> = {}): Promise<Touched> => {
    const found = tools[tool]
    assert(found !== undefined, `no tool ${tool}`)
    return found.run(input, context)
  }
}

/** The members of a result that says `ok`, whatever they are. */
// biome-ignore lint/suspicious/noExplicitAny: results are looked at as data
export async function resultOf(touched: Promise<Touched>): Promise<any> {
  const { result } = await touched
  assert(isObject(result) && result['ok'] === true, JSON.stringify(result))
  const { ok: _, ...members } = result
  return members
}

/** Asserts that a call is answered with this code, and says nothing of any scope. */
export async function assertRefused(touched: Promise<Touched>, code: string, message?: string): Promise<void> {
  const { result, scopes } = await touched
  assert(isObject(result))
  assert.deepEqual([result['ok'], result['code'], scopes], [false, code, []], JSON.stringify(result))
  if (message !== undefined) assert.equal(result['message'], message)
}

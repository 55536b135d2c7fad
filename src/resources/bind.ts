import type { Json } from '../base/canonical.ts'
import { Failure, quote } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import { isObject } from '../base/object.ts'
import type { GatewayDeps } from '../gateway/deps.ts'
import { CallEnded } from '../gateway/ended.ts'
import { readResult } from '../gateway/execute.ts'
import { within } from '../gateway/within.ts'
import type { ResourceMode } from '../grants/ceilings.ts'
import { inOrder } from '../storage/work.ts'
import type { DefinedTool, Provider } from './define.ts'
import { openEntryStore } from './entry-store.ts'
import type { ResourceToolContext, Touched } from './provider.ts'
import { type Held, reaches } from './reach.ts'

export interface BindFacts extends Pick<GatewayDeps, 'store' | 'tenant' | 'clock' | 'ids'> {
  readonly resource: {
    readonly name: string
    readonly mode: ResourceMode
    readonly config: unknown
    /** The paths that are granted for this resource at this moment. */
    readonly grants: readonly string[]
  }
  readonly run: ResourceToolContext['run']
  readonly roots: Held['roots']
  readonly signal: AbortSignal
}

/**
 * One call of a provider's tool, with input that its schema has handed on. It is told what it may touch, and what it has
 * touched is held against that: of an answer that refuses, strays, fails, or comes after the signal nothing is given. Otherwise
 * the result, every scope that was read or written, and what is to be kept with the outcome of the call.
 */
export async function runTool(provider: Provider, toolName: string, input: unknown, facts: BindFacts) {
  const tool = toolOf(provider, toolName, facts)
  const directions = tool.mode === 'read' ? provider.reads : [...provider.reads, ...provider.writes]
  const bound = bind(provider, tool.mode, facts, facts.signal)
  const outcome = await ask(facts, bound, async () => {
    const answer = await untilAborted(facts.signal, () => tool.run(input, bound.context))
    const { data, scopes } = readAnswer(answer, facts, directions, bound.touched())
    const changes = bound.changes()
    return { data, scopes, ...(changes.length > 0 && { change: inOrder(...changes) }) }
  })
  throwIfRefused(outcome.data, facts.resource.name)
  return outcome
}

/** What a provider refuses by itself ends its call with the code that it says, and keeps nothing. */
function throwIfRefused(data: Json, name: string): void {
  if (!isObject(data) || data['ok'] !== false || typeof data['code'] !== 'string') return
  const { code, message = `resource ${quote(name)} refused it`, help } = data
  const words = help === undefined ? String(message) : `${message}; ${help}`
  throw new CallEnded(code, words, { effect: 'none', type: 'ResourceRefused' })
}

export type PromptAnswer = { readonly text?: string } | { readonly warning: 'resource_context_unavailable' }

/** What a provider has for the prompt of a run. One that fails, strays or is too slow is left out, with a warning. */
export async function promptText(
  provider: Provider,
  facts: BindFacts,
  { ms = limits.injectionMs }: { readonly ms?: number } = {},
): Promise<PromptAnswer> {
  const { prompt } = provider
  if (prompt === undefined || facts.resource.grants.length === 0) return {}
  const late = new AbortController()
  const signal = AbortSignal.any([facts.signal, late.signal])
  const bound = bind(provider, 'read', facts, signal)
  const unavailable = { warning: 'resource_context_unavailable' } as const
  const asked = ask(facts, bound, async (): Promise<PromptAnswer> => {
    const answer = await untilAborted(signal, () => prompt(bound.context))
    const { data } = readAnswer(answer, facts, provider.reads, bound.touched())
    if (typeof data !== 'string') return unavailable
    return data.trim() === '' ? {} : { text: data }
  }).catch((): PromptAnswer => {
    facts.signal.throwIfAborted()
    return unavailable
  })
  return within(asked, ms, () => {
    late.abort(new Error('the prompt does not wait any longer'))
    return unavailable
  })
}

function toolOf(provider: Provider, name: string, { resource }: BindFacts): DefinedTool {
  const tool = Object.hasOwn(provider.tools, name) ? provider.tools[name] : undefined
  if (tool === undefined)
    throw new Failure('capability.unsurfaced', `tool ${quote(name)} is not available`, { tool: name })
  if (tool.mode === 'read-write' && resource.mode !== 'read-write')
    throw new Failure('resource.read_only', `resource ${quote(resource.name)} is read only here`, { tool: name })
  if (resource.grants.length === 0)
    throw new Failure('grant.missing', `resource ${quote(resource.name)} needs a grant`, { resource: resource.name })
  return tool
}

type Bound = ReturnType<typeof bind>

/** Nothing in the context can be changed. The signal alone stays as it is: frozen it could not abort. */
function bind(provider: Provider, mode: ResourceMode, facts: BindFacts, signal: AbortSignal) {
  const { resource, run, roots, store, tenant, clock, ids } = facts
  const { kind, reads } = provider
  const grants = Object.freeze([...resource.grants])
  const source = freezeAll({ ...run, subject: { ...run.subject } })
  const writes = mode === 'read' ? [] : provider.writes
  const opened = openEntryStore({ store, tenant, collection: kind, grants, reads, writes, roots, clock, ids, source })
  const config = freezeAll(resource.config)
  const told = { resourceName: resource.name, kind, mode: resource.mode, config, grants, run: source, signal }
  const context: ResourceToolContext = Object.freeze({ ...told, store: opened.handle })
  return { ...opened, context }
}

/** Freezes plain data. What has a class, such as a connection that a config was given in code, is left to work. */
function freezeAll<T>(value: T): T {
  const isData = Array.isArray(value) || (isObject(value) && Object.getPrototypeOf(value) === Object.prototype)
  if (isData && !Object.isFrozen(value)) for (const each of Object.values(Object.freeze(value))) freezeAll(each)
  return value
}

/** Whatever a provider throws is told as that it failed; what we refuse it, or it answers of entries, files and packs, as it is. */
async function ask<T>({ resource, signal }: BindFacts, bound: Bound, act: () => Promise<T>): Promise<T> {
  try {
    signal.throwIfAborted()
    return await act()
  } catch (error) {
    signal.throwIfAborted()
    throw error instanceof Failure && told.test(error.code) ? error : failed(resource.name)
  } finally {
    bound.end()
  }
}

const told = /^(?:grant\.missing|capability\.unsurfaced|cursor\.invalid|(?:resource|memory|file|pack)\..+)$/

const failed = (name: string): Failure =>
  new Failure('resource.provider_failed', `resource ${quote(name)} failed`, { resource: name })

/** The answer of the work, or the reason of the signal as soon as there is one. */
async function untilAborted<T>(signal: AbortSignal, work: () => T | Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const abort = (): void => reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([work(), promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** The result as JSON of its own, and all scopes behind it: those that it names, and those that its provider has asked for. */
function readAnswer(
  answer: Touched,
  { resource, roots }: BindFacts,
  directions: Provider['reads'],
  touched: readonly string[],
) {
  const data = readResult(answer.result)
  const scopes = [...new Set([...answer.scopes, ...touched])]
  if (!scopes.every((scope) => reaches({ grants: resource.grants, roots }, directions, scope)))
    throw new Failure('resource.scope_violation', 'provider result withheld', { resource: resource.name })
  if (Buffer.byteLength(JSON.stringify(data)) > limits.providerResultBytesMax) throw failed(resource.name)
  // All of them stand in the evidence of the call, where other letters than ASCII are escaped.
  if (scopes.join().replace(/[^ -~]/g, '______').length > limits.providerScopesCharsMax) throw failed(resource.name)
  return { data, scopes }
}

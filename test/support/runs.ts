// Agents that run, as their users have them: a whole Ambit with scripted models and a provider that can be watched.

import assert from 'node:assert/strict'
import { onTestFinished } from 'vitest'
import { z } from 'zod'
import type { Json } from '../../src/base/canonical.ts'
import type { Clock } from '../../src/base/time.ts'
import { withRun } from '../../src/client/run-handle.ts'
import { memoryRoot } from '../../src/files/memory.ts'
import { type CapabilitySpec, defineCapability } from '../../src/gateway/capability.ts'
import type { EvidenceEvent } from '../../src/model/evidence.ts'
import { tenantId } from '../../src/model/identity/tenant-id.ts'
import type { RunEvent, RunRecord } from '../../src/model/run.ts'
import type { Ambit } from '../../src/operations/ambit.ts'
import { operable } from '../../src/operations/table.ts'
import { defineProvider, type Provider } from '../../src/resources/define.ts'
import type { ProviderSpec, ResourceToolContext } from '../../src/resources/provider.ts'
import type { ToolCall, TurnRequest } from '../../src/runs/turn.ts'
import { type AgentSpec, defineAgent } from '../../src/runtime/agents/agent.ts'
import { openConfiguredHosts } from '../../src/runtime/hosting/configured-host.ts'
import type { Hosts } from '../../src/runtime/hosting/hosts.ts'
import { authenticate } from '../../src/runtime/identity/api-keys.ts'
import { type Caller, callerOf, operator } from '../../src/runtime/identity/caller.ts'
import { createTenant, everyTenant } from '../../src/runtime/identity/tenants.ts'
import { performOperation } from '../../src/runtime/operations/perform.ts'
import { openWith, type Runtime } from '../../src/runtime/runtime.ts'
import { settingsFrom } from '../../src/runtime/settings/config.ts'
import type { AmbitConfig } from '../../src/runtime/settings/user-config.ts'
import { openStore } from '../../src/storage/store.ts'
import { type ScriptedTurn, scriptedModel } from '../../src/testing/scripted-model.ts'
import { stillClock } from './host.ts'
import { type Asked, noting } from './statements.ts'

export interface GivenRuns {
  readonly ambit: Ambit
  readonly runtime: Runtime
  readonly hosts: Hosts
  readonly clock: ReturnType<typeof stillClock>
  /** The holder of a new key of a new principal with these roles. */
  as(principal: string, roles?: string[]): Promise<Ambit>
  /** A person who may decide for these roles. */
  approver(principal: string, roles?: string[]): Promise<Ambit>
  /** All events of a tree that are on record. */
  events(rootId: string): Promise<readonly RunEvent[]>
  /** What is in evidence of a tree, oldest first. */
  evidence(rootId: string): Promise<readonly EvidenceEvent[]>
  /** Runs an agent to its end, or until it waits for people. */
  run(agent: string, input?: Json, options?: Parameters<Ambit['run']>[2]): Promise<RunRecord>
  close(): Promise<void>
}

export interface Place {
  readonly clock?: ReturnType<typeof stillClock> | Clock
  /** Keeps all of it there, where another process or a later one finds it. */
  readonly folder?: string
  readonly roots?: readonly string[]
  /** Over a server only the roots of the tenant hold grants. */
  readonly served?: boolean
  /** Told of every statement that its store asks. */
  readonly asked?: (statement: Asked) => void
}

/** An Ambit with this configuration, as `createAmbit` opens it, with a clock that stands still. */
export async function givenRuns(config: AmbitConfig, place: Place = {}): Promise<GivenRuns> {
  const { clock = stillClock(), folder, served = false, asked } = place
  const env = { folder: folder ?? '.', env: {} }
  const kept: AmbitConfig =
    folder === undefined ? { store: { driver: 'sqlite', path: ':memory:' } } : { dataDir: folder }
  const settings = settingsFrom({ ...kept, ...config }, env)
  const opened = await openWith(settings, clock, folder === undefined ? { files: memoryRoot() } : {})
  const runtime = asked ? { ...opened, store: await openStore(noting(opened.database, asked)) } : opened
  const home = settings.tenant
  if (!(await everyTenant(runtime)).some(({ tenant_id }) => tenant_id === home))
    await createTenant(runtime, { id: home, roots: place.roots ?? [] })
  const hosts = await openConfiguredHosts(runtime, home, () => undefined)
  let closing: Promise<void> | undefined
  const close = (): Promise<void> => (closing ??= hosts.close().finally(() => runtime.close()))
  onTestFinished(() => close().catch(() => undefined))
  const host = async (of: string) => {
    const held = await hosts.hold(tenantId(of))
    held.release()
    return held.host
  }
  const ambitFor = (caller: Caller): Ambit => {
    const context = { ambit: runtime, caller, by: callerOf(caller), host: () => host(caller.tenant), served }
    return {
      ...withRun(
        operable((path, operation, input) => performOperation(context, path, operation, input)),
        async (id) => (await host(caller.tenant)).runs.follow(id),
      ),
      withKey: async (key) => ambitFor(await authenticate(runtime, key)),
      close,
    }
  }
  const ambit = ambitFor(operator(home))
  const as = async (id: string, roles: string[] = []): Promise<Ambit> => {
    await ambit.principals.create(id, { kind: 'user', roles })
    const { secret } = await ambit.keys.create(id)
    return ambit.withKey(secret)
  }
  return {
    ...{ ambit, runtime, hosts, as, close },
    clock: clock as ReturnType<typeof stillClock>,
    approver: async (id, roles = ['boss']) => {
      const person = await as(id)
      await ambit.approvers.add(id, { roles })
      return person
    },
    events: async (rootId) => {
      const found: RunEvent[] = []
      const { root_run_id, status } = await ambit.runs.show(rootId)
      assert.equal(root_run_id, rootId)
      for await (const event of ambit.runs.events(rootId)) {
        found.push(event)
        if (event.run_id === rootId && event.type === (status === 'paused' ? 'run.paused' : 'run.finished')) break
      }
      return found
    },
    evidence: async (correlation) => {
      const found: EvidenceEvent[] = []
      for (let cursor: string | undefined; ; ) {
        const page = await ambit.evidence.list({ correlation, ...(cursor && { cursor }) })
        found.push(...page.events)
        cursor = page.next
        if (cursor === undefined) return found.toReversed()
      }
    },
    run: async (agent, input = 'go', options = {}) => (await ambit.run(agent, input, options)).settled(),
  }
}

type Turns = readonly ScriptedTurn[] | ((request: TurnRequest) => ScriptedTurn | Promise<ScriptedTurn>)

/** An agent with a model that says these turns. */
export function agent(id: string, turns: Turns, more: Partial<Extract<AgentSpec, { instruction: string }>> = {}) {
  return defineAgent({ id, instruction: `You are ${id}.`, model: scriptedModel(turns), ...more })
}

/** These turns by how far the run is, so that another process goes on where the last one was. */
export const inTurn =
  (...turns: readonly ScriptedTurn[]) =>
  ({ messages }: TurnRequest): ScriptedTurn =>
    turns[messages.filter(({ role }) => role === 'assistant').length] ?? new Error('the script has run out')

/** A capability that needs the yes of a person, and what was paid with it, by whom the call names. */
export function payments(more: Partial<CapabilitySpec> = {}) {
  const paid: string[] = []
  const spec = { id: 'test.pay', version: '1.0.0', description: 'Pays.', policy: {}, effects: ['money.move'] }
  const autonomy = { tier: 'approval_required' } as const
  const pay = defineCapability({ ...spec, autonomy, ...more }, (input) => {
    paid.push(String((input as { to?: string }).to))
    return 'paid'
  })
  return { pay, paid }
}

/** The record of a run once it has paused again after these events. */
export async function pausedAfter({ ambit }: GivenRuns, id: string, since: number): Promise<RunRecord> {
  for await (const { type } of ambit.runs.events(id, { since })) if (type === 'run.paused') return ambit.runs.show(id)
  throw new Error('the run has ended')
}

/** The record of a run once it has ended. */
export async function ended({ ambit }: GivenRuns, id: string): Promise<RunRecord> {
  for await (const _ of ambit.runs.events(id));
  return ambit.runs.show(id)
}

/** A turn that asks for these tools. */
export const calls = (...wanted: readonly (string | [name: string, args: ToolCall['args']])[]): ScriptedTurn => ({
  calls: wanted.map((each) => (typeof each === 'string' ? { name: each } : { name: each[0], args: each[1] })),
})

export interface Notes {
  readonly provider: Provider
  /** What it was told, at each call. */
  readonly told: readonly ResourceToolContext[]
  readonly prompted: readonly ResourceToolContext[]
  /** Makes the next calls wait. `begun` resolves with the first of them. */
  hold(): { readonly begun: Promise<ResourceToolContext>; release(): void }
}

/** A provider of kind `notes` that says how it is used: `read` and `list` read, `write` writes. */
export function notes(more: Partial<ProviderSpec> = {}): Notes {
  const told: ResourceToolContext[] = []
  const prompted: ResourceToolContext[] = []
  let held: { readonly begun: (context: ResourceToolContext) => void; readonly until: Promise<void> } | undefined
  const run = async (result: Json, context: ResourceToolContext) => {
    told.push(context)
    held?.begun(context)
    await held?.until
    return { result, scopes: context.grants }
  }
  const provider = defineProvider({
    kind: 'notes',
    maxMode: 'read-write',
    reads: ['at', 'down'],
    writes: ['at', 'down'],
    tools: {
      read: { description: 'Reads notes.', run: (_: unknown, context) => run('the notes', context) },
      list: { description: 'Lists notes.', run: (_: unknown, context) => run(['one'], context) },
      write: {
        description: 'Writes a note.',
        mode: 'read-write',
        input: z.strictObject({ text: z.string() }),
        run: (input: unknown, context) => run({ wrote: (input as { text: string }).text }, context),
      },
    },
    prompt: (context) => {
      prompted.push(context)
      return { result: `there are notes`, scopes: [] }
    },
    ...more,
  } as ProviderSpec)
  return {
    ...{ provider, told, prompted },
    hold: () => {
      const begun = Promise.withResolvers<ResourceToolContext>()
      const until = Promise.withResolvers<void>()
      held = { begun: begun.resolve, until: until.promise }
      return {
        begun: begun.promise,
        release: () => {
          held = undefined
          until.resolve()
        },
      }
    },
  }
}

/** A turn that never comes: it ends with its signal. */
export const silent = ({ signal }: TurnRequest): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }))

export const typesOf = (events: readonly { readonly type: string }[]): string[] => events.map(({ type }) => type)

/** How the calls of a run ended, in order: tool, status and code. */
export const finishedIn = (events: readonly RunEvent[], runId?: string): string[] =>
  events
    .filter(({ type, run_id }) => type === 'tool.finished' && (runId === undefined || run_id === runId))
    .map(({ data }) => {
      const { tool, status, error } = data as { tool: string; status: string; error: { code: string } | null }
      return [tool, status, ...(error ? [error.code] : [])].join(' ')
    })

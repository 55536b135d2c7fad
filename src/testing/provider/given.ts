import type { Json } from '../../base/canonical.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import { type BindFacts, runTool } from '../../resources/bind.ts'
import { type Provider, readConfig } from '../../resources/define.ts'
import type { ResourceToolContext } from '../../resources/provider.ts'
import { openSqlite } from '../../storage/drivers/sqlite.ts'
import { openStore, type Store } from '../../storage/store.ts'
import { countingIds, fakeClock } from '../ports.ts'
import type { FreshStore } from '../storage-contract.ts'

export interface ProviderSuite {
  /** How the test runner in use registers a test. */
  readonly test: (title: string, body: () => Promise<void>) => void
  /** Called once per test. Without it the store is SQLite in memory. */
  readonly open?: () => Promise<FreshStore>
  /** Called once per test. */
  readonly provider: () => Provider
  /** What a manifest says beside `kind` and `mode`. */
  readonly config?: Readonly<Record<string, unknown>>
  /** A call whose result holds the texts that were kept. */
  readonly read: { readonly tool: string; readonly input?: unknown }
  /**
   * A call that keeps a text under the first grant; of a provider that only reads, how a text comes to lie in a scope. A
   * tool that keeps what it writes elsewhere than in the store it is given declares that in its `effects`.
   */
  readonly write:
    | { readonly tool: string; readonly input: (text: string) => unknown }
    | ((
        place: { readonly store: Store; readonly tenant: TenantId; readonly scope: string },
        text: string,
      ) => Promise<void>)
}

/** What each rule is tried on: a provider, a store of its own, and two tenants. */
export interface World {
  readonly provider: Provider
  readonly suite: ProviderSuite
  readonly store: Store
  readonly tenant: TenantId
  readonly other: TenantId
  readonly facts: (grants: readonly string[], more?: Partial<BindFacts>, mode?: 'read' | 'read-write') => BindFacts
  /** Keeps a text in a scope, as a run does that was granted it. */
  readonly keep: (scope: string, text: string, tenant?: TenantId) => Promise<void>
  /** What a run with these grants reads. */
  readonly read: (grants: readonly string[], tenant?: TenantId) => Promise<Json>
}

export async function storeInMemory(): Promise<FreshStore> {
  const store = await openStore(openSqlite({ path: ':memory:' }))
  return { store, close: () => store.close() }
}

const roots = ['acme', 'other']

export async function makeWorld(
  suite: ProviderSuite,
  { store, tenant, other }: Pick<World, 'store' | 'tenant' | 'other'>,
): Promise<World> {
  const provider = suite.provider()
  const config = await readConfig(provider, suite.config ?? {})
  const [clock, ids] = [fakeClock(Date.UTC(2026, 5, 16)), countingIds()]
  const facts: World['facts'] = (grants, more = {}, mode = provider.maxMode) => ({
    resource: { name: provider.kind, mode, config, grants },
    run: sampleRun(more.tenant ?? tenant),
    signal: new AbortController().signal,
    ...{ roots, store, tenant, clock, ids },
    ...more,
  })
  const keep: World['keep'] = async (scope, text, of = tenant) => {
    const { write } = suite
    if (typeof write === 'function') return write({ store, tenant: of, scope }, text)
    const { change } = await runTool(provider, write.tool, write.input(text), facts([scope], { tenant: of }))
    if (change !== undefined) await store.write(of, change)
  }
  const read: World['read'] = async (grants, of = tenant) =>
    (await runTool(provider, suite.read.tool, suite.read.input ?? {}, facts(grants, { tenant: of }, 'read'))).data
  return { provider, suite, store, tenant, other, facts, keep, read }
}

export const sampleRun = (tenantId: TenantId): ResourceToolContext['run'] => ({
  runId: 'run_0000000000000002',
  rootId: 'run_0000000000000001',
  parentId: 'run_0000000000000001',
  agentId: 'desk',
  sessionId: 'desk:7',
  tenantId,
  subject: { id: 'ada', type: 'user', verified: true },
  toolCallId: 'tool_1',
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
})

// Paths that a comparison by letters, by a language or by a pattern takes for one another.
export const scopes = [
  ...['acme', 'acme/eu', 'acme/eu/desk', 'acme/eu/desk/7', 'acme/eu-desk', 'acme/eu_desk', 'acme/euxdesk', 'acme/EU'],
  ...['acme/eu2', 'acme/us', 'other', 'other/eu', 'acme/éu'],
]

/** Slow and obvious: whether a run with these grants may be shown what lies in a scope. */
export function mayRead({ reads }: Provider, grants: readonly string[], scope: string): boolean {
  const isBelow = (path: string, branch: string) => {
    const [inner, outer] = [path.split('/'), branch.split('/')]
    return outer.length < inner.length && outer.every((segment, index) => segment === inner[index])
  }
  const isWithin = (path: string, branch: string) => path === branch || isBelow(path, branch)
  return grants.some(
    (grant) =>
      (reads.includes('at') && scope === grant) ||
      (reads.includes('down') && isBelow(scope, grant)) ||
      (reads.includes('up') &&
        isBelow(grant, scope) &&
        roots.some((root) => isWithin(grant, root) && isWithin(scope, root))),
  )
}

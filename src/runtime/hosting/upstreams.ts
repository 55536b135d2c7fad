import type { OpenUpstream, UpstreamDeps } from '../../adapters/adapter.ts'
import { openEgress } from '../../adapters/egress/egress.ts'
import { openHttp } from '../../adapters/http/adapter.ts'
import { openMcp } from '../../adapters/mcp/open.ts'
import { canonical, type Json } from '../../base/canonical.ts'
import { advised, Failure, quote } from '../../base/failure.ts'
import type { Capability } from '../../gateway/capability.ts'
import { capabilityFacts } from '../../gateway/gates/rules.ts'
import { openRegistry } from '../../gateway/registry.ts'
import { openUnderWay } from '../../gateway/under-way.ts'
import type { Upstream } from '../../model/config/upstream.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import type { Runtime } from '../runtime.ts'
import { type ConfigSource, loadSettings } from '../settings/config.ts'
import type { Hosting } from '../settings/hosting.ts'
import { systemClock } from '../system.ts'
import { missingFolders, type NamedFile, readUpstream, upstreamFiles } from './config-files.ts'

export type Notice = (text: string) => void

/** The upstreams of one host, with those that only calls under way still use. */
export function openUpstreams(ambit: Runtime, tenant: TenantId, notice: Notice) {
  let open: ReadonlyMap<string, Retirable> = new Map()
  const retired = new Set<Retirable>()
  return {
    /**
     * Makes something of what the configuration offers with its upstreams. One that is broken is told of and left out, and
     * the others work on. Those that stay the same stay open; unless `make` fails, those that are gone end after their calls.
     */
    take: <T>(hosting: Hosting, make: (capabilities: readonly Capability[]) => T): T => {
      for (const missing of missingFolders(hosting.upstreams)) notice(missing)
      const { capabilities, opened } = gather(hosting, upstreamDeps(ambit, tenant, hosting, notice), open)
      const made = make(capabilities)
      for (const [key, upstream] of open) {
        if (opened.has(key)) continue
        retired.add(upstream)
        void upstream.retire().finally(() => retired.delete(upstream))
      }
      open = opened
      return made
    },
    close: async (): Promise<void> => {
      await Promise.allSettled([...open.values(), ...retired].map((each) => each.close()))
    },
  }
}

/** Everything that a configuration offers, to be looked at and never called. */
export const offeredBy = (hosting: Hosting, notice: Notice): readonly Capability[] =>
  gather(hosting, {
    secret: () => Promise.reject(new Failure('secret.not_found', 'nothing is called here')),
    egress: openEgress(hosting.egress),
    clock: systemClock,
    folder: hosting.folder,
    notice,
  }).capabilities

function gather(hosting: Hosting, deps: UpstreamDeps, open: ReadonlyMap<string, Retirable> = new Map()) {
  const { notice } = deps
  const opened = new Map<string, Retirable>()
  const capabilities: Capability[] = [...hosting.spec.capabilities]
  const offeredIn = new Map(capabilities.map(({ descriptor }) => [descriptor.id, 'the configuration']))
  for (const { upstream, place } of listed(hosting, (why) => notice(`left out: ${why}`))) {
    const key = canonical([upstream, hosting.egress] as unknown as Json)
    try {
      const one = open.get(key) ?? opened.get(key) ?? makeRetirable(openUpstream(upstream, deps))
      opened.set(key, one)
      checkFits(one.capabilities, offeredIn)
      for (const { descriptor } of one.capabilities) offeredIn.set(descriptor.id, place)
      capabilities.push(...one.capabilities)
    } catch (error) {
      notice(`left out: ${place}: ${advised(error)}`)
    }
  }
  return { capabilities, opened }
}

/** What rules may read of a capability: its id alone where it is not offered. Of several versions one is named. */
export async function capabilityIn(
  source: ConfigSource,
  { id, version }: { readonly id: string; readonly version: unknown },
  notice: Notice,
): Promise<Readonly<Record<string, Json>>> {
  const { hosting } = await loadSettings(source)
  const offered = offeredBy(hosting, notice).flatMap(({ descriptor }) => (descriptor.id === id ? [descriptor] : []))
  const found = offered.length > 1 ? offered.find((each) => each.version === version) : offered[0]
  if (found !== undefined) return capabilityFacts(found) as Record<string, Json>
  if (offered.length === 0) return { id }
  const versions = offered.map((each) => quote(each.version)).join(', ')
  const help = 'say which with `{"capability": {"version": …}}` in the facts'
  throw new Failure('field.invalid', `${quote(id)} is offered in the versions ${versions}`, {}, help)
}

/** What adapters stand on, by a configuration. */
export const upstreamDeps = (ambit: Runtime, tenant: TenantId, hosting: Hosting, notice: Notice): UpstreamDeps => ({
  secret: (handle) => ambit.secrets.resolve(tenant, handle),
  egress: openEgress(hosting.egress),
  clock: ambit.clock,
  folder: hosting.folder,
  notice,
})

const openUpstream = (upstream: Upstream, deps: UpstreamDeps): OpenUpstream =>
  upstream.adapter === 'mcp' ? openMcp(upstream, deps) : openHttp(upstream, deps)

type Retirable = ReturnType<typeof makeRetirable>

const graceMs = 1_000

/** An upstream that can be closed without harm to its calls under way. */
function makeRetirable(upstream: OpenUpstream) {
  const calls = openUnderWay()
  const count = (capability: Capability): Capability => ({
    ...capability,
    handler: (input, call) => calls.count(() => capability.handler(input, call)),
  })
  return {
    capabilities: upstream.capabilities.map(count),
    close: () => upstream.close(),
    /** Closes it when its calls are done, and those that were about to begin have had time to. */
    retire: async (): Promise<void> => {
      await new Promise((resolve) => setTimeout(resolve, graceMs).unref())
      await calls.none()
      await upstream.close()
    },
  }
}

/** An id that is there already belongs to who had it first: nothing from elsewhere takes its place. */
function checkFits(offered: readonly Capability[], offeredIn: ReadonlyMap<string, string>): void {
  openRegistry(offered)
  for (const { descriptor } of offered) {
    const before = offeredIn.get(descriptor.id)
    if (before !== undefined)
      throw new Failure('upstream.invalid', `its capability ${quote(descriptor.id)} is offered by ${before} already`)
  }
}

/** An upstream, where people find it, and the file that describes it. */
export interface Listed {
  readonly upstream: Upstream
  readonly place: string
  readonly file?: NamedFile
}

/** All that a configuration lists, and no file that cannot be read: those are told of. */
export function* listed({ upstreams }: Hosting, broken: (why: string, file: NamedFile) => void): Generator<Listed> {
  for (const each of upstreams) {
    if (!('path' in each)) yield { upstream: each, place: `upstream ${quote(each.name)} of the configuration` }
    for (const file of 'path' in each ? upstreamFiles(each) : []) {
      let upstream: Upstream | undefined
      try {
        upstream = readUpstream(file)
      } catch (error) {
        broken(advised(error), file)
      }
      if (upstream !== undefined) yield { upstream, place: quote(file.name), file }
    }
  }
}

import type { OpenUpstream, UpstreamDeps } from '../../adapters/adapter.ts'
import { openEgress } from '../../adapters/egress/egress.ts'
import { openHttp } from '../../adapters/http/adapter.ts'
import { openMcp } from '../../adapters/mcp/open.ts'
import { canonical, type Json } from '../../base/canonical.ts'
import { advised, Failure, quote } from '../../base/failure.ts'
import type { Capability } from '../../gateway/capability.ts'
import { openRegistry } from '../../gateway/registry.ts'
import { openUnderWay } from '../../gateway/under-way.ts'
import type { Upstream } from '../../model/config/upstream.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import type { Runtime } from '../runtime.ts'
import type { Hosting } from '../settings/hosting.ts'
import { systemClock } from '../system.ts'
import { missingFolders, type NamedFile, noFolder, readUpstream, upstreamFiles } from './config-files.ts'

/** The upstreams of one host. */
export interface Upstreams {
  /**
   * What the configuration offers with its upstreams. One that is broken is told of and left out, and the others work
   * on. Those that stay the same stay open; those that are gone are let go of by `keep`, when their calls are done.
   */
  take(hosting: Hosting): { readonly capabilities: readonly Capability[]; keep(): void }
  close(): Promise<void>
}

export type Notice = (text: string) => void

export function openUpstreams(ambit: Runtime, tenant: TenantId, notice: Notice): Upstreams {
  let open: ReadonlyMap<string, Retirable> = new Map()
  const retired = new Set<Retirable>()
  return {
    take: (hosting) => {
      for (const name of missingFolders(hosting.upstreams)) notice(noFolder(name))
      const { capabilities, opened } = gathered(hosting, upstreamDeps(ambit, tenant, hosting, notice), open)
      const keep = () => {
        for (const [key, upstream] of open) {
          if (opened.has(key)) continue
          retired.add(upstream)
          void upstream.retire().finally(() => retired.delete(upstream))
        }
        open = opened
      }
      return { capabilities, keep }
    },
    close: async () => {
      await Promise.allSettled([...open.values(), ...retired].map((each) => each.close()))
    },
  }
}

/** Everything that a configuration offers, to be looked at and never called. */
export const offeredBy = (hosting: Hosting, notice: Notice): readonly Capability[] =>
  gathered(hosting, {
    secret: () => Promise.reject(new Failure('secret.not_found', 'nothing is called here')),
    egress: openEgress(hosting.egress),
    clock: systemClock,
    folder: hosting.folder,
    notice,
  }).capabilities

function gathered(hosting: Hosting, deps: UpstreamDeps, open: ReadonlyMap<string, Retirable> = new Map()) {
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

/** An upstream that can be closed without harm to its calls under way. */
interface Retirable extends OpenUpstream {
  /** Closes it when its calls are done, and those that were about to begin have had time to. */
  retire(): Promise<void>
}

const graceMs = 1_000

function makeRetirable(upstream: OpenUpstream): Retirable {
  const calls = openUnderWay()
  const count = (capability: Capability): Capability => ({
    ...capability,
    handler: (input, call) => calls.count(() => capability.handler(input, call)),
  })
  return {
    capabilities: upstream.capabilities.map(count),
    close: () => upstream.close(),
    retire: async () => {
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

import { quote } from '../../base/failure.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import type { Provider } from '../../resources/define.ts'
import { agentFiles, agentsOf } from '../agents/agent-files.ts'
import type { Runtime } from '../runtime.ts'
import type { Hosting } from '../settings/hosting.ts'
import { readPolicy, upstreamFiles } from './config-files.ts'
import { type HostOptions, openHost } from './host.ts'
import { openHosts } from './hosts.ts'
import { makeOffer, type OfferSpec } from './offer.ts'
import { type Notice, openUpstreams } from './upstreams.ts'

/** The host of a tenant, offering what the configuration lists, with its upstreams. `notice` is told what is wrong with those. */
export async function openConfiguredHost(
  ambit: Runtime,
  tenant: TenantId,
  notice: Notice = () => undefined,
  { hosting = ambit.settings.hosting, ...options }: HostOptions & { readonly hosting?: Hosting } = {},
) {
  const upstreams = openUpstreams(ambit, tenant, notice)
  const offerOf = (hostId: string, hosting: Hosting) => {
    const spec = offerSpecOf(hosting)
    return upstreams.take(hosting, (capabilities) => {
      const agents = agentsOf(ambit.settings, hosting, capabilities)
      return makeOffer(hostId, { ...spec, capabilities, agents })
    })
  }
  const host = await openHost(ambit, tenant, (hostId) => offerOf(hostId, hosting), options)
  const closeProviders = await openProviders(hosting.providers)
  const prepare = (hosting: Hosting): (() => void) => {
    const next = offerOf(host.hostId, hosting)
    return () => host.offer(next)
  }
  return {
    ...host,
    /** As `reload` in two steps: makes the offer or fails; what it returns puts it in place. */
    prepare,
    /** Offers what this configuration lists from now on, or fails and changes nothing. */
    reload: async (hosting: Hosting): Promise<void> => prepare(hosting)(),
    close: async (): Promise<void> => {
      await host.close()
      await upstreams.close()
      await closeProviders()
    },
  }
}

const users = new WeakMap<Provider, number>()

/** Opens providers with their first host; the last host to close closes them. */
async function openProviders(providers: readonly Provider[]): Promise<() => Promise<void>> {
  const use = (provider: Provider, by: 1 | -1): number => {
    const count = (users.get(provider) ?? 0) + by
    users.set(provider, count)
    return count
  }
  for (const provider of providers) if (use(provider, 1) === 1) await provider.open?.()
  return async () => {
    for (const provider of providers) if (use(provider, -1) === 0) await provider.close?.()
  }
}

/** As `openConfiguredHost`, for every tenant. Secrets are a tenant's own, and so are its connections to upstreams. */
export async function openConfiguredHosts(ambit: Runtime, home: TenantId, notice: Notice) {
  let { hosting } = ambit.settings
  const opened = new Set<Awaited<ReturnType<typeof openConfiguredHost>>>()
  const hosts = await openHosts(ambit, home, async (tenant, process) => {
    const begun = hosting
    const told: Notice = tenant === home ? notice : (text) => notice(`tenant ${quote(tenant)}: ${text}`)
    const host = await openConfiguredHost(ambit, tenant, told, { hosting, process })
    opened.add(host)
    host.closing.addEventListener('abort', () => opened.delete(host))
    if (hosting !== begun) await host.reload(hosting)
    return host
  })
  /** Offers what this configuration lists from now on, in every tenant, or fails and changes nothing. */
  const reload = async (next: Hosting): Promise<void> => {
    const changes = [...opened].map((host) => host.prepare(next))
    hosting = next
    for (const change of changes) change()
  }
  return { ...hosts, reload }
}

/** The whole offer, with every file of policies read. */
export const offerSpecOf = ({ spec, policies }: Hosting): OfferSpec => ({
  ...spec,
  policies: policies.map((each) => ('path' in each ? readPolicy(each) : each)),
})

/** The files that an offer is made of, beside the configuration itself. */
export const offerFilesOf = ({ policies, upstreams, agents }: Hosting): readonly string[] => [
  ...policies.flatMap((each) => ('path' in each ? [each.path] : [])),
  ...agents.flatMap((each) => ('path' in each ? [each.path, ...agentFiles(each).map(({ path }) => path)] : [])),
  ...upstreams.flatMap((each) => ('path' in each ? [each.path, ...upstreamFiles(each).map(({ path }) => path)] : [])),
]

import { relative, resolve } from 'node:path'
import { readAllowList } from '../../adapters/egress/allow-list.ts'
import { Failure, quote } from '../../base/failure.ts'
import { defined } from '../../base/object.ts'
import type { Config, ServerLimits } from '../../model/config/config.ts'
import type { Upstream } from '../../model/config/upstream.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import type { Policy } from '../../model/policy.ts'
import type { Runtime } from '../runtime.ts'
import type { ConfigCode } from '../settings/user-config.ts'
import { type NamedFile, readPolicy, upstreamFiles } from './config-files.ts'
import { type AmbitHost, openHost } from './host.ts'
import { type Hosts, openHosts } from './hosts.ts'
import { makeOffer, type OfferSpec } from './offer.ts'
import type { HostProcess } from './process.ts'
import type { Notice } from './upstreams.ts'

/** The part of the settings that is about hosting capabilities. Files of policies are read when they are needed. */
export interface Hosting {
  readonly port: number
  readonly hostname: string
  readonly limits: ServerLimits
  /** All that is offered, but for the policies. */
  readonly spec: Omit<OfferSpec, 'policies'>
  readonly policies: readonly (Policy | NamedFile)[]
  readonly upstreams: readonly (Upstream | NamedFile)[]
  readonly egress: { readonly allow?: readonly string[] }
  /** The folder of the configuration. */
  readonly folder: string
}

export function settleHosting(
  { policies = [], host = {}, upstreams = [], egress = {} }: Config,
  code: ConfigCode,
  base: string,
): Hosting {
  const { port = 4770, hostname = '127.0.0.1', limits = {}, ...rules } = host
  const named = (given: string): NamedFile => ({
    path: resolve(base, given),
    name: relative(base, resolve(base, given)),
  })
  for (const [index, { pattern }] of (rules.patterns ?? []).entries())
    checkPattern(pattern, `/host/patterns/${index}/pattern`)
  for (const [index, entry] of (egress.allow ?? []).entries()) checkEgress(entry, `/egress/allow/${index}`)
  return {
    port,
    hostname,
    limits,
    spec: { capabilities: [], ...defined({ ...rules, ...code }) },
    policies: policies.map((given) => (typeof given === 'string' ? named(given) : given)),
    upstreams: upstreams.map((given) => (typeof given === 'string' ? named(given) : given)),
    egress: defined(egress),
    folder: base,
  }
}

/** A pattern that cannot be read would deny every call: better said before the first. */
function checkPattern(pattern: string, pointer: string): void {
  try {
    new RegExp(pattern, 'iu')
  } catch {
    throw new Failure('field.invalid', `configuration: ${quote(pointer)} is no regular expression`, { pointer })
  }
}

/** Said when the configuration is read, with its place there. */
function checkEgress(entry: string, pointer: string): void {
  try {
    readAllowList([entry])
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    throw new Failure(error.code, `configuration: ${quote(pointer)}: ${error.message}`, { pointer }, error.help)
  }
}

/** A host that offers what a configuration lists. */
export interface ConfiguredHost extends AmbitHost {
  /** Offers what this configuration lists from now on, or fails and changes nothing. */
  reload(hosting: Hosting): Promise<void>
  /** As `reload` in two steps: makes the offer or fails; what it returns puts it in place. */
  prepare(hosting: Hosting): () => void
}

interface ConfiguredOptions {
  readonly hosting?: Hosting
  readonly process?: HostProcess
}

/** The host of a tenant, offering what the configuration lists, with its upstreams. `notice` is told what is wrong with those. */
export async function openConfiguredHost(
  ambit: Runtime,
  tenant: TenantId,
  notice: Notice = () => undefined,
  { hosting = ambit.settings.hosting, ...options }: ConfiguredOptions = {},
): Promise<ConfiguredHost> {
  const { openUpstreams } = await import('./upstreams.ts')
  const upstreams = openUpstreams(ambit, tenant, notice)
  const offerOf = (hostId: string, hosting: Hosting) => {
    const spec = offerSpecOf(hosting)
    const { capabilities, keep } = upstreams.take(hosting)
    const offer = makeOffer(hostId, { ...spec, capabilities })
    keep()
    return offer
  }
  const host = await openHost(ambit, tenant, (hostId) => offerOf(hostId, hosting), options)
  const prepare = (hosting: Hosting): (() => void) => {
    const offer = offerOf(host.hostId, hosting)
    return () => host.offer(offer)
  }
  return {
    ...host,
    prepare,
    reload: async (hosting) => prepare(hosting)(),
    close: async () => {
      await host.close()
      await upstreams.close()
    },
  }
}

/** The hosts of all tenants, with the same offer. */
export interface ConfiguredHosts extends Hosts {
  /** Offers what this configuration lists from now on, in every tenant, or fails and changes nothing. */
  reload(hosting: Hosting): Promise<void>
}

/** As `openConfiguredHost`, for every tenant. Secrets are a tenant's own, and so are its connections to upstreams. */
export async function openConfiguredHosts(ambit: Runtime, home: TenantId, notice: Notice): Promise<ConfiguredHosts> {
  let { hosting } = ambit.settings
  const opened = new Set<ConfiguredHost>()
  const hosts = await openHosts(ambit, home, async (tenant, process) => {
    const begun = hosting
    const told: Notice = tenant === home ? notice : (text) => notice(`tenant ${quote(tenant)}: ${text}`)
    const host = await openConfiguredHost(ambit, tenant, told, { hosting, process })
    opened.add(host)
    host.closing.addEventListener('abort', () => opened.delete(host))
    if (hosting !== begun) await host.reload(hosting)
    return host
  })
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
export const offerFilesOf = ({ policies, upstreams }: Hosting): readonly string[] => [
  ...policies.flatMap((each) => ('path' in each ? [each.path] : [])),
  ...upstreams.flatMap((each) => ('path' in each ? [each.path, ...upstreamFiles(each).map(({ path }) => path)] : [])),
]

import { Failure } from '../../base/failure.ts'
import { defined } from '../../base/object.ts'
import { version } from '../../base/version.ts'
import { counted } from '../../base/words.ts'
import { conformanceOffer } from '../../chp/conformance.ts'
import { tenantId } from '../../model/identity/tenant-id.ts'
import { openConfiguredHosts } from '../../runtime/hosting/configured-host.ts'
import { openHost } from '../../runtime/hosting/host.ts'
import { type Hosts, openHosts } from '../../runtime/hosting/hosts.ts'
import { openReadiness } from '../../runtime/hosting/readiness.ts'
import { hasLiveKey } from '../../runtime/identity/api-keys.ts'
import { createTenant, everyTenant } from '../../runtime/identity/tenants.ts'
import { openInMemory, type Runtime } from '../../runtime/runtime.ts'
import { type Access, isLoopback } from '../../server/access.ts'
import { createApp } from '../../server/app.ts'
import { type Listening, type ListenOptions, listen } from '../../server/listen.ts'
import { refuseAdministrator } from '../identity/who-asks.ts'
import { inTenant, sourceOf } from '../session.ts'
import { type Io, jsonText, line, tell } from '../terminal/io.ts'
import type { ServeOptions } from './host.ts'
import { type Log, loggingErrors, loggingStore } from './host-log.ts'
import { capabilitiesIn, keepUp, untilStopped } from './reload.ts'

/** Serves what the configuration offers, to every tenant of the store, until a signal ends it. */
export const serve = (io: Io, options: ServeOptions, log: Log): Promise<void> =>
  inTenant(io, options, async (ambit, caller) => {
    refuseAdministrator(caller)
    const { tenant } = caller
    const hosts = await openConfiguredHosts(ambit, tenant, tell(io))
    const address = { ...ambit.settings.hosting, ...defined({ port: options.port, hostname: options.hostname }) }
    const { key, open = false } = options
    const access = { keys: key === undefined ? [] : [{ name: null, secret: key, scopes: [] }], open }
    const { length: tenants } = await everyTenant(ambit)
    const locked = !open && key === undefined && !(await hasLiveKey(ambit))
    if (locked && !isLoopback(address.hostname)) throw unreachable()
    const served = { ambit, hosts, tenants, log, access, locked }
    const reloaded = { ...hosts, current: hosts.home.current }
    const keeping = () => keepUp(io, { ambit, served: reloaded, source: sourceOf(io, options) })
    await serving(io, served, address, options, keeping)
  })

/** Serves the fixture of the conformance suite, from a store that ends with it. */
export async function serveConformance(io: Io, options: ServeOptions, log: Log): Promise<void> {
  const ambit = await openInMemory({}, {})
  try {
    const tenant = tenantId('conformance')
    await createTenant(ambit, { id: tenant })
    const hosts = await openHosts(ambit, tenant, (tenant, process) =>
      openHost(ambit, tenant, conformanceOffer, { process }),
    )
    const { key, scopedKey, port = 0, hostname = '127.0.0.1' } = options
    const shared = { name: null, secret: key, scopes: [] }
    const scoped = { name: 'conformance-scoped', secret: scopedKey, scopes: ['conformance.echo'] }
    const keys = [shared, scoped].flatMap(({ secret, ...rest }) => (secret === undefined ? [] : [{ ...rest, secret }]))
    io.err('warning: this fixture believes the mandate of any principal\n')
    const served = { ambit, hosts, tenants: 1, log, access: { keys, open: keys.length === 0 }, locked: false }
    await serving(io, served, { port, hostname }, options, () => untilStopped(io))
  } finally {
    await ambit.close()
  }
}

type Until = () => Promise<void>

interface Served {
  readonly ambit: Runtime
  readonly hosts: Hosts
  /** How many the store has now. One that is made later is served too. */
  readonly tenants: number
  readonly access: Access
  /** Whether no key is live yet. One that is made later counts at once. */
  readonly locked: boolean
  readonly log: Log
}

const makeKey = '`ambit key create <principal>`'
const unreachable = (): Failure => {
  const help = `make one with ${makeKey}, or listen on \`127.0.0.1\``
  return new Failure('config.invalid', 'a host beyond this machine needs a live API key', {}, help)
}

async function serving(io: Io, served: Served, address: ListenOptions, options: ServeOptions, until: Until) {
  const { ambit, hosts, log } = served
  try {
    const { limits } = ambit.settings.hosting
    const listening = await listen(createApp({ ...served, limits, onError: loggingErrors(log) }), address)
    const stopLooking = loggingStore(log, openReadiness(ambit, hosts.home.tenant))
    try {
      ready(io, served, listening, options)
      await until()
    } finally {
      stopLooking()
      await listening.close()
    }
  } finally {
    await hosts.close()
  }
}

/** The one line that says it is there. */
function ready(io: Io, served: Served, { url }: Listening, { json }: ServeOptions): void {
  const { ambit, hosts, tenants, access, locked, log } = served
  const { hostId, current } = hosts.home
  const count = capabilitiesIn(current())
  const agents = hosts.home.runs.agents().all.length
  const beside = agents === 0 ? '' : ` and ${counted(agents, 'agent')}`
  const offered = `${counted(count, 'capability', 'capabilities')}${beside} for ${counted(tenants, 'tenant')}`
  const keyed = locked ? `callers need a key, and there is none yet: ${makeKey}` : 'callers need a key'
  const who = access.open ? 'open: anyone on this machine may call' : keyed
  const facts = { url, host_id: hostId, tenants, capabilities: count, open: access.open }
  log('info', 'start', { version, store: ambit.settings.store.driver, ...facts })
  line(io, json ? jsonText(facts) : `listening on ${url} as host \`${hostId}\`: ${offered}; ${who}`)
}

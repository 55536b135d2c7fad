import { type Context, Hono } from 'hono'
import { statusOf } from '../base/codes.ts'
import { Failure, shown } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import type { McpHttpDeps } from '../mcp/http.ts'
import type { ServerLimits } from '../model/config/config.ts'
import { type AmbitHost, callerOf } from '../runtime/hosting/host.ts'
import type { HeldHost, Hosts } from '../runtime/hosting/hosts.ts'
import { openReadiness } from '../runtime/hosting/readiness.ts'
import { anonymous, type Caller } from '../runtime/identity/caller.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { type Access, openAuthentication } from './access.ts'
import { failed } from './answer.ts'
import { type ConcurrencyLimit, callerKey, openConcurrencyLimit, type Place } from './concurrency.ts'
import { openCountsByTenant } from './counts.ts'
import { checkOrigin, checkVersion } from './headers.ts'
import { openMcpDoors } from './mcp.ts'
import { rateLimit } from './rate.ts'
import { openRefusalRecord } from './refusals.ts'
import type { Route, RouteRequest } from './route.ts'
import { routes } from './routes.ts'
import { type Traced, traceRequest } from './telemetry.ts'

export interface ServerDeps {
  readonly ambit: Runtime
  readonly hosts: Hosts
  readonly access: Access
  readonly limits?: ServerLimits
  /** What the door for MCP serves otherwise than by default. */
  readonly mcp?: Omit<McpHttpDeps, 'ambit' | 'host' | 'onError'>
  /** Called with every failure that is the host's own. Its message may hold what callers sent: not for a log. */
  readonly onError?: (error: unknown, place?: { readonly route: string; readonly traceId: string }) => void
}

export interface App {
  /** Answers one request, whatever it is. */
  fetch(request: Request): Promise<Response>
  /** Ends answers that would stay open for ever; those under way go on. */
  close(): Promise<void>
  /** True if requests without credentials are accepted: then only the machine itself may reach it. */
  readonly open: boolean
  readonly limits?: ServerLimits | undefined
}

/** What is known of one request on its way through. */
interface RequestContext {
  readonly traced: Traced
  route: string
  place?: Place
  caller?: Caller
  held?: HeldHost
}
interface Env {
  Bindings: RequestContext
}

/** What every request of one tenant is answered with. */
type Shared = Omit<RouteRequest, 'caller' | 'by' | 'request' | 'traced' | 'until' | 'param' | 'query'>
type SharedFor = (host: AmbitHost) => Shared

/** The door to the hosts of all tenants, compatible with CHP: a function from request to answer. */
export function createApp(deps: ServerDeps): App {
  const { ambit, hosts, limits: own = {} } = deps
  const { bodyBytesMax = limits.jsonBytesMax, bodyMs = limits.bodyMs } = own
  const counts = openCountsByTenant()
  const concurrency = openConcurrencyLimit(own.requestsAtOnceMax ?? limits.requestsAtOnceMax)
  const mcp = openMcpDoors({ ambit, onError: deps.onError, ...deps.mcp })
  const closing = new AbortController()
  const shared = {
    ...{ ambit, concurrency, gather: openGathering(), closing: closing.signal },
    body: { bytesMax: bodyBytesMax, ms: bodyMs },
    ready: openReadiness(ambit, hosts.home.tenant),
  }
  const router = createRouter(deps, concurrency, (host) => ({
    ...shared,
    host,
    counts: counts(host.tenant),
    mcp: () => mcp.for(host),
  }))
  return {
    open: deps.access.open,
    limits: deps.limits,
    close: async () => {
      closing.abort()
      await mcp.close()
    },
    fetch: async (request) => {
      const traced = traceRequest(request.headers, request.method)
      const context: RequestContext = { traced, route: 'other' }
      const response = await router.fetch(request, context)
      const { place, route, caller, held } = context
      place?.leave(held?.release)
      response.headers.set('traceparent', traced.traceparent)
      traced.ended(route, response.status)
      counts(caller?.tenant ?? hosts.home.tenant).request(route, response.status)
      return response
    },
  }
}

/**
 * Waits until all requests that have arrived are read. They then go on together, and the store writes for all of them at
 * once: otherwise an embedded database would write for the first while the others wait to be read.
 */
function openGathering(): () => Promise<void> {
  let turn: Promise<void> | undefined
  return () => {
    turn ??= new Promise((resolve) =>
      setImmediate(() => {
        turn = undefined
        resolve()
      }),
    )
    return turn
  }
}

function createRouter(deps: ServerDeps, concurrency: ConcurrencyLimit, sharedFor: SharedFor): Hono<Env> {
  const app = new Hono<Env>()
  const enter = openEntrance(deps, concurrency)
  const record = openRefusalRecord(deps.ambit)
  app.use('*', async (c, next) => {
    await enter(c)
    return next()
  })
  for (const route of routes)
    app.on(route.method, route.path, (c) => handle(c, route, sharedFor(c.env.held?.host ?? deps.hosts.home)))
  for (const path of paths) app.all(path, refuseMethod(path))
  app.notFound((c) => answerFailed(c, new Failure('route.not_found', 'there is nothing at this path')))
  app.onError(async (error, c) => {
    const { req, env } = c
    const { caller, route, traced } = env
    const { traceId } = traced
    if (statusOf[shown(error).code] >= 500) deps.onError?.(error, { route, traceId })
    await record({ caller, route, method: req.method, path: req.path, traceId, error })
    return answerFailed(c, error)
  })
  return app
}

/** What comes before any route, in this order: version, room, credentials, rate, share of the room, host of the tenant. */
function openEntrance(
  { ambit, hosts, access, limits: own = {} }: ServerDeps,
  concurrency: ConcurrencyLimit,
): (c: Context<Env>) => Promise<void> {
  const authenticate = openAuthentication(ambit, hosts.home, access)
  const perSecond = own.requestsPerSecondMax ?? limits.requestsPerSecondMax
  const mayAsk = rateLimit(ambit.clock, perSecond, limits.rateCallersMax)
  return async ({ req, env }) => {
    checkVersion(req.raw.headers)
    if (isPublic(req.path)) return
    if (paths.has(req.path)) env.route = req.path
    const place = concurrency.enter()
    if (place === undefined) throw new Failure('overloaded', 'too many requests at once')
    env.place = place
    if (access.open) checkOrigin(req.raw.headers)
    const caller = await authenticate(req.raw.headers)
    env.caller = caller
    const { tenant } = caller
    const { name } = callerOf(caller)
    if (!mayAsk(callerKey(tenant, name))) throw new Failure('rate.limited', 'too many requests of this caller')
    if (!place.assign(tenant, name)) throw new Failure('rate.limited', 'too many requests of this caller at once')
    env.held = await hosts.hold(tenant)
  }
}

const paths: ReadonlySet<string> = new Set(routes.map(({ path }) => path))
const publicPaths = routes.flatMap(({ path, public: isPublic }) => (isPublic ? [patternOf(path)] : []))
const isPublic = (path: string): boolean => publicPaths.some((pattern) => pattern.test(path))

/** Matches the paths of a route: `:name` stands for one part. */
function patternOf(path: string): RegExp {
  const parts = path.split('/').map((part) => (part.startsWith(':') ? '[^/]+' : part.replaceAll('.', '\\.')))
  return new RegExp(`^${parts.join('/')}$`)
}

function handle({ env, req }: Context<Env>, route: Route, shared: Shared): Promise<Response> | Response {
  env.route = route.path
  const { tenant } = shared.host
  const caller = route.public ? ({ ...anonymous(tenant), rights: [], name: 'public' } as const) : env.caller
  // No request gets here without a caller and its host; should that ever change, this refuses.
  if (caller?.tenant !== tenant) throw new Failure('unauthenticated', 'the credentials are not accepted')
  return route.handle({
    ...shared,
    caller,
    by: callerOf(caller),
    request: req.raw,
    traced: env.traced,
    param: (name) => req.param(name) ?? '',
    query: () => new URL(req.url).searchParams,
    until: (work) => env.place?.holdFor(work),
  })
}

const refuseMethod = (path: string) => (c: Context<Env>) => {
  c.env.route = path
  const allow = routes.filter((route) => route.path === path).map(({ method }) => method)
  const failure = new Failure('method.not_allowed', 'this path does not answer this method')
  return answerFailed(c, failure, { allow: allow.join(', ') })
}

function answerFailed({ req, env }: Context<Env>, error: unknown, headers: Record<string, string> = {}): Response {
  const version = error instanceof Failure && error.code === 'version.unsupported'
  return failed(error, { ours: !version && /^\/v1(?:\/|$)/.test(req.path), traceId: env.traced.traceId, headers })
}

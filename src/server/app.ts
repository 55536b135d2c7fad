import { type Context, Hono } from 'hono'
import { statusOf } from '../base/codes.ts'
import { Failure, shown } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import type { McpHttpDeps } from '../mcp/http.ts'
import type { ServerLimits } from '../model/config/config.ts'
import type { HeldHost, Hosts } from '../runtime/hosting/hosts.ts'
import { openReadiness } from '../runtime/hosting/readiness.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { type Access, openAuthentication } from './access.ts'
import { failed } from './answer.ts'
import { type ConcurrencyLimit, callerKey, openConcurrencyLimit, type Place } from './concurrency.ts'
import { openCountsByTenant } from './counts.ts'
import { checkOrigin, checkVersion } from './headers.ts'
import { openMcpDoors } from './mcp.ts'
import { rateLimit } from './rate.ts'
import { openRefusalRecord } from './refusals.ts'
import type { AuthenticatedCaller, Route, RouteDeps } from './route.ts'
import { routes } from './routes.ts'
import { type Traced, traceRequest } from './telemetry.ts'
import { gathering } from './turn.ts'

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
  by?: AuthenticatedCaller
  held?: HeldHost
}
interface Env {
  Bindings: RequestContext
}

/** What the routes stand on for one request, by the host it is for. */
type DepsFor = (host: RouteDeps['host']) => RouteDeps

/** The door to the hosts of all tenants, compatible with CHP: a function from request to answer. */
export function createApp(deps: ServerDeps): App {
  const { ambit, hosts, limits: own = {} } = deps
  const { bodyBytesMax = limits.jsonBytesMax, bodyMs = limits.bodyMs } = own
  const counts = openCountsByTenant()
  const concurrency = openConcurrencyLimit(own.requestsAtOnceMax ?? limits.requestsAtOnceMax)
  const mcp = openMcpDoors({ ambit, onError: deps.onError, ...deps.mcp })
  const closing = new AbortController()
  const shared = {
    ...{ ambit, concurrency, gathered: gathering(), closing: closing.signal },
    body: { bytesMax: bodyBytesMax, ms: bodyMs },
    ready: openReadiness(ambit, hosts.home.tenant),
  }
  const depsFor: DepsFor = (host) => ({ ...shared, host, counts: counts(host.tenant), mcp: () => mcp.for(host) })
  const router = createRouter(deps, depsFor, concurrency)
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
      const { place, route, by, held } = context
      place?.leave(held?.release)
      response.headers.set('traceparent', traced.traceparent)
      traced.ended(route, response.status)
      counts(by?.tenant ?? hosts.home.tenant).request(route, response.status)
      return response
    },
  }
}

function createRouter(deps: ServerDeps, depsFor: DepsFor, concurrency: ConcurrencyLimit): Hono<Env> {
  const app = new Hono<Env>()
  const enter = openEntrance(deps, concurrency)
  const record = openRefusalRecord(deps.ambit)
  app.use('*', async (c, next) => {
    await enter(c)
    return next()
  })
  for (const route of routes)
    app.on(route.method, route.path, (c) => handle(c, route, depsFor(c.env.held?.host ?? deps.hosts.home)))
  for (const path of paths) app.all(path, refuseMethod(path))
  app.notFound((c) => answerFailed(c, new Failure('route.not_found', 'there is nothing at this path')))
  app.onError(async (error, c) => {
    const { req, env } = c
    const { by, route, traced } = env
    const { traceId } = traced
    if (statusOf[shown(error).code] >= 500) deps.onError?.(error, { route, traceId })
    await record({ by, route, method: req.method, path: req.path, traceId, error })
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
    const by = await authenticate(req.raw.headers)
    env.by = by
    const { tenant, caller } = by
    if (!mayAsk(callerKey(tenant, caller.name))) throw new Failure('rate.limited', 'too many requests of this caller')
    if (!place.assign(tenant, caller.name))
      throw new Failure('rate.limited', 'too many requests of this caller at once')
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

function handle(c: Context<Env>, route: Route, deps: RouteDeps): Promise<Response> | Response {
  const { env, req } = c
  env.route = route.path
  const ask = {
    deps,
    request: req.raw,
    traced: env.traced,
    param: (name: string) => req.param(name) ?? '',
    query: () => new URL(req.url).searchParams,
    until: (work: Promise<unknown>) => env.place?.holdFor(work),
  }
  if (route.public) return route.handle(ask)
  // No request gets here without a caller and its host; should that ever change, this refuses.
  if (env.by?.tenant !== deps.host.tenant) throw new Failure('unauthenticated', 'the credentials are not accepted')
  return route.handle({ ...ask, visitor: env.by })
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

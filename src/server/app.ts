import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { Failure, shown } from '../base/failure.ts'
import { statusOf } from '../base/failure-codes.ts'
import { limits } from '../base/limits.ts'
import type { McpOptions } from '../mcp/server.ts'
import type { ServerLimits } from '../model/config/config.ts'
import type { HeldHost, Hosts } from '../runtime/hosting/hosts.ts'
import { openReadiness } from '../runtime/hosting/readiness.ts'
import { anonymous, type Caller, callerOf } from '../runtime/identity/caller.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { type Access, checkOrigin, checkVersion, openAuthentication } from './access.ts'
import { failed, json } from './answer.ts'
import { openMcpDoors } from './mcp.ts'
import { callerKey, openConcurrencyLimit, type Place, rateLimit } from './rate-limits.ts'
import { openRefusalRecord } from './refusals.ts'
import type { Route, ServerContext } from './route.ts'
import { routes } from './routes.ts'
import { openCountsByTenant, type Traced, traceRequest } from './telemetry.ts'

export interface ServerDeps {
  readonly ambit: Runtime
  readonly hosts: Hosts
  readonly access: Access
  readonly limits?: ServerLimits
  /** What the door for MCP serves otherwise than by default. */
  readonly mcp?: McpOptions
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

/** The door to the hosts of all tenants, compatible with CHP: a function from request to answer. */
export function createApp(deps: ServerDeps): App {
  const { ambit, hosts, limits: own = {} } = deps
  const { bodyBytesMax = limits.jsonBytesMax, bodyMs = limits.bodyMs } = own
  const counts = openCountsByTenant()
  const mcp = openMcpDoors(ambit, { onError: deps.onError, ...deps.mcp })
  const closing = new AbortController()
  const router = createRouter(deps, {
    ...{ ambit, counts, gather: openGathering(), closing: closing.signal, mcp: mcp.for },
    concurrency: openConcurrencyLimit(own.requestsAtOnceMax ?? limits.requestsAtOnceMax),
    body: { bytesMax: bodyBytesMax, ms: bodyMs },
    ready: openReadiness(ambit, hosts.home.tenant),
  })
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

/** Waits until all requests that have arrived are read, so that an embedded database writes for all of them at once. */
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

function createRouter(deps: ServerDeps, server: ServerContext): Hono<Env> {
  const app = new Hono<Env>()
  const record = openRefusalRecord(deps.ambit)
  const serve = (some: readonly Route[]): void => {
    for (const route of some) app.on(route.method, route.path, (c) => answer(c, route, deps, server))
    for (const [path, same] of Map.groupBy(some, (route) => route.path)) app.all(path, refuseMethod(path, same))
  }
  app.use((c, next) => {
    checkVersion(c.req.raw.headers)
    return next()
  })
  serve(routes.filter((route) => route.public))
  app.use(openEntrance(deps, server))
  serve(routes.filter((route) => !route.public))
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

/** What comes before any route with a caller, in this order: room, credentials, rate, share of the room, host of the tenant. */
function openEntrance(deps: ServerDeps, { ambit, concurrency }: ServerContext): MiddlewareHandler<Env> {
  const { hosts, access, limits: own = {} } = deps
  const authenticate = openAuthentication(ambit, hosts.home, access)
  const perSecond = own.requestsPerSecondMax ?? limits.requestsPerSecondMax
  const mayAsk = rateLimit(ambit.clock, perSecond, limits.rateCallersMax)
  const paths = new Set(routes.map(({ path }) => path))
  return async ({ req, env }, next) => {
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
    return next()
  }
}

async function answer({ env, req }: Context<Env>, route: Route, { hosts }: ServerDeps, server: ServerContext) {
  env.route = route.path
  const { host } = env.held ?? { host: hosts.home }
  const publicCaller = { ...anonymous(host.tenant), rights: [], name: 'public' } as const
  const caller = route.public ? publicCaller : env.caller
  // No request gets here without a caller and its host; should that ever change, this refuses.
  if (caller?.tenant !== host.tenant) throw new Failure('unauthenticated', 'the credentials are not accepted')
  const given = await route.handle({
    ...{ ...server, host, caller, by: callerOf(caller), request: req.raw, traced: env.traced },
    param: (name) => req.param(name) ?? '',
    until: (work) => env.place?.holdFor(work),
  })
  return given instanceof Response ? given : json(given as object)
}

const refuseMethod = (path: string, routes: readonly Route[]) => (c: Context<Env>) => {
  c.env.route = path
  const allow = routes.map(({ method }) => method).join(', ')
  return answerFailed(c, new Failure('method.not_allowed', 'this path does not answer this method'), { allow })
}

function answerFailed({ req, env }: Context<Env>, error: unknown, headers: Record<string, string> = {}): Response {
  const version = error instanceof Failure && error.code === 'version.unsupported'
  return failed(error, { ours: !version && /^\/v1(?:\/|$)/.test(req.path), traceId: env.traced.traceId, headers })
}

import { type Context, Hono } from 'hono'
import { statusOf } from '../base/codes.ts'
import { Failure, shown } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import type { McpHttpDeps } from '../mcp/http.ts'
import type { ServerLimits } from '../model/config/config.ts'
import type { Ambit } from '../runtime/ambit.ts'
import type { AmbitHost } from '../runtime/hosting/host.ts'
import { openReadiness } from '../runtime/hosting/readiness.ts'
import { type Access, admitting } from './access.ts'
import { failed } from './answer.ts'
import { openCounts } from './counts.ts'
import { type Crowd, openCrowd, type Place } from './crowd.ts'
import { checkOrigin, checkVersion } from './headers.ts'
import { lazyMcp } from './mcp.ts'
import { rateLimit } from './rate.ts'
import { recordingRefusals } from './refusals.ts'
import type { Route, RouteDeps, Visitor } from './route.ts'
import { routes } from './routes.ts'
import { type Traced, traceRequest } from './telemetry.ts'
import { gathering } from './turn.ts'

export interface ServerDeps {
  readonly ambit: Ambit
  readonly host: AmbitHost
  readonly access: Access
  readonly limits?: ServerLimits
  /** What the door for MCP serves otherwise than by default. */
  readonly mcp?: Omit<McpHttpDeps, 'ambit' | 'host' | 'onError'>
  /** Told of what was answered as the host's own trouble. Its message may hold what callers sent: nothing for a log. */
  readonly onError?: (error: unknown, place?: { readonly route: string; readonly traceId: string }) => void
}

export interface App {
  /** Answers one request, whatever it is. */
  fetch(request: Request): Promise<Response>
  /** Ends answers that would stay open for ever; those under way go on. */
  close(): Promise<void>
  /** True if requests without credentials are let in: then only the machine itself may reach it. */
  readonly open: boolean
  readonly limits?: ServerLimits | undefined
}

/** What is known of one request on its way through. */
interface Passage {
  readonly traced: Traced
  place: Place | undefined
  route: string
  visitor: Visitor | undefined
}
interface Env {
  Bindings: Passage
}

/** The door to one tenant's host, compatible with CHP: a function from request to answer. */
export function createApp(deps: ServerDeps): App {
  const { ambit, host } = deps
  const { requestsAtOnceMax = limits.requestsAtOnceMax } = deps.limits ?? {}
  const { bodyBytesMax = limits.jsonBytesMax, bodyMs = limits.bodyMs } = deps.limits ?? {}
  const counts = openCounts()
  const crowd = openCrowd(requestsAtOnceMax)
  const mcp = lazyMcp({ ambit, host, onError: deps.onError, ...deps.mcp })
  const body = { bytesMax: bodyBytesMax, ms: bodyMs }
  const ready = openReadiness(ambit, host.tenant)
  const router = routerOf(deps, { ambit, host, counts, crowd, gathered: gathering(), body, mcp: mcp.open, ready })
  return {
    open: deps.access.open,
    limits: deps.limits,
    close: mcp.close,
    fetch: async (request) => {
      const traced = traceRequest(request.headers, request.method)
      const passage: Passage = { traced, place: undefined, route: 'other', visitor: undefined }
      const response = await router.fetch(request, passage)
      passage.place?.left()
      response.headers.set('traceparent', traced.traceparent)
      traced.ended(passage.route, response.status)
      counts.request(passage.route, response.status)
      return response
    },
  }
}

function routerOf(deps: ServerDeps, routeDeps: RouteDeps): Hono<Env> {
  const app = new Hono<Env>()
  const enter = entering(deps, routeDeps.crowd)
  const record = recordingRefusals(deps)
  app.use('*', async (c, next) => {
    await enter(c)
    return next()
  })
  for (const route of routes) app.on(route.method, route.path, (c) => handle(c, route, routeDeps))
  for (const path of paths) app.all(path, notAllowed(path))
  app.notFound((c) => answerFailed(c, new Failure('route.not_found', 'there is nothing at this path')))
  app.onError(async (error, c) => {
    const { req, env } = c
    const { visitor, route, traced } = env
    const { traceId } = traced
    if (statusOf[shown(error).code] >= 500) deps.onError?.(error, { route, traceId })
    await record({ visitor, route, method: req.method, path: req.path, traceId, error })
    return answerFailed(c, error)
  })
  return app
}

/** What comes before any route, in this order: version, room, credentials, rate, share of the room. */
function entering(
  { ambit, host, access, limits: own = {} }: ServerDeps,
  crowd: Crowd,
): (c: Context<Env>) => Promise<void> {
  const admit = admitting(ambit, host, access)
  const perSecond = own.requestsPerSecondMax ?? limits.requestsPerSecondMax
  const mayAsk = rateLimit(ambit.clock, perSecond, limits.rateCallersMax)
  return async ({ req, env }) => {
    checkVersion(req.raw.headers)
    if (publicPaths.has(req.path)) return
    if (paths.has(req.path)) env.route = req.path
    env.place = crowd.enter()
    if (env.place === undefined) throw new Failure('overloaded', 'too many requests at once')
    if (access.open) checkOrigin(req.raw.headers)
    env.visitor = await admit(req.raw.headers)
    const { name } = env.visitor.caller
    if (!mayAsk(name)) throw new Failure('rate.limited', 'too many requests of this caller')
    if (!env.place.isFor(name)) throw new Failure('rate.limited', 'too many requests of this caller at once')
  }
}

const paths: ReadonlySet<string> = new Set(routes.map(({ path }) => path))
const publicPaths: ReadonlySet<string> = new Set(routes.filter((route) => route.public).map(({ path }) => path))

function handle(c: Context<Env>, route: Route, deps: RouteDeps): Promise<Response> | Response {
  const { env, req } = c
  env.route = route.path
  const ask = {
    deps,
    request: req.raw,
    traced: env.traced,
    param: (name: string) => req.param(name) ?? '',
    query: () => new URL(req.url).searchParams,
    until: (work: Promise<unknown>) => env.place?.stays(work),
  }
  if (route.public) return route.handle(ask)
  // Nobody is here without a visitor; should that ever change, this refuses.
  if (env.visitor === undefined) throw new Failure('unauthenticated', 'the credentials are not accepted')
  return route.handle({ ...ask, visitor: env.visitor })
}

const notAllowed = (path: string) => (c: Context<Env>) => {
  c.env.route = path
  const allow = routes.filter((route) => route.path === path).map(({ method }) => method)
  const failure = new Failure('method.not_allowed', 'this path does not answer this method')
  return answerFailed(c, failure, { allow: allow.join(', ') })
}

function answerFailed({ req, env }: Context<Env>, error: unknown, headers: Record<string, string> = {}): Response {
  const version = error instanceof Failure && error.code === 'version.unsupported'
  return failed(error, { ours: !version && /^\/v1(?:\/|$)/.test(req.path), traceId: env.traced.traceId, headers })
}

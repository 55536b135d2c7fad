import type { McpHttp } from '../mcp/http.ts'
import type { TenantId } from '../model/identity/tenant-id.ts'
import type { Operation } from '../operations/operation.ts'
import type { AmbitHost, CallCaller } from '../runtime/hosting/host.ts'
import type { Readiness } from '../runtime/hosting/readiness.ts'
import type { Caller } from '../runtime/identity/caller.ts'
import type { OperationContext } from '../runtime/operations/context.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { ConcurrencyLimit } from './rate-limits.ts'
import type { Counts, Traced } from './telemetry.ts'

/** What every request is answered with. */
export interface ServerContext {
  readonly ambit: Runtime
  /** What was counted for a tenant. */
  readonly counts: (tenant: TenantId) => Counts
  readonly concurrency: ConcurrencyLimit
  /** Waits until the other requests that have arrived are read too. */
  readonly gather: () => Promise<void>
  /** The limits of a body: its size, and how long it may take to arrive. */
  readonly body: { readonly bytesMax: number; readonly ms: number }
  readonly mcp: (host: AmbitHost) => Promise<McpHttp>
  readonly ready: Readiness
  /** Aborts when the server closes. */
  readonly closing: AbortSignal
}

/** One request that passed the door: what it asks for, its caller, and what it is answered with. */
export interface RouteRequest extends ServerContext {
  /** The host of the caller's tenant; of the configured one for public routes. */
  readonly host: AmbitHost
  /** The caller that the credentials prove; without any right on public routes. */
  readonly caller: Caller
  /** The same caller as the gateway knows it. */
  readonly by: CallCaller
  readonly request: Request
  readonly traced: Traced
  /** Counts the request as under way until this has ended, even if it is answered earlier. */
  until(work: Promise<unknown>): void
  /** A part of the path, decoded once. */
  param(name: string): string
}

/** What operations are carried out with for a request. */
export const contextOf = (request: RouteRequest): OperationContext => ({
  ...request,
  host: async () => request.host,
  served: true,
  place: request.traced.place,
})

/** What a route answers under one status: the name of a schema, with its media type unless that is JSON. */
export interface Answer {
  readonly schema?: string
  readonly type?: string
}

/** The answer to a failure on our own paths. */
export const problem: Answer = { schema: 'problem', type: 'application/problem+json' }

/** One endpoint. */
export interface Route {
  readonly method: 'GET' | 'POST'
  /** With `:name` for parts that vary. */
  readonly path: string
  readonly summary: string
  /** True if it needs no credentials. */
  readonly public?: boolean
  /** The schema of the body; a route without one reads none. */
  readonly body?: string
  readonly query?: readonly string[]
  /** The operation that the route is derived from, which then describes path, query and body. */
  readonly operation?: Operation & { readonly name: string }
  readonly answers: Readonly<Record<number, Answer | readonly Answer[]>>
  /** What it gives is sent as JSON, unless it is a response already. */
  readonly handle: (request: RouteRequest) => unknown
}

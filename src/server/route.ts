import type { McpHttp } from '../mcp/http.ts'
import type { TenantId } from '../model/identity/tenant-id.ts'
import type { Operation } from '../operations/operation.ts'
import type { AmbitHost, CallCaller } from '../runtime/hosting/host.ts'
import type { Readiness } from '../runtime/hosting/readiness.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { ConcurrencyLimit } from './concurrency.ts'
import type { Counts } from './counts.ts'
import type { Traced } from './telemetry.ts'

/** The caller that the credentials of a request prove. */
export interface AuthenticatedCaller {
  readonly tenant: TenantId
  readonly caller: CallCaller
  /** Whose evidence they read: the whole tenant's, or what they did themselves. */
  readonly reads: 'all' | 'own'
  /** Whether they may change what the tenant keeps beside calls. */
  readonly administers: boolean
}

/** What the routes stand on. */
export interface RouteDeps {
  readonly ambit: Runtime
  /** The host of the caller's tenant; of the configured one for what is public. */
  readonly host: AmbitHost
  /** Those of the same tenant. */
  readonly counts: Counts
  readonly concurrency: ConcurrencyLimit
  /** Lets the other requests of this moment catch up. */
  readonly gathered: () => Promise<void>
  /** What a body may have, and how long it may take to come. */
  readonly body: { readonly bytesMax: number; readonly ms: number }
  readonly mcp: () => Promise<McpHttp>
  readonly ready: Readiness
  /** Aborts when the server closes. */
  readonly closing: AbortSignal
}

/** One request that passed the door, as a route sees it. */
export interface Ask {
  readonly deps: RouteDeps
  readonly request: Request
  readonly traced: Traced
  /** Counts the request as under way until this has ended, though it was answered before. */
  until(work: Promise<unknown>): void
  /** A part of the path, decoded once. */
  param(name: string): string
  query(): URLSearchParams
}
export interface VisitorAsk extends Ask {
  readonly visitor: AuthenticatedCaller
}

/** What a route answers under one status: the name of a schema, with its media type unless that is JSON. */
export interface Answer {
  readonly schema?: string
  readonly type?: string
}

/** What goes wrong on paths of ours. */
export const problem: Answer = { schema: 'problem', type: 'application/problem+json' }

interface Described {
  readonly method: 'GET' | 'POST'
  /** With `:name` for parts that vary. */
  readonly path: string
  readonly summary: string
  /** The schema of the body; a route without one reads none. */
  readonly body?: string
  readonly query?: readonly string[]
  /** Of a route that is made of an operation: then it says what is in path, query and body. */
  readonly operation?: Operation & { readonly name: string }
  readonly answers: Readonly<Record<number, Answer | readonly Answer[]>>
}

/** One endpoint. What is `public` is for everybody; all else has a visitor. */
export type Route =
  | (Described & { readonly public: true; readonly handle: (ask: Ask) => Promise<Response> | Response })
  | (Described & { readonly public?: false; readonly handle: (ask: VisitorAsk) => Promise<Response> | Response })

// A server on a host of its own, reached by a call: no port, no mock.

import { onTestFinished } from 'vitest'
import { Failure } from '../../src/base/failure.ts'
import { conformanceOffer } from '../../src/chp/conformance.ts'
import type { ProtectedBranch } from '../../src/grants/mint.ts'
import { tenantId } from '../../src/model/identity/tenant-id.ts'
import { memory } from '../../src/resources/memory.ts'
import { scratchpad } from '../../src/resources/scratchpad.ts'
import { type AgentsSpec, openAgents } from '../../src/runtime/agents/agents.ts'
import { type AmbitHost, openHost } from '../../src/runtime/hosting/host.ts'
import { type Hosts, type HostsOptions, openHosts } from '../../src/runtime/hosting/hosts.ts'
import { makeOffer, type Offer, type OfferSpec } from '../../src/runtime/hosting/offer.ts'
import { issueKey } from '../../src/runtime/identity/api-keys.ts'
import { operator } from '../../src/runtime/identity/caller.ts'
import { createPrincipal, type NewPrincipal } from '../../src/runtime/identity/principals.ts'
import type { Runtime } from '../../src/runtime/runtime.ts'
import type { Access } from '../../src/server/access.ts'
import { type App, createApp, type ServerDeps } from '../../src/server/app.ts'
import { givenAmbit, givenTenant } from '../cli/given.ts'
import { assertFits } from './fits.ts'

export const sharedKey = 'shared-key-of-the-tests'
export const scopedKey = 'scoped-key-of-the-tests'

export const testAccess: Access = {
  open: false,
  keys: [
    { name: null, secret: sharedKey, scopes: [] },
    { name: 'conformance-scoped', secret: scopedKey, scopes: ['conformance.echo'] },
    { name: 'alice', secret: 'key-of-alice', scopes: [] },
    { name: 'bob', secret: 'key-of-bob', scopes: [] },
    { name: 'bob', secret: 'next-key-of-bob', scopes: [] },
  ],
}

export interface GivenServer {
  readonly ambit: Runtime
  readonly hosts: Hosts
  /** That of the configured tenant. */
  readonly host: AmbitHost
  readonly app: App
  /** The answer to a request; the shared key unless another is named, none with null. */
  ask(method: string, path: string, options?: AskOptions): Promise<Answered>
  /** The API key of a new principal. */
  keyOf(wish: NewPrincipal, scopes?: readonly string[]): Promise<string>
}

export interface AskOptions {
  readonly key?: string | null
  readonly body?: unknown
  /** Sent as it is. */
  readonly raw?: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>
  readonly headers?: Readonly<Record<string, string>>
}

export interface Answered {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects
  readonly body: any
}

export interface GivenServerOptions {
  readonly offer?: ((hostId: string) => Offer) | OfferSpec
  readonly access?: Access
  readonly limits?: ServerDeps['limits']
  readonly mcp?: ServerDeps['mcp']
  readonly clock?: { now(): number }
  readonly config?: object
  readonly hosts?: HostsOptions
  /** Agents, offered beside the capabilities of an offer that is given as its parts. */
  readonly agents?: Partial<AgentsSpec>
  readonly protect?: readonly ProtectedBranch[]
  readonly roots?: readonly string[]
}

export async function givenServer(options: GivenServerOptions = {}): Promise<GivenServer> {
  const { offer = conformanceOffer, access = testAccess, limits, mcp, clock, config } = options
  const ambit = await givenAmbit({
    config: { store: { driver: 'sqlite', path: ':memory:' }, ...config },
    ...(clock && { clock }),
  })
  const me = await givenTenant(ambit, { id: 'northlight', hostId: 'northlight-depot', roots: options.roots ?? [] })
  const make = withAgents(offer, { protectedBranches: options.protect ?? [], ...options.agents })
  const hosts = await openHosts(
    ambit,
    tenantId('northlight'),
    (tenant, process) => openHost(ambit, tenant, make, { process }),
    options.hosts,
  )
  onTestFinished(() => hosts.close())
  const errors: unknown[] = []
  const app = createApp({
    ambit,
    hosts,
    access,
    ...(limits && { limits }),
    ...(mcp && { mcp }),
    onError: (error) => {
      if (!(error instanceof Failure)) errors.push(error)
    },
  })
  onTestFinished(() => {
    if (errors.length > 0) throw errors[0]
  })
  return {
    ambit,
    hosts,
    host: hosts.home,
    app,
    ask: async (method, path, asked) => {
      const answered = await answeredBy(await app.fetch(requestOf('http://localhost', method, path, asked)), path)
      assertFits(method, path, answered.status, answered.headers.get('content-type'), answered.text)
      return answered
    },
    keyOf: async (wish, scopes = []) => {
      await createPrincipal(ambit, operator(me.tenant), wish)
      return (await issueKey(ambit, me, { principal: wish.id, scopes })).secret
    },
  }
}

function withAgents(offer: NonNullable<GivenServerOptions['offer']>, spec: Partial<AgentsSpec>) {
  if (typeof offer === 'function') return offer
  const { capabilities } = offer
  const none = { agents: [], providers: [memory(), scratchpad()], models: {}, prices: {}, capabilities }
  const agents = openAgents({ ...none, ...spec })
  return (hostId: string) => makeOffer(hostId, { ...offer, agents })
}

export function requestOf(base: string, method: string, path: string, options: AskOptions = {}): Request {
  const { key = sharedKey, body, raw, headers } = options
  const sent = raw ?? (body === undefined ? undefined : JSON.stringify(body))
  return new Request(`${base}${path}`, {
    method,
    ...(sent !== undefined && { body: sent, duplex: 'half' as const }),
    headers: {
      ...(sent !== undefined && { 'content-type': 'application/json' }),
      ...(key !== null && { 'x-chp-key': key }),
      ...headers,
    },
  })
}

/** Answers that go on until the caller leaves. */
const isEndless = /^\/v1\/approvals\/events/

export async function answeredBy(response: Response, path = ''): Promise<Answered> {
  const text = response.ok && isEndless.test(path) ? await beginningOf(response) : await response.text()
  const isJson = /[/+]json$/.test(response.headers.get('content-type') ?? '')
  return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined }
}

/** What comes within a moment; then the caller leaves. */
async function beginningOf({ body }: Response): Promise<string> {
  const reader = body?.getReader()
  setTimeout(() => void reader?.cancel(), 20)
  let text = ''
  for (let part = await reader?.read(); part?.done === false; part = await reader?.read())
    text += new TextDecoder().decode(part.value)
  return text
}

// A host with real keys and a real store, for tests of whatever goes through the gateway.

import { onTestFinished } from 'vitest'
import type { Json } from '../../src/base/canonical.ts'
import type { CallCaller } from '../../src/gateway/call.ts'
import { type Capability, type CapabilitySpec, defineCapability } from '../../src/gateway/capability.ts'
import type { AttemptRecord, EvidenceEvent } from '../../src/model/evidence.ts'
import { tenantId } from '../../src/model/identity/tenant-id.ts'
import type { InvocationResult } from '../../src/model/wire/result.ts'
import { type AmbitHost, openHost } from '../../src/runtime/hosting/host.ts'
import { makeOffer, type OfferSpec } from '../../src/runtime/hosting/offer.ts'
import { authenticate, issueKey } from '../../src/runtime/identity/api-keys.ts'
import { callerOf, operator } from '../../src/runtime/identity/caller.ts'
import { createPrincipal, type NewPrincipal } from '../../src/runtime/identity/principals.ts'
import type { Runtime } from '../../src/runtime/runtime.ts'
import { allPages } from '../../src/storage/page.ts'
import { findEvents } from '../../src/storage/tables/events.ts'
import { givenAmbit, givenTenant } from '../cli/given.ts'

export interface GivenHost {
  readonly ambit: Runtime
  readonly host: AmbitHost
  /** A principal with a key, as a caller. */
  caller(wish: NewPrincipal, scopes?: readonly string[]): Promise<CallCaller>
  call(caller: CallCaller, envelope: object): Promise<InvocationResult>
  /** All events in order. */
  events(): Promise<readonly EvidenceEvent[]>
}

export const anyone: CallCaller = {
  subject: null,
  name: 'anonymous',
  scopes: [],
  permissions: [],
  revokedPermissions: [],
}

export async function givenHost(
  spec: OfferSpec,
  options: { config?: object; clock?: { now(): number }; folder?: string } = {},
): Promise<GivenHost> {
  const ambit = await givenAmbit({
    config: { store: { driver: 'sqlite', path: ':memory:' }, ...options.config },
    ...(options.clock && { clock: options.clock }),
    ...(options.folder !== undefined && { folder: options.folder }),
  })
  const tenant = tenantId('northlight')
  const me = await givenTenant(ambit, { id: 'northlight', hostId: 'northlight-depot' } as never)
  const host = await openHost(ambit, tenant, (hostId) => makeOffer(hostId, spec))
  onTestFinished(() => host.close())
  return {
    ambit,
    host,
    caller: async (wish, scopes = []) => {
      await createPrincipal(ambit, operator(tenant), wish)
      const { secret } = await issueKey(ambit, me, { principal: wish.id, scopes })
      return callerOf(await authenticate(ambit, secret))
    },
    call: async (caller, envelope) => (await host.gateway.invoke(caller, envelope)).result,
    events: async () => {
      const found = await ambit.store.read(() => allPages((page) => findEvents(tenant, {}, page)))
      return found.toReversed().map(({ body }) => JSON.parse(body) as EvidenceEvent)
    },
  }
}

/** A capability that gives its input back, open to all unless the spec says otherwise. */
export const echo = (spec: Partial<CapabilitySpec> = {}): Capability =>
  defineCapability(
    { id: 'test.echo', version: '1.0.0', description: 'Says it again.', policy: {}, ...spec },
    (input) => ({
      echo: input as Json,
    }),
  )

/** A clock that stands still until it is moved. */
export function stillClock(start = Date.parse('2026-06-16T15:00:00.000Z')) {
  let now = start
  return {
    now: () => now,
    advance: (ms: number) => {
      now += ms
    },
  }
}

/** What an event says of how its call was decided. */
export function recordOf(event: EvidenceEvent | undefined): AttemptRecord {
  const { decision } = (event?.payload ?? {}) as { decision?: AttemptRecord }
  return decision ?? {}
}

export const typesOf = (events: readonly EvidenceEvent[]): string[] => events.map(({ event_type }) => event_type)

// A host for the public conformance suite of MCP, at a port of this machine, from a store that is gone afterwards.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { tenantId } from '../../src/model/identity/tenant-id.ts'
import { type AmbitHost, openHost } from '../../src/runtime/hosting/host.ts'
import { openHosts } from '../../src/runtime/hosting/hosts.ts'
import { makeOffer, type Offer } from '../../src/runtime/hosting/offer.ts'
import { addApprover } from '../../src/runtime/identity/approvers.ts'
import { operator } from '../../src/runtime/identity/caller.ts'
import { createPrincipal } from '../../src/runtime/identity/principals.ts'
import { createTenant } from '../../src/runtime/identity/tenants.ts'
import { openAmbit } from '../../src/runtime/runtime.ts'
import { createApp } from '../../src/server/app.ts'
import { listen } from '../../src/server/listen.ts'
import { suiteContent } from './conformance-content.ts'
import { changingTool, comingTool, suiteTools } from './conformance-tools.ts'

export interface ConformanceServer {
  /** Where MCP is spoken. */
  readonly url: string
  close(): Promise<void>
}

export async function startConformanceServer(): Promise<ConformanceServer> {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-mcp-conformance-'))
  const ambit = await openAmbit({ folder, env: {} })
  const tenant = tenantId('conformance')
  await createTenant(ambit, { id: tenant })
  await createPrincipal(ambit, operator(tenant), { id: approver, kind: 'user' })
  await addApprover(ambit, operator(tenant), { principal: approver, roles: [] })
  let host: AmbitHost | undefined
  const offer = offering((next) => host?.offer(next))
  const hosts = await openHosts(ambit, tenant, async (tenant, process) => {
    host = await openHost(ambit, tenant, offer, { process })
    return approving(host)
  })
  const app = createApp({
    ambit,
    hosts,
    access: { keys: [], open: true },
    mcp: { content: () => suiteContent, fenced: false, roundMs },
    onError: (error) => process.stderr.write(`${String(error)}\n`),
  })
  const listening = await listen(app, { port: 0 })
  return {
    url: `${listening.url}/mcp`,
    close: async () => {
      await listening.close()
      await hosts.close()
      await ambit.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The offer of the suite. One of its tools comes and goes whenever another is called. */
function offering(changed: (next: Offer) => void): (hostId: string) => Offer {
  const make = (hostId: string, isThere: boolean): Offer => {
    const change = () => changed(make(hostId, !isThere))
    return makeOffer(hostId, {
      capabilities: [...suiteTools, changingTool(change), ...(isThere ? [comingTool] : [])],
    })
  }
  return (hostId) => make(hostId, false)
}

const approver = 'ida'

/** States of two rounds differ by the second in which they were made. */
const roundMs = 1_200

/** The host, with a person who agrees as soon as somebody waits for it; where the suite wants more rounds, in the next. */
function approving(host: AmbitHost): AmbitHost {
  const { gateway } = host
  const by = { principal: approver, subject: { id: approver, type: 'user', verified: true } as const }
  const waited = new Set<string>()
  const decide = async (id: string) => {
    const request = (await gateway.pendingFor(approver)).find(({ approval_id }) => approval_id === id)
    const isSlow = request?.capability.id.endsWith('multi_round') && !waited.has(id)
    waited.add(id)
    if (request && !isSlow) await gateway.decide(id, by, { decision: 'approve' })
  }
  const waitForDecision: typeof gateway.waitForDecision = async (id, options) => {
    await decide(id)
    return gateway.waitForDecision(id, options)
  }
  return { ...host, gateway: { ...gateway, waitForDecision } }
}

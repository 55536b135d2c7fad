import { connect } from '../../src/client/connect.ts'
import { tenantId } from '../../src/model/identity/tenant-id.ts'
import type { Ambit } from '../../src/operations/ambit.ts'
import type { AgentsSpec } from '../../src/runtime/agents/agents.ts'
import { issueKey } from '../../src/runtime/identity/api-keys.ts'
import { operator } from '../../src/runtime/identity/caller.ts'
import { createPrincipal } from '../../src/runtime/identity/principals.ts'
import { createTenant } from '../../src/runtime/identity/tenants.ts'
import { givenServer } from './server.ts'

/** Two tenants of one server, with the same root, each as its administrator sees it. */
export async function givenTwoTenants(agents: Partial<AgentsSpec>): Promise<readonly [north: Ambit, south: Ambit]> {
  const { ambit, app } = await givenServer({ offer: { capabilities: [] }, agents, roots: ['acme'] })
  await createTenant(ambit, { id: 'southwind', roots: ['acme'] })
  const clientOf = async (tenant: string): Promise<Ambit> => {
    const me = operator(tenantId(tenant))
    await createPrincipal(ambit, me, { id: 'admin', kind: 'user', roles: ['admin'] })
    const { secret } = await issueKey(ambit, me, { principal: 'admin' })
    return connect('http://localhost', secret, { fetch: (url, init) => app.fetch(new Request(url as string, init)) })
  }
  return [await clientOf('northlight'), await clientOf('southwind')]
}

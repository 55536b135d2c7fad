// The desk that the examples for frameworks share: a tenant, an agent, a person who may agree, and one capability.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import {
  addApprover,
  authenticate,
  type CallCaller,
  type Capability,
  callerOf,
  createPrincipal,
  createTenant,
  defineCapability,
  definePolicy,
  exportBundle,
  type Gateway,
  type InvocationResult,
  identityOf,
  issueKey,
  makeOffer,
  openAmbit,
  openHost,
  operator,
  type Runtime,
  tenantId,
  verifyBundle,
} from '../src/index.ts'

const refund = defineCapability(
  {
    id: 'desk.refund',
    version: '1.0.0',
    description: 'Pays money back for an order.',
    input: z.strictObject({ order: z.string(), cents: z.int().min(1) }),
    context: {
      name: 'refund_context',
      version: '1.0.0',
      identifies: 'the sum that is paid back',
      fields: { cents: { source: 'payload:/cents', schema: { type: 'integer' }, evidence: 'value' } },
      example: { cents: 1250 },
    },
    policy: { auth_required: true, name: 'refunds', statement: 'A team lead agrees to refunds above 50.00.' },
    effects: ['money.move'],
  },
  ({ order, cents }) => ({ receipt: `R-${order}`, paid: cents }),
)

const cents = { var: 'context.cents' }
const refunds = definePolicy({
  name: 'refunds',
  version: '1',
  applies_to: ['desk.refund'],
  rules: [
    { id: 'small', when: { '<=': [cents, 5_000] }, decision: 'allow' },
    { id: 'huge', when: { '>': [cents, 100_000] }, decision: 'deny' },
    {
      id: 'large',
      when: { and: [{ '>': [cents, 5_000] }, { '<=': [cents, 100_000] }] },
      decision: 'requires_approval',
      approval: { roles: ['team_lead'] },
    },
  ],
})

export interface Desk {
  readonly gateway: Gateway
  readonly agent: CallCaller
  /** Ida agrees to what waits for her. */
  agree(): Promise<void>
  /** Prints what the evidence of a task proves, to somebody who has the exported file and the public key. */
  prove(correlationId: string): Promise<void>
}

/** Opens the desk in a folder of its own, and leaves nothing behind. */
export async function atDesk(work: (desk: Desk) => Promise<void>, more: readonly Capability[] = []): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-example-'))
  const ambit = await openAmbit({ folder, env: process.env })
  try {
    await createTenant(ambit, { id: 'acme' })
    const admin = operator(tenantId('acme'))
    const agent = await enrol(ambit, 'refund-agent', 'agent')
    const ida = await enrol(ambit, 'ida', 'user')
    await addApprover(ambit, admin, { principal: 'ida', roles: ['team_lead'] })
    const host = await openHost(ambit, admin.tenant, (hostId) =>
      makeOffer(hostId, { capabilities: [refund, ...more], policies: [refunds] }),
    )
    const by = { principal: 'ida', subject: ida.subject }
    await work({
      gateway: host.gateway,
      agent: callerOf(agent),
      agree: async () => {
        for (const { approval_id } of await host.gateway.pendingFor('ida')) {
          const { state } = await host.gateway.decide(approval_id, by, {
            decision: 'approve',
            rationale: 'box crushed',
          })
          console.log(`ida decided: ${state}`)
        }
      },
      prove: async (correlationId) => {
        const bundle = await exportBundle(ambit, admin, correlationId)
        const { public_key } = await identityOf(ambit, admin)
        const { events, valid, covered } = verifyBundle(bundle, { pins: [public_key ?? ''] })
        console.log(`evidence of ${correlationId}: ${events} events, valid: ${valid}, covered: ${covered}`)
      },
    })
    await host.close()
  } finally {
    await ambit.close()
    rmSync(folder, { recursive: true })
  }
}

async function enrol(ambit: Runtime, id: string, kind: 'agent' | 'user') {
  const admin = operator(tenantId('acme'))
  await createPrincipal(ambit, admin, { id, kind })
  return authenticate(ambit, (await issueKey(ambit, admin, { principal: id })).secret)
}

export const printResult = ({ capability_id, outcome, denial, data }: InvocationResult): void =>
  console.log(`${capability_id}: ${outcome}, ${denial?.code ?? JSON.stringify(data)}`)

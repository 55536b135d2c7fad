// Hosts one capability in this process, calls it, has a person agree, and calls it again.
// Run it with `npx node examples/call-a-capability.ts`.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
// cut: define
import { z } from 'zod'
import {
  addApprover,
  authenticate,
  callerOf,
  createPrincipal,
  createTenant,
  defineCapability,
  definePolicy,
  issueKey,
  makeOffer,
  openAmbit,
  openHost,
  operator,
  tenantId,
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

const refunds = definePolicy({
  name: 'refunds',
  version: '1',
  applies_to: ['desk.refund'],
  rules: [
    { id: 'small', when: { '<=': [{ var: 'context.cents' }, 5000] }, decision: 'allow' },
    {
      id: 'large',
      when: { '>': [{ var: 'context.cents' }, 5000] },
      decision: 'requires_approval',
      approval: { roles: ['team_lead'] },
    },
  ],
})
// end

const folder = mkdtempSync(join(tmpdir(), 'ambit-example-'))
try {
  await main()
} finally {
  rmSync(folder, { recursive: true })
}

async function main(): Promise<void> {
  const ambit = await openAmbit({ folder, env: process.env })
  try {
    const admin = operator(tenantId('acme'))
    await createTenant(ambit, { id: 'acme' })
    const enrol = async (id: string, kind: 'agent' | 'user') => {
      await createPrincipal(ambit, admin, { id, kind })
      return authenticate(ambit, (await issueKey(ambit, admin, { principal: id })).secret)
    }
    const agent = await enrol('refund-agent', 'agent')
    const ida = await enrol('ida', 'user')
    await addApprover(ambit, admin, { principal: 'ida', roles: ['team_lead'] })

    // cut: call
    const offer = { capabilities: [refund], policies: [refunds] }
    const host = await openHost(ambit, admin.tenant, (hostId) => makeOffer(hostId, offer))
    const call = async (invocation_id: string, cents: number) => {
      const payload = { order: 'A-17', cents }
      const envelope = { capability_id: 'desk.refund', invocation_id, payload }
      const { result } = await host.gateway.invoke(callerOf(agent), envelope)
      console.log(`${cents} cents: ${result.outcome}${result.denial ? `, ${result.denial.code}` : ''}`)
      return result
    }
    await call('refund-1', 1250)
    const waiting = await call('refund-2', 9000)
    // end

    // cut: decide
    const approval = String(waiting.denial?.details?.['approval_id'])
    const by = { principal: ida.subject.id, subject: ida.subject }
    const { state } = await host.gateway.decide(approval, by, { decision: 'approve', rationale: 'the box was crushed' })
    console.log(`ida decided: ${state}`)
    const { data } = await call('refund-2', 9000)
    console.log(JSON.stringify(data))
    await host.close()
    // end
  } finally {
    await ambit.close()
  }
}

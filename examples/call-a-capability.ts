// Hosts one capability in this process, calls it, has a person agree, and calls it again.
// Run it with `npx node examples/call-a-capability.ts`.

// cut: define
import { z } from 'zod'
import { createAmbit, defineCapability, definePolicy, verifyBundle } from '../src/index.ts'

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

// cut: open
// Without `folder: '.ambit'` nothing outlives the process.
const ambit = await createAmbit({ capabilities: [refund], policies: [refunds] })
// end

// cut: enrol
await ambit.principals.create('refund-agent', { kind: 'agent' })
await ambit.principals.create('ida', { kind: 'user' })
await ambit.approvers.add('ida', { roles: ['team_lead'] })
const agent = await ambit.withKey((await ambit.keys.create('refund-agent')).secret)
const ida = await ambit.withKey((await ambit.keys.create('ida')).secret)
// end

// cut: call
const payBack = async (id: string, cents: number) => {
  const result = await agent.call('desk.refund', { order: 'A-17', cents }, { id, correlation: 'ticket-4711' })
  console.log(`${cents} cents: ${result.outcome}${result.denial ? `, ${result.denial.code}` : ''}`)
  return result
}
await payBack('refund-1', 1250)
await payBack('refund-2', 9000)
// end

// cut: decide
const { approvals } = await ida.approvals.list()
for (const { approval_id } of approvals) {
  const { state } = await ida.approvals.decide(approval_id, 'approve', { rationale: 'the box was crushed' })
  console.log(`ida decided: ${state}`)
}
const { data } = await payBack('refund-2', 9000)
console.log(JSON.stringify(data))
// end

// cut: verify
const bundle = await ambit.evidence.export('ticket-4711')
const { public_key } = await ambit.tenants.identity('local')
const report = verifyBundle(bundle, { pins: [public_key ?? ''] })
console.log(`${report.events} events, valid: ${report.valid}, covered: ${report.covered}`)
// end

// cut: tamper
const forged = structuredClone(bundle)
Object.assign(forged.events[1] ?? {}, { subject: { id: 'somebody-else' } })
const { valid, first } = verifyBundle(forged)
console.log(`after a change, valid: ${valid}, because ${first?.message}, at ${first?.at}`)
// end

await ambit.close()

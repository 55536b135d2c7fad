import type { AmbitHost, CallCaller } from '../../runtime/hosting/host.ts'
import { defineCapability, type OfferSpec } from '../../runtime/hosting/offer.ts'
import type { Caller } from '../../runtime/identity/caller.ts'
import { callerOf } from '../../runtime/identity/caller.ts'
import { type Io, line, paint } from '../terminal/io.ts'

/** The correlation the story happens in. */
export const task = 'run-5521'

const release = defineCapability(
  {
    id: 'depot.release_batch',
    version: '2.1.0',
    description: 'Moves a quarantined batch to saleable stock.',
    input: {
      type: 'object',
      required: ['batch_id', 'warm_minutes'],
      properties: { batch_id: { type: 'string' }, warm_minutes: { type: 'integer' } },
    },
    context: {
      name: 'batch_context',
      version: '1.0.0',
      identifies: 'how long the batch was too warm, and why it is needed',
      fields: {
        warm_minutes: { source: 'payload:/warm_minutes', schema: { type: 'integer' }, read_by: ['quality_release'] },
        purpose: { source: 'metadata:/purpose', schema: { type: 'string' }, read_by: ['quality_release'] },
      },
      example: { warm_minutes: 0, purpose: 'routine' },
    },
    policy: { auth_required: true, permissions: ['stock:release'], name: 'quality_release' },
    effects: ['stock.move'],
  },
  ({ batch_id }) => ({ released: batch_id ?? null }),
)

const warm = { '>': [{ var: 'context.warm_minutes' }, 0] }

/** What the depot hosts: an agent releases batches, and a pharmacist must agree if one was ever too warm. */
export const offered: OfferSpec = {
  capabilities: [release],
  policies: [
    {
      name: 'quality_release',
      version: '3',
      applies_to: ['depot.*'],
      rules: [
        { id: 'cold', when: { '==': [{ var: 'context.warm_minutes' }, 0] }, decision: 'allow' },
        { id: 'routine', when: { and: [warm, { '==': [{ var: 'context.purpose' }, 'routine'] }] }, decision: 'deny' },
        {
          id: 'excursion',
          when: warm,
          decision: 'requires_approval',
          approval: { roles: ['responsible_pharmacist'], quorum: 1, expires_in_s: 7200 },
        },
      ],
    },
  ],
}

/** Three calls: allowed, denied, and approved by a person, after which it takes effect once. */
export async function playStory(io: Io, host: AmbitHost, planner: Caller, { subject }: Caller): Promise<void> {
  const call = (what: string, wish: Wish): Promise<string> => make(io, host, callerOf(planner), what, wish)
  const shortage = { id: 'inv_3', warmMinutes: 14, purpose: 'shortage' }
  await call('a batch that stayed cold', { id: 'inv_1', warmMinutes: 0, purpose: 'routine' })
  await call('one that was too warm', { id: 'inv_2', warmMinutes: 14, purpose: 'routine' })
  const approval = await call('the same, for a shortage', shortage)
  await host.gateway.decide(approval, { principal: subject.id, subject }, { decision: 'approve' })
  tell(io, `${subject.id}, a pharmacist`, 'green', 'APPROVED', 'this one call, and no other')
  await call('that call again', shortage)
  await call('and once more', shortage)
}

interface Wish {
  readonly id: string
  readonly warmMinutes: number
  readonly purpose: string
}

/** Makes one call, says what came of it, and answers the id of the approval it waits for. */
async function make(io: Io, { gateway }: AmbitHost, agent: CallCaller, what: string, wish: Wish): Promise<string> {
  const { result } = await gateway.invoke(agent, {
    capability_id: release.descriptor.id,
    invocation_id: wish.id,
    correlation: { correlation_id: task },
    actor: { id: 'agent://stock-planner', type: 'agent' },
    metadata: { purpose: wish.purpose },
    payload: { batch_id: 'B-204417', warm_minutes: wish.warmMinutes },
  })
  const { matched_rule: rule, approval_id: approval } = result.denial?.details ?? {}
  if (result.success)
    tell(io, what, 'green', 'DONE', result.replayed ? 'as recorded: nothing ran again' : released(wish))
  else tell(io, what, 'red', 'DENIED', `${rule}${approval === undefined ? '' : ': a pharmacist must agree'}`)
  return String(approval ?? '')
}

const released = ({ warmMinutes }: Wish): string =>
  warmMinutes === 0 ? 'released by quality_release/cold' : 'released with the approval'

const tell = (io: Io, what: string, color: 'green' | 'red', verdict: string, why: string): void =>
  line(io, `  ${what.padEnd(26)} ${paint(io, color, verdict.padEnd(9))} ${paint(io, 'dim', why)}`)

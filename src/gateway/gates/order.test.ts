import assert from 'node:assert/strict'
import { test } from 'vitest'
import { anyone, type GivenHost, givenHost } from '../../../test/support/host.ts'
import type { CapabilityDescriptor } from '../../model/capability.ts'
import type { ContextContract } from '../../model/context.ts'
import type { AttemptRecord } from '../../model/evidence.ts'
import type { Policy } from '../../model/policy.ts'
import { allPages } from '../../storage/page.ts'
import { approvalRecords } from '../../storage/tables/approvals.ts'
import type { CallCaller } from '../call.ts'
import { type Capability, describedCapability } from '../capability.ts'

/** One way to be stopped: how the capability and the call must be for it, and what is then answered and written. */
interface Stop {
  readonly gate: string
  readonly descriptor?: Partial<CapabilityDescriptor>
  readonly envelope?: object
  readonly code: string
  readonly events: readonly string[]
}

const safe = ['safety_assessment_started', 'safety_assessment_completed', 'safety_action_approved']
const contract: ContextContract = {
  name: 'place',
  version: '1.0.0',
  identifies: 'where it happens',
  fields: { place: { source: 'metadata:/context/place', schema: { type: 'string' } } },
  example: { place: 'here' },
}

const stops: readonly Stop[] = [
  { gate: 'K', code: 'policy_blocked', events: ['execution_denied'] },
  { gate: '0', code: 'policy_blocked', events: [] },
  { gate: '2', envelope: { version: '9.9.9' }, code: 'capability_not_found', events: ['execution_denied'] },
  { gate: '3', code: 'capability_disabled', events: ['execution_skipped'] },
  { gate: '4', envelope: { mode: 'sideways' }, code: 'unsupported_mode', events: ['execution_denied'] },
  { gate: '5', envelope: { mandate: {} }, code: 'mandate_invalid', events: ['execution_denied'] },
  { gate: '5b', descriptor: { policy: { auth_required: true } }, code: 'policy_blocked', events: ['execution_denied'] },
  { gate: '6-list', code: 'policy_blocked', events: ['execution_denied'] },
  { gate: '6-risk', descriptor: { risk: 'critical' }, code: 'policy_blocked', events: ['execution_denied'] },
  { gate: '6-pattern', code: 'policy_blocked', events: ['execution_denied'] },
  {
    gate: '6-audience',
    envelope: { metadata: { audience: 'x' } },
    code: 'policy_blocked',
    events: ['execution_denied'],
  },
  {
    gate: '6-context',
    descriptor: { metadata: { context: contract } },
    code: 'evidence_required',
    events: ['execution_denied'],
  },
  { gate: '6-rule', code: 'escalation_required', events: ['execution_denied'] },
  {
    gate: '7',
    descriptor: {
      invariants: [
        { id: 'i', kind: 'required_payload_fields', enforcement: 'host', parameters: { fields: ['absent'] } },
      ],
    },
    code: 'invariant_failed',
    events: ['execution_denied'],
  },
  {
    gate: '8-limit',
    descriptor: { metadata: { autonomy: { action_limit: 0 } } },
    code: 'budget_exceeded',
    events: ['budget_exceeded', 'execution_denied'],
  },
  {
    gate: '8-approval',
    descriptor: { policy: { approval_required: true } },
    code: 'approval_required',
    events: ['approval_requested', 'execution_denied'],
  },
  {
    gate: '9',
    descriptor: { input_schema: { type: 'object', properties: { note: { type: 'integer' } } } },
    code: 'input_schema_validation_failed',
    events: ['execution_denied'],
  },
  {
    gate: '10',
    code: 'safety_blocked',
    events: [...safe.slice(0, 2), 'safety_guardrail_triggered', 'safety_action_blocked', 'execution_denied'],
  },
  {
    gate: '12',
    descriptor: { output_schema: { type: 'integer' } },
    envelope: { require_output_schema: true },
    code: 'output_schema_validation_failed',
    events: [...safe, 'execution_started', 'execution_denied'],
  },
]

/** Every pair of stops is one capability, and so is every stop alone. */
const worlds = stops.flatMap((first, index) => stops.slice(index).map((second) => [first, second] as const))
const idOf = ([first, second]: readonly [Stop, Stop]): string => `t.${first.gate}.${second.gate}`
const stopsAt = (gate: string) => worlds.filter((world) => world.some((stop) => stop.gate === gate)).map(idOf)

const capabilities: readonly Capability[] = worlds.map((world) => {
  const [first, second] = world.map(({ descriptor = {} }) => descriptor)
  return describedCapability(
    {
      id: idOf(world),
      version: '1.0.0',
      description: 'Does one thing.',
      modes: ['sync'],
      emits: [],
      ...second,
      ...first,
      policy: { ...second?.policy, ...first?.policy },
      metadata: { ...second?.metadata, ...first?.metadata },
    },
    () => {
      executed++
      return 'done'
    },
  )
})

const escalate: Policy = {
  name: 'escalate',
  version: '1',
  applies_to: stopsAt('6-rule'),
  rules: [{ id: 'always', when: true, decision: 'requires_escalation' }],
}

let executed = 0
let assessed = 0

const givenWorlds = (): Promise<GivenHost> =>
  givenHost({
    capabilities,
    policies: [escalate],
    lifecycles: Object.fromEntries(stopsAt('3').map((id) => [id, 'unavailable'])),
    block: stopsAt('6-list'),
    maxRisk: 'high',
    patterns: stopsAt('6-pattern').map((capability_id) => ({ capability_id, field: 'note', pattern: 'words' })),
    safety: ({ capabilityId }) => {
      assessed++
      return { approved: !stopsAt('10').includes(capabilityId), level: 'low', score: 0.25 }
    },
  })

const scoped: CallCaller = { ...anyone, name: 'scoped', scopes: ['other.*'] }

test('of any two gates the first answers, and the second leaves no trace; every refusal is on record [H-24 H-40 H-43 H-48]', async () => {
  const given = await givenWorlds()
  for (const world of worlds) {
    const [first] = world
    const { result, before, after } = await stopped(given, world)
    const at = idOf(world)
    assert.equal(result.denial?.code, first.code, at)
    assert.deepEqual([result.outcome, result.success], [first.gate === '3' ? 'skipped' : 'denied', false], at)
    assert.deepEqual(after.types.slice(before.types.length), first.events, at)
    assert.equal(result.evidence_ids.length, first.events.length, at)
    assert.equal(after.executed - before.executed, first.gate === '12' ? 1 : 0, at)
    assert.equal(after.assessed - before.assessed, ['10', '12'].includes(first.gate) ? 1 : 0, at)
    assert.equal(after.requests - before.requests, first.gate === '8-approval' ? 1 : 0, at)
  }
  const denied = (await given.events()).filter(({ event_type }) => /_(?:denied|skipped)$/.test(event_type))
  for (const { payload, capability_id, denial } of denied) {
    const { basis, decision, input } = (payload as { decision: AttemptRecord }).decision
    assert(basis !== undefined && basis.length > 0 && input !== undefined, capability_id)
    assert.equal(decision === 'allow', denial?.code === 'output_schema_validation_failed', capability_id)
  }
})

async function stopped(given: GivenHost, world: readonly [Stop, Stop]) {
  const [first, second] = world
  const has = (gate: string): boolean => world.some((stop) => stop.gate === gate)
  const caller = has('K') ? scoped : anyone
  const envelope = {
    ...second.envelope,
    ...first.envelope,
    capability_id: idOf(world),
    invocation_id: `inv-${idOf(world)}`,
    payload: { note: 'words' },
  }
  if (has('0')) await given.call(caller, { ...envelope, payload: { note: 'words', other: 1 } })
  const before = await traces(given)
  const result = await given.call(caller, envelope)
  return { result, before, after: await traces(given) }
}

async function traces({ ambit, host, events }: GivenHost) {
  const requests = await ambit.store.read(() => allPages((page) => approvalRecords.list(host.tenant, {}, page)))
  const types = (await events()).map(({ event_type }) => event_type)
  return { types, executed, assessed, requests: requests.length }
}

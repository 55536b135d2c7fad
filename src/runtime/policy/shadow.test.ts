import assert from 'node:assert/strict'
import { onTestFinished, test } from 'vitest'
import { givenAmbit, givenTenant, tempFolder } from '../../../test/cli/given.ts'
import { anyone, recordOf } from '../../../test/support/host.ts'
import { capability, qualityRelease, recordedCall } from '../../../test/support/policy-example.ts'
import { givenServer } from '../../../test/support/upstream.ts'
import type { Json } from '../../base/canonical.ts'
import type { Upstream } from '../../model/config/upstream.ts'
import type { AttemptRecord, EvidenceEvent } from '../../model/evidence.ts'
import type { Policy } from '../../model/policy.ts'
import { explain } from '../../policy/explain.ts'
import { compilePolicies } from '../../policy/policies.ts'
import { searchEvidence } from '../evidence/export.ts'
import { type EventInput, record } from '../evidence/record.ts'
import { openConfiguredHost } from '../hosting/configured-host.ts'
import { capabilityIn } from '../hosting/upstreams.ts'
import { shadowDecisions } from './shadow.ts'

const { context, basis, policy, decision, approval } = recordedCall.record
const held = { context, basis, policy, decision, approval } as AttemptRecord
const event: EventInput = { event_type: 'noted', payload: {}, correlation: { correlation_id: 'c' } }
const call: EventInput = { ...event, event_type: 'execution_denied', capability_id: capability, record: held }
const set = compilePolicies([qualityRelease])

test('recorded decisions are found however far back they lie, newest first [H-49]', async () => {
  const ambit = await givenAmbit()
  const caller = await givenTenant(ambit)
  await record(ambit, caller, [{ ...call, invocation_id: 'inv_old' }])
  for (let batch = 0; batch < 2; batch++)
    await record(
      ambit,
      caller,
      Array.from({ length: 600 }, () => event),
    )
  await record(ambit, caller, [{ ...call, invocation_id: 'inv_new' }])
  const found = await shadowDecisions(ambit, caller, set)
  assert.deepEqual(
    found.map(({ invocation_id, answer }) => [invocation_id, answer.is]),
    [
      ['inv_new', 'equal'],
      ['inv_old', 'equal'],
    ],
  )
})

test('recorded decisions are told apart by task and call, and those of another tenant are not seen [H-49 F-09]', async () => {
  const ambit = await givenAmbit()
  const caller = await givenTenant(ambit)
  const other = await givenTenant(ambit, { id: 'other' })
  const elsewhere = { ...call, invocation_id: 'inv_1', correlation: { correlation_id: 'd' } }
  await record(ambit, caller, [{ ...call, invocation_id: 'inv_1' }, elsewhere])
  assert.equal((await shadowDecisions(ambit, caller, set)).length, 2)
  assert.equal((await shadowDecisions(ambit, caller, set, { correlation: 'd' })).length, 1)
  assert.deepEqual(await shadowDecisions(ambit, other, set), [])
})

test('recorded decisions are for those who may audit [H-49 F-09]', async () => {
  const ambit = await givenAmbit()
  const caller = await givenTenant(ambit)
  await assert.rejects(shadowDecisions(ambit, { ...caller, rights: [] }, set), { code: 'caller.not_permitted' })
})

const tainted: Json = { some: [{ var: 'history.classes' }, { '==': [{ var: '' }, 'confidential'] }] }
const closed: Json = { '!=': [{ var: 'capability.data_classification' }, 'public'] }

/** A ward whose policy lets nothing that is not public be called once confidential data was read, with a few calls made. */
async function givenWard() {
  const { origin } = await givenServer((response) => response.setHeader('content-type', 'text/plain').end('x'))
  const operation = (id: string, data_classification?: string) => ({
    request: { method: 'GET' as const, path: '/' },
    descriptor: {
      ...{ id, version: '1.0.0', description: 'Looks.' },
      policy: data_classification === undefined ? {} : { data_classification },
    },
  })
  const capabilities = [
    operation('ward.news', 'public'),
    operation('ward.notes', 'confidential'),
    operation('ward.fax'),
  ]
  const ward: Upstream = { adapter: 'http', name: 'ward', server: { url: origin }, capabilities }
  const inside = policyOf(['allow', true], ['deny', { and: [tainted, closed] }])
  const config = { tenant: 'acme', upstreams: [ward], policies: [inside], egress: { allow: [origin] } }
  const folder = tempFolder()
  const ambit = await givenAmbit({ folder, config })
  const caller = await givenTenant(ambit)
  const host = await openConfiguredHost(ambit, caller.tenant)
  onTestFinished(() => host.close())
  for (const capability_id of ['ward.news', 'ward.fax', 'ward.notes', 'ward.news', 'ward.fax', 'ward.notes'])
    await host.gateway.invoke(anyone, { capability_id })
  return { ambit, caller, inside, folder }
}

const policyOf = (...rules: readonly (readonly [Policy['rules'][number]['decision'], Json])[]): Policy => ({
  ...{ name: 'inside', version: '1', applies_to: ['ward.*'] },
  rules: rules.map(([decision, when], index) => ({ id: `r${index}`, decision, when })),
})

test('the policy in force changes nothing of what was decided by history, absent facts included [H-49 H-98]', async () => {
  const { ambit, caller, inside } = await givenWard()
  const found = await shadowDecisions(ambit, caller, compilePolicies([inside]))
  const answers = found.toReversed().map(({ answer }) => (answer.is === 'equal' ? answer.decision : answer))
  assert.deepEqual(answers, ['allow', 'allow', 'allow', 'allow', 'deny', 'deny'])
})

test('other rules about history and capability are answered from the record, and as `explain` answers them [H-49 H-98]', async () => {
  const { ambit, caller, folder } = await givenWard()
  const candidates = [
    policyOf(['allow', true], ['deny', { '>=': [{ var: 'history.calls' }, 2] }]),
    policyOf(['allow', true], ['requires_approval', { in: ['ward.notes', { var: 'history.capabilities' }] }]),
    policyOf(['allow', { '==': [{ var: 'capability.risk' }, 'medium'] }], ['deny', closed]),
    policyOf(['allow', true], ['deny', { '==': [{ var: 'history.unheard' }, 1] }]),
  ].map((policy) => compilePolicies([policy]))
  const { items } = await searchEvidence(ambit, caller, {}, { limit: 100 })
  let told = 0
  for (const candidate of candidates)
    for (const { event_id, capability_id, answer } of await shadowDecisions(ambit, caller, candidate)) {
      const event = JSON.parse(items.find(({ eventId }) => eventId === event_id)?.body ?? '{}') as EvidenceEvent
      const kept = Object.entries(recordOf(event).facts ?? {}).filter(([path]) => path.startsWith('history.'))
      const history = Object.fromEntries(kept.map(([path, value]) => [path.replace('history.', ''), value as Json]))
      const known = await capabilityIn({ folder, env: {} }, { id: capability_id, version: '1.0.0' }, assert.fail)
      const { ruling, needs } = explain(candidate, capability_id, { history, capability: known as Json })
      if (answer.is === 'needs') assert.deepEqual(answer.fields, needs)
      else {
        assert.deepEqual([needs, ruling.decision], [[], answer.is === 'equal' ? answer.decision : answer.to])
        told++
      }
    }
  assert.equal(told, 18)
})

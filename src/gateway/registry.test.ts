import assert from 'node:assert/strict'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { anyone, echo, givenHost, recordOf } from '../../test/support/host.ts'
import { objectHash } from '../base/hash.ts'
import type { ContextContract } from '../model/context.ts'
import type { Policy } from '../model/policy.ts'
import { makeOffer } from '../runtime/hosting/offer.ts'
import { defineCapability, describedCapability } from './capability.ts'
import { discover } from './discover.ts'
import { openRegistry } from './registry.ts'

const contract = (more: Partial<ContextContract> = {}): ContextContract => ({
  name: 'batch',
  version: '1.0.0',
  identifies: 'the batch',
  fields: { batch_id: { source: 'payload:/batch_id', schema: { type: 'string' } } },
  example: { batch_id: 'B-1' },
  ...more,
})

test.each([
  ['an id with a space', { id: 'a b' }],
  ['an empty id', { id: '' }],
  ['an id of the protocol', { id: 'chp.echo' }],
  ['an id of the fixture', { id: 'conformance.echo' }],
  ['an id of ours', { id: 'ambit.echo' }],
  ['an id of the workspace', { id: 'workspace.echo' }],
  ['a version that is none', { version: '1' }],
  ['no description', { description: undefined }],
  ['no modes', { modes: [] }],
  ['an unknown mode', { modes: ['later'] }],
  ['a type of ours among its events', { emits: ['ambit.run.started'] }],
  ['a member that descriptors do not have', { autonomy_tier: 'high' }],
])('a capability with %s is refused [H-01 H-10]', (_, more) => {
  assert.throws(
    () => openRegistry([echo(more as never)]),
    ({ code }: { code: string }) => /^(?:capability|field)\./.test(code),
  )
})

test('a reserved beginning is for those who may use it [H-01]', () => {
  const capability = echo({ id: 'conformance.echo' })
  assert.equal(openRegistry([capability], { reserved: ['conformance.'] }).all().length, 1)
  assert.throws(() => openRegistry([capability], { reserved: ['ambit.'] }), { code: 'capability.invalid' })
})

test('a descriptor without emits or modes has no shape [H-01]', () => {
  const { emits: _, ...without } = echo().descriptor
  assert.throws(() => openRegistry([describedCapability(without as never, () => null)]))
})

test('several versions stand side by side; the same version with other content is refused [H-01]', () => {
  const one = echo()
  const two = openRegistry([one, echo({ version: '1.1.0' }), one])
  assert.deepEqual(two.versions('test.echo'), ['1.0.0', '1.1.0'])
  assert.equal(two.get('test.echo', '1.1.0')?.descriptor.version, '1.1.0')
  assert.throws(() => openRegistry([echo(), echo({ description: 'Says something else.' })]), {
    code: 'capability.invalid',
  })
  assert.throws(() => openRegistry([one, echo()]), /version 1\.0\.0 is registered twice: give one of them another id/)
  assert.deepEqual([two.versions('constructor'), two.get('toString', '1.0.0')], [[], undefined])
})

test('what the host says of a capability is no part of its digest, and another host’s word for it is dropped [H-08 H-25]', () => {
  const bare = echo({ policy: { name: 'p' } }).descriptor
  const said = {
    ...bare,
    metadata: { ...bare.metadata, lifecycle: 'unavailable', policy: { name: 'p', state: 'open' } },
  }
  const [one] = openRegistry([describedCapability(bare, () => null)]).all()
  const [other] = openRegistry([describedCapability(said as never, () => null)]).all()
  assert.deepEqual([one?.digest, one?.lifecycle], [objectHash(bare as never), 'invokable'])
  assert.deepEqual([other?.digest, other?.lifecycle], [one?.digest, 'invokable'])
})

test('a lifecycle is looked up by id, and by nothing an object inherits [H-25]', () => {
  const [made] = openRegistry([echo({ id: 'constructor' })], { lifecycles: {} }).all()
  assert.equal(made?.lifecycle, 'invokable')
})

test.each([
  ['an untyped field', contract({ fields: { batch_id: { source: 'payload:/batch_id', schema: {} } } })],
  ['a bare object', contract({ fields: { batch_id: { source: 'payload:/batch_id', schema: { type: 'object' } } } })],
  ['an example that does not pass', contract({ example: { batch_id: 7 } })],
  ['no sentence on what it identifies', contract({ identifies: undefined as never })],
])('a capability whose contract has %s is refused [H-04 H-05]', (_, context) => {
  assert.throws(() => openRegistry([echo({ context })]))
})

const policy = (field: string): Policy => ({
  name: 'release',
  version: '1',
  applies_to: ['test.*'],
  rules: [{ id: 'r', when: { '==': [{ var: `context.${field}` }, 'B-1'] }, decision: 'allow' }],
})

test('an offer is refused whose rules read a field that any version of the capability does not declare [H-09]', () => {
  const old = echo({ version: '1.0.0', context: contract() })
  const next = echo({ version: '2.0.0' })
  const offer = (capabilities: (typeof old)[]) => () =>
    makeOffer('depot', { capabilities, policies: [policy('batch_id')] })
  assert.doesNotThrow(offer([old]))
  assert.throws(offer([old, next]), { code: 'policy.invalid' })
  assert.throws(offer([next, old]), { code: 'policy.invalid' })
  assert.throws(() => makeOffer('depot', { capabilities: [old], policies: [policy('colour')] }), {
    code: 'policy.invalid',
  })
})

test('an offer is refused whose contracts name a policy that does not exist [H-09]', () => {
  const fields = { batch_id: { ...contract().fields['batch_id'], read_by: ['absent'] } } as ContextContract['fields']
  assert.throws(() => makeOffer('depot', { capabilities: [echo({ context: contract({ fields }) })] }), {
    code: 'policy.invalid',
  })
})

test('an offer is refused whose contracts need a resolver that is not there [H-03]', () => {
  const fields: ContextContract['fields'] = { stock: { source: 'host:toString', schema: { type: 'integer' } } }
  const capabilities = [echo({ context: contract({ fields, example: { stock: 1 } }) })]
  assert.throws(() => makeOffer('depot', { capabilities }), { code: 'capability.invalid' })
  assert.doesNotThrow(() => makeOffer('depot', { capabilities, resolvers: { toString: () => 1 } as never }))
})

test('a schema that cannot be told as JSON Schema, or is none, is refused [H-41]', () => {
  const silent = { '~standard': { version: 1, vendor: 'other', validate: () => ({ value: 1 }) } } as const
  assert.throws(() => echo({ input: silent as never }), { code: 'capability.invalid' })
  assert.throws(() => echo({ output: z.object({ at: z.date() }) }), {
    code: 'capability.invalid',
    message: /^`output` cannot be told as JSON Schema: Date /,
  })
  assert.throws(() => openRegistry([echo({ input: { type: 'nonsense' } })]), { code: 'field.invalid' })
  const deep = { properties: { a: { type: 'nonsense' } } }
  assert.throws(() => openRegistry([echo({ id: 'a.b', input: deep })]), {
    message: /^capability `a\.b`, input: .*: `\/properties\/a\/type` is not what JSON Schema knows there$/,
  })
})

test('what a capability declares is what discovery serves: schemas, contract, boundary, lifecycle and state [H-07 H-08 H-68]', () => {
  const capability = defineCapability(
    {
      id: 'test.release',
      version: '1.0.0',
      description: 'Releases a batch.',
      input: z.object({ batch_id: z.string() }),
      output: { type: 'object' },
      context: contract(),
      policy: {
        auth_required: true,
        name: 'release',
        statement: 'A pharmacist releases.',
        may_require: ['approval'],
        permissions: ['stock:release'],
      },
      effects: ['stock.move'],
      emits: ['batch_moved'],
      timeoutS: 3,
      autonomy: { action_limit: 2 },
    },
    () => null,
  )
  const offer = makeOffer('depot', { capabilities: [capability], lifecycles: { 'test.release': 'verified' } })
  const [shown] = discover(offer, anyone)
  expect(shown).toMatchObject({
    capability_uri: 'test.release:1.0.0',
    input_schema: { type: 'object', properties: { batch_id: { type: 'string' } }, required: ['batch_id'] },
    side_effects: ['stock.move'],
    timeout_s: 3,
    metadata: {
      lifecycle: 'verified',
      context: contract(),
      policy: { name: 'release', statement: 'A pharmacist releases.', may_require: ['approval'], state: 'restricted' },
      required_permissions: ['stock:release'],
      autonomy: { action_limit: 2 },
    },
  })
  assert(shown?.emits.includes('batch_moved') && shown.emits.includes('execution_started'))
})

test('discovery shows the state that the gates enforce, and to a named caller what it may call [H-34 H-68]', () => {
  const capabilities = [
    echo({ id: 'a.open' }),
    echo({ id: 'a.restricted', policy: { auth_required: true } }),
    echo({ id: 'a.approval', policy: { approval_required: true } }),
    echo({ id: 'a.tier', autonomy: { tier: 'human_driven' } }),
    echo({ id: 'a.audited', assurance: { level: 'S2' } }),
    echo({ id: 'a.silent', policy: undefined as never }),
    echo({ id: 'a.listed', policy: { allowed_actors: ['ida'] } }),
    echo({ id: 'a.blocked' }),
    echo({ id: 'a.off' }),
  ]
  const offer = makeOffer('depot', { capabilities, block: ['a.blocked'], lifecycles: { 'a.off': 'blocked' } })
  const states = Object.fromEntries(discover(offer, anyone).map(({ id, metadata }) => [id, metadata?.policy?.state]))
  assert.deepEqual(states, {
    'a.open': 'open',
    'a.restricted': 'restricted',
    'a.approval': 'approval_required',
    'a.tier': 'approval_required',
    'a.audited': 'audited',
    'a.silent': 'blocked',
    'a.listed': 'open',
    'a.blocked': 'blocked',
    'a.off': 'blocked',
  })
  const names = (id: string, scopes: string[]) =>
    discover(offer, { ...anyone, subject: { id, verified: true }, scopes }).map((shown) => shown.id)
  assert.equal(names('jo', []).includes('a.listed'), false)
  assert.equal(names('ida', []).includes('a.listed'), true)
  assert.deepEqual(names('ida', ['a.o*', 'a.listed']), ['a.open', 'a.listed', 'a.off'])
})

test('an unavailable capability stays listed, is skipped, and says its lifecycle; evidence names what was registered [H-08 H-25]', async () => {
  const { host, call, events } = await givenHost({ capabilities: [echo()], lifecycles: { 'test.echo': 'unavailable' } })
  assert.equal(host.gateway.discover(anyone)[0]?.metadata?.lifecycle, 'unavailable')
  const result = await call(anyone, { capability_id: 'test.echo' })
  assert.deepEqual(
    [result.outcome, result.success, result.denial?.code, result.denial?.details, result.capability_version],
    ['skipped', false, 'capability_disabled', { lifecycle: 'unavailable' }, '1.0.0'],
  )
  const last = (await events()).at(-1)
  assert.equal(last?.event_type, 'execution_skipped')
  assert.equal(recordOf(last).descriptor, objectHash(echo().descriptor as never))
})

test('a deprecated capability works, and is marked [H-25]', async () => {
  const { host, call } = await givenHost({ capabilities: [echo({ status: 'deprecated' })] })
  assert.equal(host.gateway.discover(anyone)[0]?.metadata?.lifecycle, 'deprecated')
  assert.equal((await call(anyone, { capability_id: 'test.echo' })).outcome, 'success')
})

test('handlers emit declared and reverse-DNS types, and nothing else [H-10]', async () => {
  const tried: [string, object][] = [
    ['batch_moved', { ok: true }],
    ['com.example.depot.moved', { ok: true }],
    ['undeclared', {}],
    ['execution_completed', {}],
    ['approval_granted', {}],
    ['budget_exceeded', {}],
    ['ambit.run.started', {}],
    ['chp.host.event', {}],
    ['batch_moved', { decision: {} }],
  ]
  const codes: unknown[] = []
  const capability = defineCapability(
    { id: 'test.emit', version: '1.0.0', description: 'Emits.', policy: {}, emits: ['batch_moved'] },
    (_, { emit }) => {
      for (const [type, payload] of tried)
        try {
          emit(type, payload as never)
          codes.push('ok')
        } catch (error) {
          codes.push((error as { code: string }).code)
        }
      return null
    },
  )
  const { call, events } = await givenHost({ capabilities: [capability] })
  await call(anyone, { capability_id: 'test.emit' })
  assert.deepEqual(codes, ['ok', 'ok', ...Array.from({ length: 7 }, () => 'field.invalid')])
  assert.deepEqual(
    (await events()).slice(-4).map(({ event_type }) => event_type),
    ['execution_started', 'batch_moved', 'com.example.depot.moved', 'execution_completed'],
  )
})

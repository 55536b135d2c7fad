import assert from 'node:assert/strict'
import { test } from 'vitest'
import { signatory } from '../../../test/support/evidence.ts'
import { type MandateFields, signMandate, signRevocation } from '../../../test/support/evidence-statements.ts'
import { anyone, echo, givenHost, recordOf, stillClock } from '../../../test/support/host.ts'
import type { Mandate } from '../../model/wire/mandate.ts'
import { addStatement } from '../../storage/tables/statements.ts'

const owner = signatory('owner', 1)
const planner = signatory('planner', 2)
const stranger = signatory('stranger', 9)
const year: MandateFields = {
  mandate_id: 'mnd_1',
  delegate_id: 'planner',
  scope: ['test.*'],
  valid_from: '2026-01-01T00:00:00.000Z',
  valid_until: '2026-12-31T00:00:00.000Z',
  created_at: '2026-01-01T00:00:00.000Z',
}
const root = signMandate(year, owner)
const pins = [owner, planner].map(({ signer }) => signer.publicKey)

async function givenMandates(mandatePrincipals: readonly string[] = pins) {
  const clock = stillClock()
  const given = await givenHost(
    {
      capabilities: [
        echo(),
        echo({ id: 'test.listed', policy: { allowed_actors: ['planner'] } }),
        echo({ id: 'test.right', policy: { permissions: ['go'] } }),
        echo({ id: 'other.echo' }),
      ],
      mandatePrincipals,
    },
    { clock },
  )
  const ask = async (mandate: unknown, capability_id = 'test.echo', by = anyone) => {
    const { denial } = await given.call(by, { capability_id, mandate })
    return denial === null || denial === undefined ? 'success' : (denial.details?.['check'] ?? denial.code)
  }
  return { ...given, clock, ask }
}

test('a mandate makes its delegate the subject of the call and of its evidence [H-28 H-29]', async () => {
  const { ask, events } = await givenMandates()
  assert.equal(await ask(root), 'success')
  const event = (await events()).at(-1)
  assert.deepEqual(event?.subject, {
    id: 'planner',
    type: 'mandate',
    verified: true,
    mandate_id: 'mnd_1',
    principal: 'owner',
    root_principal: 'owner',
    tenant: 'northlight',
  })
})

test('a mandate that is forged, unknown, late, early or another’s is no mandate [H-28]', async () => {
  const { ask, caller, clock } = await givenMandates()
  assert.equal(await ask({ ...root, scope: ['*'] }), 'signature')
  assert.equal(await ask({}), 'shape')
  assert.equal(await ask(signMandate(year, stranger)), 'pin')
  assert.equal(await ask(signMandate({ ...year, valid_until: '2026-06-16T14:59:59.999Z' }, owner)), 'window')
  assert.equal(await ask(signMandate({ ...year, valid_from: '2026-06-16T15:00:00.001Z' }, owner)), 'window')
  assert.equal(await ask(root, 'test.echo', await caller({ id: 'mallory', kind: 'agent' })), 'delegate')
  assert.equal(await ask(root, 'test.echo', await caller({ id: 'planner', kind: 'agent' })), 'success')
  clock.advance(365 * 86_400_000)
  assert.equal(await ask(root), 'window')
})

test('a mandate narrows and bypasses nothing: scope, permissions and lists stay what they are [H-29 H-31]', async () => {
  const { ask } = await givenMandates()
  assert.equal(await ask(root, 'other.echo'), 'policy_blocked')
  assert.equal(await ask(root, 'test.listed'), 'success')
  assert.equal(await ask(signMandate({ ...year, delegate_id: 'clerk' }, owner), 'test.listed'), 'policy_blocked')
  assert.equal(await ask(root, 'test.right'), 'policy_blocked')
})

test('a revoked mandate is dead, and all that were made of it; another’s revocation revokes nothing [H-28 H-29]', async () => {
  const { ask, ambit, host } = await givenMandates()
  const child = signMandate(
    { ...year, mandate_id: 'mnd_2', delegate_id: 'helper', scope: ['test.echo'], parent: root },
    planner,
  )
  const revocation = (by: typeof owner) =>
    signRevocation({ mandate_id: 'mnd_1', revoked_at: '2026-06-01T00:00:00.000Z', reason: 'over' }, by)
  const keep = (id: string, by: typeof owner) =>
    ambit.store.write(host.tenant, addStatement({ kind: 'revocation', id, body: JSON.stringify(revocation(by)) }))
  assert.equal(await ask(child), 'success')
  await keep('forged', stranger)
  assert.deepEqual([await ask(root), await ask(child)], ['success', 'success'])
  await keep('own', owner)
  assert.deepEqual([await ask(root), await ask(child)], ['revoked', 'revoked'])
})

test('a mandate is used as often as it says, exactly, by fifty calls at once; a repeat is no use [H-30 H-39]', async () => {
  const { call, events } = await givenMandates()
  const mandate = signMandate({ ...year, max_invocations: 5 }, owner)
  const use = (invocation_id: string) => call(anyone, { capability_id: 'test.echo', invocation_id, mandate })
  const results = await Promise.all(Array.from({ length: 50 }, (_, index) => use(`inv-${index % 25}`)))
  const fresh = results.filter(({ success, replayed }) => success && !replayed)
  assert.equal(fresh.length, 5)
  const denied = results.find(({ outcome }) => outcome === 'denied')?.denial
  assert.deepEqual(
    [denied?.code, denied?.retryable, denied?.details?.['max_invocations']],
    ['mandate_exhausted', false, 5],
  )
  assert.equal((await use(fresh[0]?.invocation_id ?? '')).replayed, true)
  assert.equal(recordOf((await events()).at(-1)).decision !== undefined, true)
})

test('two mandates that were made of one share what it allows [H-29 H-30]', async () => {
  const { ask } = await givenMandates()
  const capped = signMandate({ ...year, max_invocations: 2 }, owner)
  const child = (mandate_id: string): Mandate =>
    signMandate({ ...year, mandate_id, delegate_id: 'helper', parent: capped, max_invocations: 2 }, planner)
  assert.deepEqual(
    [await ask(child('a')), await ask(child('b')), await ask(child('a')), await ask(capped)],
    ['success', 'success', 'mandate_exhausted', 'mandate_exhausted'],
  )
})

test('without pins no mandate is believed [H-28]', async () => {
  const { ask } = await givenMandates([])
  assert.equal(await ask(root), 'pin')
})

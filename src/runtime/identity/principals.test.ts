import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { givenAmbit, givenTenant } from '../../../test/cli/given.ts'
import { searchEvidence } from '../evidence/export.ts'
import type { Runtime } from '../runtime.ts'
import type { Caller } from './caller.ts'
import { createPrincipal, permit, principalsOf, withdraw } from './principals.ts'

async function desk(): Promise<{ ambit: Runtime; me: Caller }> {
  const ambit = await givenAmbit()
  return { ambit, me: await givenTenant(ambit) }
}

test('a permission is in one of the two lists, once, whatever was given and withdrawn before [F-17]', async () => {
  const { ambit, me } = await desk()
  const steps = fc.array(fc.tuple(fc.boolean(), fc.constantFrom('a', 'A', 'b c')), { maxLength: 12 })
  let people = 0
  const property = fc.asyncProperty(steps, async (moves) => {
    const id = `p-${people++}`
    let now = await createPrincipal(ambit, me, { id, kind: 'user', permissions: ['a', 'a'] })
    const held = new Map([['a', true]])
    for (const [give, name] of moves) {
      if (!give && held.get(name) !== true) {
        await assert.rejects(withdraw(ambit, me, id, name), { code: 'permission.not_found' })
      } else {
        now = await (give ? permit : withdraw)(ambit, me, id, name)
        held.set(name, give)
      }
    }
    const named = (has: boolean) => [...held].filter(([, value]) => value === has).map(([name]) => name)
    assert.deepEqual(
      [now.permissions.toSorted(), now.revoked_permissions.toSorted()],
      [named(true).sort(), named(false).sort()],
    )
    assert.deepEqual(
      (await principalsOf(ambit, me)).items.find(({ principal_id }) => principal_id === id),
      now,
    )
  })
  await fc.assert(property, { numRuns: 15 })
})

test('who gave which permission to whom is evidence; what is refused leaves none [F-17 F-13]', async () => {
  const { ambit, me } = await desk()
  await createPrincipal(ambit, me, { id: 'ida', kind: 'user' })
  await permit(ambit, me, 'ida', 'stock:release')
  await withdraw(ambit, me, 'ida', 'stock:release')
  const refusals = [
    [() => permit(ambit, me, 'unknown', 'x'), 'principal.not_found'],
    [() => permit(ambit, me, 'ida', 'two\nlines'), 'field.invalid'],
    [() => permit(ambit, { ...me, rights: ['audit'] }, 'ida', 'x'), 'caller.not_permitted'],
    [() => withdraw(ambit, me, 'ida', 'stock:release'), 'permission.not_found'],
  ] as const
  for (const [refusal, code] of refusals) await assert.rejects(refusal, { code })
  for (const type of ['ambit.permission.given', 'ambit.permission.withdrawn']) {
    const { items } = await searchEvidence(ambit, me, { type })
    const payloads = items.map(({ body }) => (JSON.parse(body) as { payload: Record<string, unknown> }).payload)
    assert.deepEqual(
      payloads.map(({ principal_id, permission }) => [principal_id, permission]),
      [['ida', 'stock:release']],
    )
  }
})

test('permissions given at the same time are all there afterwards [F-12 F-17]', async () => {
  const { ambit, me } = await desk()
  await createPrincipal(ambit, me, { id: 'ida', kind: 'user' })
  const names = Array.from({ length: 20 }, (_, index) => `p${index}`)
  await Promise.all(names.map((name) => permit(ambit, me, 'ida', name)))
  const [ida] = (await principalsOf(ambit, me)).items
  assert.deepEqual(ida?.permissions.toSorted(), names.toSorted())
})

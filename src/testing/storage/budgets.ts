import assert from 'node:assert/strict'
import { Failure } from '../../base/failure.ts'
import type { Amounts } from '../../model/config/budget.ts'
import { type BudgetPlace, dropEndedBudgets, reserve, settle, usesIn } from '../../storage/tables/budget-uses.ts'
import type { Given, Register, Setting } from './given.ts'
import { times } from './given.ts'
import { plainSeal, sampleDraft } from './sample.ts'

export function budgetRules(test: Register, on: Setting): void {
  test('a budget is reserved up to its limits and no further, exactly, however many do at once [F-12 H-99]', on(exact))
  test('what is settled gives back the rest of what was reserved, in its own while [F-12 H-99]', on(settled))
  test('what ended a day ago is dropped, and nothing else [F-12 H-99]', on(dropped))
}

const day = 86_400_000
const place: BudgetPlace = { budget: 'b', holder: 'h', startsAtMs: 0, endsAtMs: day }

async function exact({ store, second, tenant, other }: Given): Promise<void> {
  const limits: Amounts = { calls: 30, cost: 70 }
  const take = (index: number) =>
    (index % 2 === 0 ? store : second)
      .commit(tenant, {
        change: reserve({ ...place, amounts: { calls: 1, cost: 10 } }, limits),
        events: [sampleDraft(`e-${index}`)],
        seal: plainSeal,
      })
      .then(
        () => 'taken',
        (error: unknown) => (error instanceof Failure ? error.code : 'error'),
      )
  const answers = await Promise.all(times(40, take))
  assert.equal(answers.filter((answer) => answer === 'taken').length, 7)
  assert.equal(answers.filter((answer) => answer === 'budget.exceeded').length, 33)
  const [used, elsewhere] = await store.read(() => usesIn(tenant, [place, { ...place, holder: 'i' }]))
  assert.deepEqual([used, elsewhere], [{ calls: 7, time_ms: 0, cost: 70, bytes: 0 }, {}])
  assert.deepEqual(await store.read(() => usesIn(other, [place])), [{}])
  await assert.rejects(store.write(tenant, reserve({ ...place, amounts: { calls: 24 } }, limits)), {
    code: 'budget.exceeded',
    data: { used },
  })
  await assert.rejects(store.write(other, reserve({ ...place, amounts: { calls: 31 } }, limits)), {
    data: { used: {} },
  })
}

async function settled({ store, tenant }: Given): Promise<void> {
  const reservation = { ...place, amounts: { calls: 1, time_ms: 30_000, bytes: 1_000 } }
  const take = reserve(reservation, { calls: 5, time_ms: 60_000, bytes: 2_000 })
  const used = async () => (await store.read(() => usesIn(tenant, [place])))[0]
  await store.write(tenant, take)
  await store.write(tenant, take)
  await assert.rejects(store.write(tenant, take), { code: 'budget.exceeded' })
  await store.write(tenant, settle(reservation, { time_ms: 12, bytes: 0, cost: 99 }))
  assert.deepEqual(await used(), { calls: 2, time_ms: 30_012, cost: 0, bytes: 1_000 })
  await store.write(tenant, settle(reservation, { time_ms: 30_500 }))
  assert.deepEqual(await used(), { calls: 2, time_ms: 30_512, cost: 0, bytes: 1_000 })
  await store.write(tenant, settle({ ...reservation, endsAtMs: day + 1 }, { bytes: 0 }))
  assert.deepEqual(await used(), { calls: 2, time_ms: 30_512, cost: 0, bytes: 1_000 })
}

async function dropped({ store, tenant, other }: Given): Promise<void> {
  const ends = [day, 2 * day, 3 * day]
  const places = ends.map((endsAtMs) => ({ ...place, startsAtMs: endsAtMs - day, endsAtMs }))
  for (const each of places)
    for (const owner of [tenant, other])
      await store.write(owner, reserve({ ...each, amounts: { calls: 1 } }, { calls: 1 }))
  const left = async (of = tenant) =>
    (await store.read(() => usesIn(of, places))).map(({ calls = 0 }) => calls).join('')
  assert.equal(await store.write(tenant, dropEndedBudgets(2 * day - 1, 9)), 0)
  assert.equal(await store.write(tenant, dropEndedBudgets(2 * day, 9)), 1)
  assert.equal(await left(), '011')
  assert.equal(await store.write(tenant, dropEndedBudgets(9 * day, 1)), 1)
  assert.deepEqual([await left(), await left(other)], ['001', '111'])
}

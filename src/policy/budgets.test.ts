import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { limits } from '../base/limits.ts'
import type { CapabilityDescriptor } from '../model/capability.ts'
import { type Amounts, type Budget, type Measure, measures } from '../model/config/budget.ts'
import { amountOf, compileBudgets, lackingIn, windowOf, words } from './budgets.ts'

const named = (id: string, more: Partial<CapabilityDescriptor> = {}): CapabilityDescriptor => ({
  id,
  version: '1.0.0',
  description: 'does it',
  modes: ['sync'],
  emits: [],
  ...more,
})
/** Takes 2000 ms, 2.5 units and 100 bytes at most. */
const paid = named('shop.pay', { timeout_s: 2, metadata: { worst_case: { cost: '2.5', bytes: 100 } } })

const given = (name: string, more: Partial<Budget> = { calls: 1 }): Budget => ({
  name,
  per: 'tenant',
  applies_to: ['*'],
  every: 'day',
  ...more,
})
const compiled = (more: Partial<Budget>) => compileBudgets([given('b', more)], [paid]).get('shop.pay')?.[0]
const namesOf = (found: ReturnType<typeof compileBudgets>) =>
  Object.fromEntries([...found].map(([id, budgets]) => [id, budgets.map(({ name }) => name)]))

test('a budget is for the capabilities that it names and for those that begin as it says [H-99]', () => {
  const capabilities = ['shop.pay', 'shop.list', 'web.get', 'web', 'other.do'].map((id) => named(id))
  const one = given('one', { applies_to: ['web.get'], calls: 1 })
  const some = given('some', { applies_to: ['x', 'shop.*'], calls: 1 })
  assert.deepEqual(namesOf(compileBudgets([one, some], capabilities)), {
    'web.get': ['one'],
    'shop.pay': ['some'],
    'shop.list': ['some'],
  })
  assert.equal(compileBudgets([], capabilities).size, 0)
  assert.equal(compileBudgets([one, some], []).size, 0)
})

test('a capability has each of its budgets once, in the order they are written, however many versions it has [H-99]', () => {
  const versions = [named('a.b'), named('a.b', { version: '2.0.0' }), named('a.c')]
  const budgets = [given('wide'), given('narrow', { applies_to: ['a.b', 'a.*', 'a.b'], calls: 2 }), given('last')]
  assert.deepEqual(namesOf(compileBudgets(budgets, versions)), {
    'a.b': ['wide', 'narrow', 'last'],
    'a.c': ['wide', 'narrow', 'last'],
  })
})

test.each<[Budget['per'], readonly string[]]>([
  ['tenant', ['tenant']],
  ['principal', ['principal']],
  ['history', ['history']],
  ['capability', ['capability']],
  [
    ['capability', 'tenant', 'capability'],
    ['tenant', 'capability'],
  ],
  [
    ['capability', 'history', 'principal', 'tenant'],
    ['tenant', 'principal', 'history', 'capability'],
  ],
])('those who share a budget per %j are each said once, in one order [H-99]', (per, expected) => {
  assert.deepEqual(compiled({ per, calls: 1 })?.per, expected)
})

test('a budget limits what it names and nothing else, cost in millionths that are never more than was said [H-99]', () => {
  assert.deepEqual(compiled({ calls: 3, every: 90 }), { name: 'b', per: ['tenant'], every: 90, limits: { calls: 3 } })
  assert.deepEqual(compiled({ time_ms: 2000, bytes: 100 })?.limits, { time_ms: 2000, bytes: 100 })
  assert.deepEqual(compiled({ cost: 7 })?.limits, { cost: 7_000_000 })
  assert.deepEqual(compiled({ cost: '2.5000009' })?.limits, { cost: 2_500_000 })
  const all = compiled({ bytes: 100, cost: '2.5', time_ms: 2000, calls: 1 })?.limits ?? {}
  assert.deepEqual(Object.entries(all), [
    ['calls', 1],
    ['time_ms', 2000],
    ['cost', 2_500_000],
    ['bytes', 100],
  ])
})

test.each([0, '0', '0.0000009'])('a cost of %j is a limit, which only calls without cost keep [H-99]', (cost) => {
  const free = compileBudgets([given('b', { cost })], [named('a.free')])
  assert.deepEqual(free.get('a.free')?.[0]?.limits, { cost: 0 })
  assert.throws(() => compiled({ cost }), /of 0 units has no room/)
})

test('of two budgets of one name the later is refused, wherever the first stands [H-99]', () => {
  const refused = (index: number) => ({
    code: 'field.invalid',
    message: `configuration: \`/host/budgets/${index}\`: there are two budgets \`a\``,
    data: { pointer: `/host/budgets/${index}` },
    help: undefined,
  })
  assert.throws(() => compileBudgets([given('a'), given('a')], []), refused(1))
  assert.throws(() => compileBudgets([given('b'), given('a'), given('c'), given('a')], []), refused(3))
})

test('a budget without a limit is refused, with what it could limit [H-99]', () => {
  assert.throws(() => compileBudgets([given('a'), given('b', {})], [paid]), {
    code: 'field.invalid',
    message: 'configuration: `/host/budgets/1`: budget `b` limits nothing',
    data: { pointer: '/host/budgets/1' },
    help: 'give it one of calls, time_ms, cost, bytes',
  })
})

test.each<[Partial<Budget>, string, string]>([
  [{ calls: 0 }, '0 calls has no room for one call of `shop.pay`, which may take 1', '`calls` is at least 1'],
  [
    { time_ms: 1999 },
    '1999 ms has no room for one call of `shop.pay`, which may take 2000',
    '`timeoutS` of the capability, or `timeout_s` in the file of an upstream',
  ],
  [
    { cost: '2.499999' },
    '2.499999 units has no room for one call of `shop.pay`, which may take 2.5',
    '`worstCase.cost` of the capability, or `metadata.worst_case.cost` in the file of an upstream',
  ],
  [
    { bytes: 99 },
    '99 bytes has no room for one call of `shop.pay`, which may take 100',
    '`worstCase.bytes` of the capability, or `metadata.worst_case.bytes` in the file of an upstream',
  ],
])('a budget of %j that has no room for one call is refused, with what to do about it [H-99]', (more, said, help) => {
  assert.throws(() => compileBudgets([given('a'), given('b', more)], [paid]), {
    code: 'field.invalid',
    message: `configuration: \`/host/budgets/1\`: budget \`b\` of ${said}`,
    data: { pointer: '/host/budgets/1' },
    help: `raise the limit, or declare less: ${help}`,
  })
})

test('every version of a capability must have room in its budgets, and no capability of others [H-99]', () => {
  const slow = named('a.b', { version: '2.0.0', timeout_s: 60 })
  const budget = given('b', { applies_to: ['a.b'], time_ms: 30_000 })
  assert.equal(compileBudgets([budget], [named('a.b'), named('a.c', { timeout_s: 60 })]).size, 1)
  assert.throws(() => compileBudgets([budget], [named('a.b'), slow]), /30000 ms .* `a\.b`, which may take 60000/)
})

test('a budget with exactly the room of one call is accepted, and one with any less is not [H-99]', () => {
  const near = (most: number) => fc.option(fc.integer({ min: most - 2, max: most + 2 }), { nil: undefined })
  const some = fc.record({ calls: near(3), time_ms: near(2000), cost: near(3), bytes: near(100) })
  fc.assert(
    fc.property(some, (budget) => {
      fc.pre(Object.values(budget).some((limit) => limit !== undefined))
      const { calls = 1, time_ms = 2000, cost = 3, bytes = 100 } = budget
      const fits = calls >= 1 && time_ms >= 2000 && cost >= 2.5 && bytes >= 100
      const compile = () => compileBudgets([given('b', budget)], [paid])
      if (fits) assert.equal(compile().size, 1)
      else assert.throws(compile, { code: 'field.invalid' })
    }),
  )
})

test('what is used and what is wanted may fill a limit and not pass it [H-99]', () => {
  for (const measure of measures) {
    const lacking = (wanted: number, limit: number, used: number) =>
      lackingIn({ [measure]: wanted }, { [measure]: limit }, { [measure]: used })
    assert.equal(lacking(3, 10, 7), undefined)
    assert.equal(lacking(4, 10, 7), measure)
    assert.equal(lacking(0, 0, 0), undefined)
    assert.equal(lacking(1, 0, 0), measure)
    assert.equal(lackingIn({ [measure]: 11 }, { [measure]: 10 }, {}), measure)
    assert.equal(lackingIn({}, { [measure]: 10 }, { [measure]: 11 }), measure)
    assert.equal(lackingIn({ [measure]: 10 }, { [measure]: 10 }, {}), undefined)
    assert.equal(lackingIn({ [measure]: 99 }, {}, { [measure]: 99 }), undefined)
  }
})

test('of several measures that are short the first is told, and what has no limit is never short [H-99]', () => {
  const amount = fc.option(fc.nat({ max: 4 }), { nil: undefined })
  const amounts = fc
    .record({ calls: amount, time_ms: amount, cost: amount, bytes: amount })
    .map((each) => Object.fromEntries(Object.entries(each).filter(([, many]) => many !== undefined)) as Amounts)
  fc.assert(
    fc.property(amounts, amounts, amounts, (wanted, limit, used) => {
      const short: Measure[] = []
      for (const measure of ['calls', 'time_ms', 'cost', 'bytes'] as const) {
        const left = (limit[measure] ?? Infinity) - (used[measure] ?? 0)
        if ((wanted[measure] ?? 0) > left) short.push(measure)
      }
      assert.equal(lackingIn(wanted, limit, used), short[0])
    }),
  )
})

test('cost is told as decimal text of units, all else as a whole number of its own [H-99]', () => {
  assert.deepEqual(
    measures.map((measure) => [amountOf(measure, 2_500_000), words[measure]]),
    [
      [2_500_000, 'calls'],
      [2_500_000, 'ms'],
      ['2.5', 'units'],
      [2_500_000, 'bytes'],
    ],
  )
})

test.each<[Budget['every'], string, string, string]>([
  ['hour', '2026-06-16T15:42:10.500Z', '2026-06-16T15:00:00.000Z', '2026-06-16T16:00:00.000Z'],
  ['hour', '2026-06-16T15:00:00.000Z', '2026-06-16T15:00:00.000Z', '2026-06-16T16:00:00.000Z'],
  ['hour', '2026-06-16T14:59:59.999Z', '2026-06-16T14:00:00.000Z', '2026-06-16T15:00:00.000Z'],
  ['day', '2026-06-16T23:59:59.999Z', '2026-06-16T00:00:00.000Z', '2026-06-17T00:00:00.000Z'],
  ['day', '2026-06-17T00:00:00.000Z', '2026-06-17T00:00:00.000Z', '2026-06-18T00:00:00.000Z'],
  ['month', '2026-06-16T15:42:10.500Z', '2026-06-01T00:00:00.000Z', '2026-07-01T00:00:00.000Z'],
  ['month', '2026-12-31T23:59:59.999Z', '2026-12-01T00:00:00.000Z', '2027-01-01T00:00:00.000Z'],
  ['month', '2027-01-01T00:00:00.000Z', '2027-01-01T00:00:00.000Z', '2027-02-01T00:00:00.000Z'],
  ['month', '2028-02-29T12:00:00.000Z', '2028-02-01T00:00:00.000Z', '2028-03-01T00:00:00.000Z'],
  [1, '2026-06-16T15:42:10.500Z', '2026-06-16T15:42:10.000Z', '2026-06-16T15:42:11.000Z'],
  [90, '1970-01-01T00:03:00.000Z', '1970-01-01T00:03:00.000Z', '1970-01-01T00:04:30.000Z'],
  [90, '1970-01-01T00:04:29.999Z', '1970-01-01T00:03:00.000Z', '1970-01-01T00:04:30.000Z'],
])('every %s, at %s the budget is that from %s to %s [H-99]', (every, now, starts, ends) => {
  const { startsAtMs, endsAtMs } = windowOf(every, Date.parse(now))
  assert.deepEqual([new Date(startsAtMs).toISOString(), new Date(endsAtMs).toISOString()], [starts, ends])
})

test('every instant lies in one while, and the next begins where it ends [H-99]', () => {
  const every = fc.oneof(
    fc.constantFrom('hour' as const, 'day' as const, 'month' as const),
    fc.integer({ min: 1, max: 366 * 86_400 }),
  )
  const instant = fc.integer({ min: 0, max: Date.UTC(2100, 0, 1) })
  fc.assert(
    fc.property(every, instant, (each, now) => {
      const window = windowOf(each, now)
      assert(window.startsAtMs <= now && now < window.endsAtMs)
      assert.deepEqual(windowOf(each, window.startsAtMs), window)
      assert.deepEqual(windowOf(each, window.endsAtMs - 1), window)
      assert.equal(windowOf(each, window.endsAtMs).startsAtMs, window.endsAtMs)
    }),
  )
})

test('what a capability does not declare is counted at its most: the longest call, the largest result [H-99]', () => {
  const quiet = (more: Partial<Budget>) => compileBudgets([given('b', more)], [named('a.b')])
  assert.equal(quiet({ time_ms: limits.callTimeoutMs, bytes: limits.eventBytesMax, cost: 0 }).size, 1)
  assert.throws(() => quiet({ time_ms: limits.callTimeoutMs - 1 }), /has no room/)
  assert.throws(() => quiet({ bytes: limits.eventBytesMax - 1 }), /has no room/)
})

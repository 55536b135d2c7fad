import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { beyond, type Taken } from '../../../test/support/budget-reference.ts'
import { anyone, givenHost, stillClock } from '../../../test/support/host.ts'
import type { Budget } from '../../model/config/budget.ts'
import type { InvocationResult } from '../../model/wire/result.ts'
import { makeOffer } from '../../runtime/hosting/offer.ts'
import type { CallCaller } from '../call.ts'
import { defineCapability } from '../capability.ts'

const worst = {
  'test.large': { calls: 1, time_ms: 60_000, cost: 3_000_000, bytes: 60 },
  'test.small': { calls: 1, time_ms: 20_000, cost: 500_000, bytes: 30 },
} as const
const capabilityIds = Object.keys(worst) as (keyof typeof worst)[]

const budgets = fc
  .array(
    fc.record({
      per: fc.uniqueArray(fc.constantFrom('tenant', 'principal', 'history', 'capability'), { minLength: 1 }),
      applies_to: fc.constantFrom(['*'], ['test.large'], ['test.s*']),
      every: fc.constantFrom('hour', 'day', 'month', 7_000),
      limits: fc.record(
        {
          calls: fc.integer({ min: 1, max: 6 }),
          time_ms: fc.integer({ min: 60_000, max: 200_000 }),
          cost: fc.integer({ min: 300, max: 1_200 }).map((cents) => (cents / 100).toFixed(2)),
          bytes: fc.integer({ min: 60, max: 200 }),
        },
        { requiredKeys: [] },
      ),
    }),
    { minLength: 1, maxLength: 3 },
  )
  .map((list) =>
    list.map(({ limits, ...rest }) => ({ ...rest, calls: 9, ...limits }) as unknown as Omit<Budget, 'name'>),
  )

const steps = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        call: fc.constantFrom(...capabilityIds),
        who: fc.constantFrom('ann', 'bob'),
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        finish: fc.nat(20),
        size: fc.nat(28),
        cost: fc.option(fc.constantFrom('0', '0.25', '0.5'), { nil: undefined }),
      }),
    },
    { weight: 2, arbitrary: fc.record({ advance: fc.constantFrom(1, 999, 30_000, 3_600_000, 7_000_000, 86_400_000) }) },
  ),
  { minLength: 5, maxLength: 40 },
)

test('budgets answer as a slow reference does that adds up every call there was [H-99]', async () => {
  const world = await givenWorld()
  await fc.assert(
    fc.asyncProperty(budgets, steps, async (wished, list) => {
      const named = world.offer(wished)
      const running: Running[] = []
      const ledger: Taken[] = []
      for (const step of list) {
        if ('advance' in step) world.clock.advance(step.advance)
        else if ('finish' in step) await finish(running, step, world.clock.now())
        else await begin(world, named, ledger, running, step)
      }
      for (const _ of [...running]) await finish(running, { finish: 0, size: 1, cost: undefined }, world.clock.now())
    }),
    { numRuns: 150 },
  )
}, 60_000)

interface Running {
  readonly entry: Taken
  readonly result: Promise<InvocationResult>
  readonly end: (how: Ending) => void
}
interface Ending {
  readonly size: number
  readonly cost: string | undefined
}

/** A host whose handlers wait until they are told how to end. */
async function givenWorld() {
  const clock = stillClock(Date.parse('2026-01-30T20:00:00.000Z'))
  let told = (_: (how: Ending) => void): void => undefined
  const capabilities = capabilityIds.map((id) =>
    defineCapability(
      {
        id,
        version: '1.0.0',
        description: 'Waits.',
        policy: {},
        timeoutS: worst[id].time_ms / 1000,
        worstCase: { cost: String(worst[id].cost / 1e6), bytes: worst[id].bytes },
      },
      async (_, { spent }) => {
        const { size, cost } = await new Promise<Ending>((resolve) => told(resolve))
        if (cost !== undefined) spent(cost)
        return 'x'.repeat(size)
      },
    ),
  )
  const given = await givenHost({ capabilities }, { clock })
  let count = 0
  return {
    clock,
    offer: (wished: readonly Omit<Budget, 'name'>[]): readonly Budget[] => {
      const named = wished.map((budget) => ({ ...budget, name: `b${count++}` }))
      given.host.offer(makeOffer(given.host.hostId, { capabilities, budgets: named }))
      return named
    },
    /** Makes a call, and answers once its handler waits or it has ended. */
    call: async (who: string, id: string) => {
      const by: CallCaller = { ...anyone, subject: { id: who, verified: true }, name: who }
      const started = new Promise<(how: Ending) => void>((resolve) => {
        told = resolve
      })
      const result = given.call(by, { capability_id: id })
      return { result, end: await Promise.race([started, result.then(() => undefined)]) }
    },
  }
}

async function begin(
  world: Awaited<ReturnType<typeof givenWorld>>,
  named: readonly Budget[],
  ledger: Taken[],
  running: Running[],
  { call: capability, who }: { readonly call: keyof typeof worst; readonly who: string },
): Promise<void> {
  const entry: Taken = { at: world.clock.now(), who, capability, amounts: { ...worst[capability] } }
  const expected = beyond(named, ledger, entry)
  const { result, end } = await world.call(who, capability)
  if (expected === undefined) {
    if (end === undefined) return assert.fail(JSON.stringify((await result).denial))
    ledger.push(entry)
    running.push({ entry, result, end })
    return
  }
  assert.equal(end, undefined)
  const { details } = (await result).denial ?? {}
  const used = details?.['measure'] === 'cost' ? Math.round(Number(details['used']) * 1e6) : details?.['used']
  assert.deepEqual({ budget: details?.['budget'], measure: details?.['measure'], used }, expected)
}

async function finish(running: Running[], { finish: at, ...how }: Ending & { finish: number }, now: number) {
  const [ended] = running.splice(at % Math.max(1, running.length), 1)
  if (ended === undefined) return
  ended.end(how)
  assert.equal((await ended.result).success, true)
  const { amounts, at: began } = ended.entry
  amounts.time_ms = now - began
  amounts.bytes = how.size + 2
  if (how.cost !== undefined) amounts.cost = Math.round(Number(how.cost) * 1e6)
}

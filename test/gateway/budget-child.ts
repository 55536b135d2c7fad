// One process of a test of budgets and histories: `node budget-child.ts <world as JSON> <task> <name>`. Says `ready`,
// waits for a line, does its task and says what came of it, one line of JSON for each call.
//   spend <n>       makes as many calls as it is told, many at a time
//   mix <n>         the same outside; the process with the number 0 reads confidential data in between
//   die <point>     makes one call and ends itself, as a power cut would, at a named point
//   recover         a minute later: opens the gateway, which tidies up

import { once } from 'node:events'
import { writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { defineCapability } from '../../src/gateway/capability.ts'
import { openHost } from '../../src/runtime/hosting/host.ts'
import { makeOffer, type OfferSpec } from '../../src/runtime/hosting/offer.ts'
import { authenticate } from '../../src/runtime/identity/api-keys.ts'
import { callerOf } from '../../src/runtime/identity/caller.ts'
import { openAmbit, type Runtime } from '../../src/runtime/runtime.ts'
import { tenant, type World } from './world.ts'

const [, , json = '', task = '', name = ''] = process.argv
const world = JSON.parse(json) as World
const say = (value: unknown): number => writeSync(1, `${JSON.stringify(value)}\n`)

function die(): Promise<never> {
  process.kill(process.pid, 'SIGKILL')
  return new Promise(() => undefined)
}
const at = (point: string): unknown => (task === 'die' && name === point ? die() : undefined)

const describe = { version: '1.0.0', description: 'For a test.', policy: { auth_required: true } }
const pay = defineCapability(
  {
    ...describe,
    id: 'test.pay',
    effects: ['money.move'],
    worstCase: { cost: 2, bytes: 1_000 },
    // Nothing is ever paid before the handler is through.
    reconcile: ({ invocationId }) => ({ effect: invocationId.includes('outcome') ? 'done' : 'none' }),
  },
  async (_, { spent }) => {
    await at('in the handler')
    spent('0.5')
    return 'paid'
  },
)
const outside = defineCapability({ ...describe, id: 'web.weather', network: 'external' }, () => 'rain')
const read = defineCapability(
  { ...describe, id: 'ward.patients', policy: { ...describe.policy, data_classification: 'confidential' } },
  () => 'names',
)

const offer: OfferSpec = {
  capabilities: [pay, outside, read],
  policies: [
    {
      name: 'inside',
      version: '1',
      applies_to: ['web.*'],
      rules: [
        { id: 'any', when: true, decision: 'allow' },
        { id: 'tainted', when: { in: ['confidential', { var: 'history.classes' }] }, decision: 'deny' },
      ],
    },
  ],
  // So long a while that a test does not see its end.
  budgets: [
    { name: 'planner', per: 'principal', applies_to: ['test.*'], calls: 60, bytes: 1e9, cost: 1e6, every: 31_536_000 },
  ],
}

/** The store, with a place to die after the intent and before the outcome. */
const withPoints = (ambit: Runtime): Runtime => ({
  ...ambit,
  store: {
    ...ambit.store,
    commit: async (of, commit) => {
      const starts = commit.events.some(({ event_type }) => event_type === 'execution_started')
      if (!starts) await at('before the outcome is written')
      const written = await ambit.store.commit(of, commit)
      await at(starts ? 'after the intent is written' : 'after the outcome is written')
      return written
    },
  },
})

const told = createInterface({ input: process.stdin })
const laterMs = task === 'recover' ? 60_000 : 0
const ambit = await openAmbit({ folder: world.folder, env: {} }, { now: () => Date.now() + laterMs })
const host = await openHost(withPoints(ambit), tenant, (hostId) => makeOffer(hostId, offer), { presenceMs: 20_000 })
const planner = callerOf(await authenticate(ambit, world.secrets[0]))
const call = async (capability_id: string, more: object = {}) => {
  const { outcome, denial } = (await host.gateway.invoke(planner, { capability_id, ...more })).result
  say({ capability_id, outcome, denial })
}

say('ready')
const [line] = await once(told, 'line')
if (task === 'die') await call('test.pay', { invocation_id: name })
if (task === 'spend') await inLanes(Number(line), () => call('test.pay'))
if (task === 'mix')
  await inLanes(Number(line), (turn) => call(name === '0' && turn === 20 ? 'ward.patients' : 'web.weather'))
await host.close()
await ambit.close()
told.close()

async function inLanes(count: number, act: (turn: number) => Promise<void>): Promise<void> {
  let turn = 0
  const lane = async (): Promise<void> => {
    while (turn < count) await act(turn++)
  }
  await Promise.all(Array.from({ length: 8 }, lane))
}

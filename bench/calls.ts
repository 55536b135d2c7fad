import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { conformanceOffer } from '../src/chp/conformance.ts'
import { makeSeal } from '../src/evidence/seal.ts'
import type { CallCaller } from '../src/gateway/call.ts'
import { tenantId } from '../src/model/identity/tenant-id.ts'
import { type AmbitHost, openHost } from '../src/runtime/hosting/host.ts'
import { defineCapability, makeOffer, type Offer } from '../src/runtime/hosting/offer.ts'
import { createTenant } from '../src/runtime/identity/tenants.ts'
import { openAmbit, type Runtime } from '../src/runtime/runtime.ts'
import { load, started } from './http.ts'
import { type Bench, median, type Row } from './measure.ts'
import { draftOf } from './records.ts'

/** B1 to B8 of docs/benchmarks.md: one echo per call, ids minted by the host, durability in the name of each row. */
const bench: Bench = async () => [
  ...(await inProcess()),
  await grown('events', 10_000),
  await grown('correlations', Number.POSITIVE_INFINITY),
  ...(await overHttp('ours', 1, { B6: 2_009, B8: 5 * 374 })),
  ...(await overHttp('ours', 16, { B6: 3_146, B8: 5 * 440 })),
  ...(await overHttp('fixture', 1, { B7: 1_566, B8: 5 * 299 })),
  ...(await overHttp('fixture', 16, { B7: 2_096, B8: 5 * 248 })),
]
export default bench

const tenant = tenantId('bench')
const memory = { driver: 'sqlite', path: ':memory:' }
const file = { driver: 'sqlite', path: 'bench.db', durability: 'normal' }
const echo = defineCapability(
  { id: 'bench.echo', version: '1.0.0', description: 'Says it again.', policy: { auth_required: false } },
  (input) => ({ echo: (input as { value: string }).value }),
)
const bare = (hostId: string): Offer => makeOffer(hostId, { capabilities: [echo] })
const caller: CallCaller = { subject: null, name: 'shared', scopes: [], permissions: [], revokedPermissions: [] }
const times = 1_000

interface Side {
  readonly store: object
  readonly offer: (hostId: string) => Offer
  readonly envelope: object
}

const fresh = { capability_id: 'bench.echo', payload: { value: 'x' } }
const fixture = { ...fresh, capability_id: 'conformance.echo' }

const inProcess = async (): Promise<Row[]> => [
  atMost('B1 fresh correlations, memory', 77, await cost({ store: memory, offer: bare, envelope: fresh })),
  atMost(
    'B1 one correlation, memory',
    54,
    await cost({ store: memory, offer: bare, envelope: { ...fresh, correlation: { correlation_id: 'one' } } }),
  ),
  atMost('B2 fixture, memory', 203, await cost({ store: memory, offer: conformanceOffer, envelope: fixture })),
  atMost('B4 file, normal sync', 795 / 3, await cost({ store: file, offer: bare, envelope: fresh })),
  atMost(
    'B5 fixture, file, normal sync',
    1_689 / 3,
    await cost({ store: file, offer: conformanceOffer, envelope: fixture }),
  ),
]

const atMost = (name: string, goal: number, ours: number): Row => ({
  name,
  unit: 'µs CPU/call',
  ours,
  peer: goal,
  peerName: 'goal',
  ratio: goal / ours,
  goal: 'ratio ≥ 1',
  met: ours <= goal,
})

const cost = ({ store, offer, envelope }: Side): Promise<number> =>
  withHost(store, offer, async (host) => {
    await cpu(host, envelope)
    const rounds: number[] = []
    for (let round = 0; round < 5; round++) rounds.push(await cpu(host, envelope))
    return Math.min(...rounds)
  })

/** Microseconds of processor time for one call. */
async function cpu({ gateway }: AmbitHost, envelope: object): Promise<number> {
  const before = process.cpuUsage()
  for (let left = times; left > 0; left--) await gateway.invoke(caller, envelope)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / times
}

/** B3: the cost with much stored beside the cost with nothing, by turns. */
const grown = (what: string, correlations: number): Promise<Row> =>
  withHost(memory, bare, (small) =>
    withHost(memory, bare, async (large, ambit) => {
      const seal = makeSeal({ hostId: large.hostId, tenant })
      for (let left = stored; left > 0; left -= 500)
        await ambit.store.commit(tenant, {
          events: Array.from({ length: 500 }, () => draftOf(300, Math.min(correlations, stored))),
          seal,
        })
      const [empty, full]: [number[], number[]] = [[], []]
      for (let round = 0; round < 9; round++) {
        empty.push(await cpu(small, fresh))
        full.push(await cpu(large, fresh))
      }
      const [ours, peer] = [median(full), median(empty)]
      const name = `B3 ${stored.toLocaleString('en-US')} ${what} stored, memory`
      const measured = { ours, peer, peerName: 'the same, empty store', ratio: peer / ours }
      return { name, unit: 'µs CPU/call', ...measured, goal: 'ratio ≥ 0.9', met: peer / ours >= 0.9 }
    }),
  )

const stored = 100_000

/** One measurement, held against the goal of every row it stands for. */
async function overHttp(
  side: 'ours' | 'fixture',
  connections: number,
  goals: Readonly<Record<string, number>>,
): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-bench-'))
  const { url, stop } = await started(side, folder)
  const capability = side === 'ours' ? 'bench.echo' : 'conformance.echo'
  const run = () => load(url, { amount: 100 * connections + 200, connections, capability })
  await run()
  const ours = Math.max(await run(), await run())
  await stop()
  rmSync(folder, { recursive: true })
  return Object.entries(goals).map(([name, goal]) => ({
    name: `${name} HTTP ${side === 'ours' ? 'bare' : 'fixture'}, file, full sync, ${connections} at once`,
    unit: 'calls/s',
    ours,
    peer: goal,
    peerName: 'goal',
    ratio: ours / goal,
    goal: 'ratio ≥ 1',
    met: ours >= goal,
  }))
}

async function withHost<T>(
  store: object,
  offer: (hostId: string) => Offer,
  act: (host: AmbitHost, ambit: Runtime) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-bench-'))
  writeFileSync(join(folder, 'ambit.config.json'), JSON.stringify({ store }))
  const ambit = await openAmbit({ folder, env: {} })
  try {
    await createTenant(ambit, { id: tenant })
    const host = await openHost(ambit, tenant, offer)
    return await act(host, ambit).finally(() => host.close())
  } finally {
    await ambit.close()
    rmSync(folder, { recursive: true })
  }
}

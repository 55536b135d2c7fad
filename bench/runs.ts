import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createAmbit } from '../src/library/create-ambit.ts'
import type { Ambit } from '../src/operations/ambit.ts'
import { defineAgent } from '../src/runtime/agents/agent.ts'
import { scriptedModel } from '../src/testing/scripted-model.ts'
import { type Bench, median, type Row, rate } from './measure.ts'

/** A run of an agent from its start to its end: a turn, one call of a resource, a turn, with record and evidence. */
const bench: Bench = async () => [
  ...(await throughput('in memory', undefined, [[16, 1_800]])),
  ...(await throughput('SQLite, normal', 'normal', [
    [16, 1_500],
    [1, 700],
  ])),
  ...(await throughput('SQLite, full', 'full', [
    [16, 1_500],
    [1, 350],
  ])),
  await statements(),
  await conversation(),
]
export default bench

const model = scriptedModel((request) =>
  request.messages.at(-1)?.role === 'tool' ? 'done' : { calls: [{ name: 'memory_read', args: {} }] },
)
const desk = defineAgent({
  id: 'desk',
  instruction: 'You are the desk.',
  model,
  resources: { memory: { mode: 'read-write' } },
})
const talker = defineAgent({ id: 'talker', instruction: 'You talk.', model: scriptedModel(() => 'yes') })

async function withAmbit<T>(durability: 'normal' | 'full' | undefined, act: (ambit: Ambit) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-bench-'))
  const store = { driver: 'sqlite', path: join(folder, 'ambit.db'), durability } as const
  const ambit = await createAmbit({ agents: [desk, talker], ...(durability && { folder, store }) })
  try {
    return await act(ambit)
  } finally {
    await ambit.close()
    rmSync(folder, { recursive: true })
  }
}

async function oneRun(ambit: Ambit): Promise<void> {
  const run = await ambit.run('desk', 'What do you know?', { context: ['acme/user/u_123'] })
  const { status, error } = await run.result()
  if (status !== 'completed') throw new Error(`the run ended ${status}: ${error?.message}`)
}

/** So many at a time; the median of five rounds, with the CPU time of one run beside it. */
const throughput = (
  name: string,
  durability: 'normal' | 'full' | undefined,
  goals: readonly (readonly [side: number, goal: number])[],
): Promise<readonly Row[]> =>
  withAmbit(durability, async (ambit) => {
    const rows: Row[] = []
    for (let warm = 0; warm < 100; warm++) await oneRun(ambit)
    for (const [side, goal] of goals) {
      const rounds: { readonly perSecond: number; readonly cpu: number }[] = []
      for (let round = 0; round < 5; round++) rounds.push(await measure(ambit, side, side === 1 ? 200 : 600))
      const ours = median(rounds.map(({ perSecond }) => perSecond))
      const cpu = median(rounds.map((each) => each.cpu))
      rows.push({
        ...{ name: `runs, ${name}, ${side} at a time`, unit: 'runs/s', ours, peer: cpu, peerName: 'CPU µs of one' },
        ...{ ratio: ours / goal, goal: `ours ≥ ${goal}`, met: ours >= goal },
      })
    }
    return rows
  })

async function measure(ambit: Ambit, side: number, runs: number) {
  const before = process.cpuUsage()
  let left = runs
  const one = async (): Promise<void> => {
    while (left-- > 0) await oneRun(ambit)
  }
  const perSecond = await rate(runs, () => Promise.all(Array.from({ length: side }, one)))
  const { user, system } = process.cpuUsage(before)
  return { perSecond, cpu: (user + system) / runs }
}

/** What one run asks of the database beside its calls: those without the call's own claim, budget, events and tool. */
const statements = (): Promise<Row> =>
  withAmbit(undefined, async (ambit) => {
    await oneRun(ambit)
    const [count, stop] = countStatements()
    await (await ambit.run('talker', 'x', { context: ['acme/user/u_123'] })).result()
    stop()
    const ours = count()
    return {
      ...{
        name: 'statements of a run without a call',
        unit: 'statements',
        ours,
        peer: 22,
        peerName: 'published system',
      },
      ...{ ratio: ours / 22, goal: 'ours ≤ 10', met: ours <= 10 },
    }
  })

/** Counts what is sent to SQLite, but for the beginning and end of transactions. */
function countStatements(): readonly [count: () => number, stop: () => void] {
  let seen = 0
  const names = ['run', 'get', 'all'] as const
  const probe = new DatabaseSync(':memory:').prepare('SELECT 1')
  const prototype = Object.getPrototypeOf(probe) as Record<string, (...given: unknown[]) => unknown>
  const kept = names.map((name) => prototype[name])
  for (const [index, name] of names.entries()) {
    prototype[name] = function (this: { sourceSQL: string }, ...given) {
      if (!/^(?:BEGIN|COMMIT|ROLLBACK)/.test(this.sourceSQL)) seen++
      return kept[index]?.apply(this, given)
    }
  }
  return [
    () => seen,
    () => {
      for (const [index, name] of names.entries()) Object.assign(prototype, { [name]: kept[index] })
    },
  ]
}

/** A turn of a conversation that has 4,000 turns already, beside one of its first hundred. */
const conversation = (): Promise<Row> =>
  withAmbit(undefined, async (ambit) => {
    const turns = async (count: number): Promise<number> => {
      const before = process.cpuUsage()
      for (let turn = 0; turn < count; turn++) await (await ambit.run('talker', 'on', { sessionId: 's' })).result()
      const { user, system } = process.cpuUsage(before)
      return (user + system) / count
    }
    await turns(100)
    const first = await turns(200)
    await turns(3_600)
    const last = await turns(200)
    return {
      ...{ name: 'a turn after 4,000 turns, CPU', unit: 'µs', ours: last, peer: first, peerName: 'after 100' },
      ...{ ratio: last / first, goal: 'ratio ≤ 1.2', met: last / first <= 1.2 },
    }
  })

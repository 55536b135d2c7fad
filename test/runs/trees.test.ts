import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { tenantId } from '../../src/model/identity/tenant-id.ts'
import { entriesWithin, stepsOf } from '../../src/storage/entries/entries.ts'
import { amendTenant } from '../../src/storage/tables/tenants.ts'
import { agent, calls, type GivenRuns, givenRuns } from '../support/runs.ts'
import { sweep } from '../support/sweep.ts'
import { agentsOf } from '../support/tree-agents.ts'
import { type Observer, openObserver, seedAt } from '../support/tree-observer.ts'
import { anyTree, places, roots, type Tree, type Truth, truthOf } from '../support/trees.ts'

const local = tenantId('local')
const batch = 25

/** Runs trees side by side on one Ambit, in which something lies at every place before. */
async function grow(trees: readonly Tree[], believe: (truth: Truth) => Truth = (truth) => truth) {
  const observer = openObserver()
  const all = trees.map((tree, index) => ({ tree, id: `t${index}x` }))
  const resources = { lies: { mode: 'read-write' }, memory: { mode: 'read-write' } } as const
  const seeder = agent(
    'seeder',
    ({ messages }) => {
      const place = messages[0]?.content ?? ''
      return messages.length > 1
        ? 'done'
        : calls('lies_write', ['memory_write', { content: seedAt(place), topics: [`t:${place}`] }])
    },
    { resources },
  )
  const agents = [seeder, ...all.flatMap(({ tree, id }) => agentsOf(tree.top, id, observer))]
  const given = await givenRuns({ agents, providers: [observer.provider] }, { roots: ['a', 'ab', 'a-b'], served: true })
  await Promise.all(places.map((place) => given.run('seeder', place, { context: [place] })))
  await given.runtime.store.write(
    local,
    amendTenant((tenant) => ({ ...tenant, roots: [...roots] })),
  )
  for (const { tree, id } of all)
    for (const [agentId, truth] of truthOf(tree, id)) observer.truths.set(agentId, believe(truth))
  const limits = { calls: 10_000 }
  const ended = await Promise.all(
    all.map(({ tree, id }) => given.run(id, 'go', { context: [...tree.context], limits })),
  )
  for (const { run_id } of ended) await lookAtRuns(given, observer, run_id)
  await lookAtStore(given, observer)
  await given.close()
  return observer
}

/** Every run that must have started has, with what it holds in truth, and no other; it went on whatever it was refused. */
async function lookAtRuns(given: GivenRuns, { truths, violations }: Observer, root: string): Promise<void> {
  const { runs } = await given.ambit.runs.list({ root, limit: 200 })
  for (const { agent_id, grants, ceilings, modes, status, error } of runs) {
    const truth = truths.get(agent_id)
    const held = grants.map(({ path }) => path)
    const own = Object.fromEntries(Object.entries(truth?.resources ?? {}).map(([name, { mode }]) => [name, mode]))
    const [is, should] = [
      { held, ceilings, modes },
      truth && { held: truth.grants, ceilings: truth.ceilings, modes: own },
    ].map(sorted)
    if (is !== should) violations.push(`${agent_id}: holds ${is}, not ${should}`)
    if (status !== 'completed') violations.push(`${agent_id}: ${status} ${error?.code}`)
  }
  const tree = runs.at(-1)?.agent_id ?? ''
  const expected = [...truths.keys()].filter((id) => id.startsWith(tree))
  const started = runs.map(({ agent_id }) => agent_id)
  if (sorted(started.toSorted()) !== sorted(expected.toSorted()))
    violations.push(`${tree}: starts ${started}, not ${expected}`)
  for (const { type, data } of await given.events(root)) {
    const { tool, error } = data as { tool: string; error?: { code: string } | null }
    if (type === 'tool.finished' && error != null && !typed.test(error.code))
      violations.push(`${tree}: ${tool} ${error.code}`)
  }
}

const typed =
  /^(?:args_invalid|capability_unsurfaced|grant_(?:missing|outside_parent)|resource_(?:read_only|ceiling|scope_denied|scope_violation)|memory_(?:conflict|not_found)|run_depth_exceeded)$/

const sorted = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).toSorted())
      : part,
  )

/** Whatever is kept, and whatever was done with it, is the work of a run that might do so there. */
async function lookAtStore(
  { runtime: { store } }: GivenRuns,
  { violations, mayTouch, counts }: Observer,
): Promise<void> {
  for (const scope of ['a', 'ab', 'a-b'])
    for (const entry of await store.read(() => entriesWithin(local, { scope, recursive: true })))
      for (const step of await store.read(() => stepsOf(local, entry))) {
        const by = String(step['agent_id'])
        if (by === 'seeder') continue
        counts.writes++
        if (!mayTouch(by, entry.collection, entry.scope, 'write'))
          violations.push(`${by}: ${step.action} at ${entry.scope}`)
      }
}

const anyTrees = fc.array(anyTree, { minLength: batch, maxLength: batch })

test('in no tree of agents that lie and widen does a run read or write outside its grants, and each goes on [G-02 G-03 G-33 G-35 G-56]', {
  timeout: 900_000,
}, async () => {
  const total = { reads: 0, writes: 0, refusals: 0, shown: 0 }
  const numRuns = sweep(300, 10_000) / batch
  await fc.assert(
    fc.asyncProperty(anyTrees, async (trees) => {
      const { violations, counts } = await grow(trees)
      assert.deepEqual(violations, [])
      for (const name of ['reads', 'writes', 'refusals', 'shown'] as const) total[name] += counts[name]
    }),
    // What fails says its seed, and is not made smaller: that would take long.
    { numRuns, endOnFailure: true },
  )
  const least = { reads: 100, writes: 2, refusals: 100, shown: 50 }
  for (const name of ['reads', 'writes', 'refusals', 'shown'] as const)
    assert(total[name] > least[name] * numRuns, `${name}: ${total[name]}`)
})

test('an observer who believes that runs hold less finds each thing that they do beyond that [G-02]', async () => {
  const [trees = []] = fc.sample(anyTrees, { numRuns: 1, seed: 7 })
  const { violations } = await grow(trees, (truth) => ({ ...truth, grants: [], resources: {} }))
  for (const found of [/calls lies_read, which/, /is shown a/, /stored at a/, /holds .*not/])
    assert(
      violations.some((each) => found.test(each)),
      String(found),
    )
  const none = (truth: Truth): Truth['resources'] =>
    Object.fromEntries(Object.entries(truth.resources).map(([name, each]) => [name, { ...each, grants: [] }]))
  const { violations: others } = await grow(trees, (truth) => ({ ...truth, resources: none(truth) }))
  for (const found of [/reads a/, /looks at a/, /writes to a.* by write/, /is told read-write of a/])
    assert(
      others.some((each) => found.test(each)),
      String(found),
    )
})

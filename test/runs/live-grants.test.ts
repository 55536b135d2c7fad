import assert from 'node:assert/strict'
import { test } from 'vitest'
import type { RunRecord } from '../../src/model/run.ts'
import type { Ambit } from '../../src/operations/ambit.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { tempFolder } from '../cli/given.ts'
import { callsOnce, codeAgent, pathsIn, runsByAgent } from '../support/run-trees.ts'
import { agent, calls, finishedIn, type GivenRuns, givenRuns, notes } from '../support/runs.ts'

const reads = { resources: { notes: {} } }

test('a grant admits calls until the instant of its expiry, and none from then on [G-26]', async () => {
  const { provider, told } = notes()
  const start = Date.parse('2026-06-16T15:00:00.000Z')
  const times = [0, 59_999, 60_000, 60_001]
  const desk = agent(
    'desk',
    ({ messages }) => {
      const at = times[messages.filter(({ role }) => role === 'tool').length]
      if (at === undefined) return 'done'
      given.clock.advance(start + at - given.clock.now())
      return calls('notes_read')
    },
    reads,
  )
  const given = await givenRuns({ agents: [desk], providers: [provider] })
  const run = await given.run('desk', 'go', { context: [{ path: 'acme', expiresAt: '2026-06-16T15:01:00.000Z' }] })
  const late = 'notes_read rejected grant_expired'
  assert.deepEqual(finishedIn(await given.events(run.run_id)), ['notes_read ok', 'notes_read ok', late, late])
  assert.deepEqual([run.status, told.length], ['completed', 2])
})

const targets: Readonly<Record<Parameters<Ambit['grants']['revoke']>[0], (root: RunRecord) => string>> = {
  grant: ({ grants }) => grants[0]?.id ?? '',
  run: ({ run_id }) => run_id,
  subject: ({ subject }) => subject.id,
  path: () => 'acme',
}

/** A run that reads, is told that its grants are revoked, and reads again; so does a child of it. */
async function givenRevoked(revoke: (given: GivenRuns, root: RunRecord) => Promise<unknown>) {
  const { provider, told } = notes()
  const child = agent(
    'child',
    async ({ messages }) => {
      const answered = messages.filter(({ role }) => role === 'tool').length
      if (answered === 1) await revoke(given, await rootOf(given))
      return answered === 2 ? 'done' : calls('notes_read')
    },
    reads,
  )
  const top = agent(
    'top',
    ({ messages }) =>
      [calls(['agent_child', { input: 'go' }]), calls('notes_read')][
        messages.filter(({ role }) => role === 'tool').length
      ] ?? 'done',
    { ...reads, tools: [child] },
  )
  const given = await givenRuns({ agents: [top], providers: [provider] })
  return { ...given, told }
}

const rootOf = async ({ ambit }: GivenRuns): Promise<RunRecord> =>
  (await ambit.runs.list({ agent: 'top' })).runs[0] ?? assert.fail('no run')

test.each(Object.entries(targets))(
  'after a revocation by %s no call starts, in a child as in its root, and both go on [G-27 G-34]',
  async (by, targetOf) => {
    const given = await givenRevoked(({ ambit }, root) =>
      ambit.grants.revoke(by as keyof typeof targets, targetOf(root)),
    )
    const run = await given.run('top', 'go', { context: ['acme'] })
    const late = 'notes_read rejected grant_revoked'
    assert.deepEqual(finishedIn(await given.events(run.run_id)), ['notes_read ok', late, 'agent_child ok', late])
    assert.deepEqual([run.status, given.told.length], ['completed', 1])
  },
)

test('a derived grant lives as long as one of those it derives from; what covers a revoked path above is told [G-27 G-34]', async () => {
  const reports: unknown[] = []
  const given = await givenRevoked(async ({ ambit }, root) => {
    const report = await ambit.grants.revoke('grant', root.grants[0]?.id ?? '')
    reports.push(report.ended.map(({ path }) => path))
  })
  const run = await given.run('top', 'go', { context: ['acme', 'acme/eu'] })
  assert.deepEqual(finishedIn(await given.events(run.run_id)), [
    'notes_read ok',
    'notes_read ok',
    'agent_child ok',
    'notes_read ok',
  ])
  assert.deepEqual(
    given.told.map(({ grants }) => grants),
    [['acme', 'acme/eu'], ['acme/eu'], ['acme/eu']],
  )
  const below = await givenRevoked(async ({ ambit }) => {
    const { ended, ancestors_left } = await ambit.grants.revoke('path', 'acme/eu')
    reports.push([ended, ancestors_left].map((grants) => [...new Set(grants.map(({ path }) => path))]))
  })
  await below.run('top', 'go', { context: ['acme', 'acme/eu', 'acme/eu/x', 'beta'] })
  assert.deepEqual(below.told.at(-1)?.grants, ['acme', 'beta'])
  assert.deepEqual(reports.at(-1), [['acme/eu', 'acme/eu/x'], ['acme']])
})

test('a call under way is taken back by a revocation, and what it reads too late no model sees [G-27]', async () => {
  const { provider, hold } = notes()
  const requests: string[] = []
  const desk = agent(
    'desk',
    (request) => {
      requests.push(JSON.stringify(request.messages))
      return requests.length === 1 ? calls('notes_read') : 'done'
    },
    reads,
  )
  const given = await givenRuns({ agents: [desk], providers: [provider] })
  const { begun, release } = hold()
  const run = await given.ambit.run('desk', 'go', { context: ['acme'] })
  const context = await begun
  await given.ambit.grants.revoke('run', run.id)
  assert.equal(context.signal.aborted, true)
  release()
  const record = await run.result()
  assert.equal(record.status, 'completed')
  const [end = ''] = finishedIn(await given.events(run.id))
  assert.match(end, /^notes_read (rejected|failed) /)
  assert.doesNotMatch(JSON.stringify([requests, await given.events(run.id)]), /the notes/)
})

test('what is read before, and answered after, a revocation in another process no model sees [G-27]', async () => {
  const { provider, hold } = notes()
  const desk = agent('desk', [calls('notes_read'), 'done'], reads)
  const folder = tempFolder()
  const given = await givenRuns({ agents: [desk], providers: [provider] }, { folder })
  const other = await givenRuns({ agents: [] }, { folder })
  const { begun, release } = hold()
  const run = await given.ambit.run('desk', 'go', { context: ['acme'] })
  await begun
  await other.ambit.grants.revoke('path', 'acme')
  release()
  assert.equal((await run.result()).status, 'completed')
  const events = await given.events(run.id)
  assert.deepEqual(finishedIn(events), ['notes_read rejected grant_revoked'])
  assert.doesNotMatch(JSON.stringify(events), /the notes/)
})

test('what a call under way reads of a grant that was revoked no model sees, though others live on [G-27]', async () => {
  const { provider, hold, told } = notes()
  const desk = agent('desk', [calls('notes_read'), calls('notes_read'), 'done'], reads)
  const given = await givenRuns({ agents: [desk], providers: [provider] })
  const { begun, release } = hold()
  const run = await given.ambit.run('desk', 'go', { context: ['acme', 'beta'] })
  const { signal } = await begun
  await given.ambit.grants.revoke('path', 'acme')
  assert.equal(signal.aborted, true)
  release()
  await run.result()
  assert.deepEqual(
    told.map(({ grants }) => grants),
    [['acme', 'beta'], ['beta']],
  )
  const [first, second] = finishedIn(await given.events(run.id))
  assert.match(first ?? '', /^notes_read (rejected grant_revoked|failed cancelled)$/)
  assert.equal(second, 'notes_read ok')
})

test('a prompt holds nothing that was revoked while it was gathered, and no provider is asked under it [G-27]', async () => {
  const asked: (readonly string[])[] = []
  const slow = notes({
    prompt: async ({ grants }) => {
      asked.push(grants)
      if (asked.length === 1) await given.ambit.grants.revoke('path', 'acme')
      return { result: `notes of ${grants}`, scopes: grants }
    },
  })
  const model = scriptedModel(() => 'done')
  const desk = agent('desk', [], { model, resources: { notes: {}, more: { kind: 'notes' } } })
  const given = await givenRuns({ agents: [desk], providers: [slow.provider] })
  await given.run('desk', 'go', { context: ['acme', 'beta'] })
  assert.deepEqual(asked, [['acme', 'beta'], ['beta'], ['beta']])
  assert.doesNotMatch(model.requests[0]?.system ?? '', /acme/)
  assert.match(model.requests[0]?.system ?? '', /notes of beta/)
})

test('of many runs that call all the time none starts a call once the revocation is there [G-27]', async () => {
  const { provider } = notes()
  let isRevoked = false
  const late: string[] = []
  const tools = Object.entries(provider.tools).map(([name, tool]) => {
    const run: typeof tool.run = (input, context) => {
      if (isRevoked && !context.signal.aborted) late.push(context.run.runId)
      return tool.run(input, context)
    }
    return [name, { ...tool, run }]
  })
  let turns = 0
  const half = Promise.withResolvers<void>()
  const desk = agent(
    'desk',
    ({ messages }) => {
      if (++turns === 60) half.resolve()
      return messages.length > 40 ? 'done' : calls('notes_read')
    },
    reads,
  )
  const given = await givenRuns({ agents: [desk], providers: [{ ...provider, tools: Object.fromEntries(tools) }] })
  const runs = await Promise.all(Array.from({ length: 8 }, () => given.ambit.run('desk', 'go', { context: ['acme'] })))
  await half.promise
  await given.ambit.grants.revoke('path', 'acme')
  isRevoked = true
  const ends = await Promise.all(runs.map((run) => run.result()))
  assert(ends.every(({ status }) => status === 'completed'))
  assert.deepEqual(late, [])
  const all = (await Promise.all(ends.map(({ run_id }) => given.events(run_id)))).flatMap((events) =>
    finishedIn(events),
  )
  assert(all.some((end) => end === 'notes_read ok') && all.some((end) => end.endsWith('grant_revoked')))
})

test('a child that is asked for once the grants of its parent have gone is given none of them [G-29 G-34]', async () => {
  const child = callsOnce('child', [['notes_read', {}]], reads)
  const parent = codeAgent('parent', async (_, run) => {
    await given.ambit.grants.revoke('path', 'acme')
    const wide = await run.invoke('child', 'go', { context: ['acme'] }).catch(({ code }) => code)
    return [wide, await run.invoke('child', 'go')]
  })
  const { provider, told } = notes()
  const given = await givenRuns({ agents: [parent, child], providers: [provider] })
  const run = await given.run('parent', 'go', { context: ['acme', 'beta'] })
  assert.deepEqual(run.result, ['grant_outside_parent', 'done'])
  assert.deepEqual(pathsIn((await runsByAgent(given, run.run_id))['child']), ['beta'])
  assert.deepEqual(
    told.map(({ grants }) => grants),
    [['beta']],
  )
})

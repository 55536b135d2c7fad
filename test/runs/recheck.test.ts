import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { followRun } from '../../src/client/run-handle.ts'
import { tenantId } from '../../src/model/identity/tenant-id.ts'
import type { Policy } from '../../src/model/policy.ts'
import { isEnded, type RunRecord } from '../../src/model/run.ts'
import { amendTenant } from '../../src/storage/tables/tenants.ts'
import { tempFolder } from '../cli/given.ts'
import { stillClock } from '../support/host.ts'
import { runsByAgent } from '../support/run-trees.ts'
import { agent, calls, finishedIn, type GivenRuns, givenRuns, type Notes, notes } from '../support/runs.ts'

/** What is written needs the yes of a boss. */
const asksBoss: Policy = {
  name: 'notes',
  version: '1',
  applies_to: ['notes.write'],
  rules: [
    {
      id: 'boss',
      when: { '>=': [{ var: 'run.depth' }, 0] },
      decision: 'requires_approval',
      approval: { roles: ['boss'] },
    },
  ],
}

/** A run whose child waits for a yes to write, and reads once it has its answer. `delegate` is what its parent leaves it. */
function open(
  provider: Notes['provider'],
  folder: string,
  clock: ReturnType<typeof stillClock>,
  delegate: 'none' | 'read' | 'read-write' = 'read-write',
) {
  const child = agent(
    'child',
    ({ messages }) =>
      [calls(['notes_write', { text: 'x' }]), calls('notes_read')][
        messages.filter(({ role }) => role === 'tool').length
      ] ?? 'done',
    { resources: { notes: { mode: 'read-write' } } },
  )
  const top = agent('top', ({ messages }) => (messages.length > 1 ? 'done' : calls(['agent_child', { input: 'go' }])), {
    tools: [child],
    resources: { notes: { mode: 'read-write', delegate } },
  })
  return givenRuns(
    { agents: [top], providers: [provider], policies: [asksBoss] },
    { folder, clock, roots: ['acme'], served: true },
  )
}

const inFive = '2026-06-16T15:05:00.000Z'
const revoked = (by: 'grant' | 'run' | 'subject' | 'path', targetOf: (run: RunRecord) => string | undefined) =>
  [
    'grant_revoked',
    async ({ ambit }: GivenRuns, run: RunRecord) => void (await ambit.grants.revoke(by, targetOf(run) ?? '')),
  ] as const

/** What happens while the run waits, and what its calls are then refused with. */
const changes: Readonly<
  Record<string, readonly [code: string, change: (given: GivenRuns, run: RunRecord) => Promise<void> | void]>
> = {
  'its grants have ended': ['grant_expired', ({ clock }) => clock.advance(300_000)],
  'a grant above was revoked': revoked('grant', ({ grants }) => grants[0]?.id),
  'the run above was revoked': revoked('run', ({ run_id }) => run_id),
  'its subject was revoked': revoked('subject', ({ subject }) => subject.id),
  'its path was revoked': revoked('path', () => 'acme/eu'),
  'a path above was revoked': revoked('path', () => 'acme'),
  'the roots of its tenant are others': [
    'grant_revoked',
    async ({ runtime: { store } }) => {
      await store.write(
        tenantId('local'),
        amendTenant((tenant) => ({ ...tenant, roots: ['beta'] })),
      )
    },
  ],
}

describe.each(['in the same process', 'in another process'])('a yes that comes %s [G-28]', (where) => {
  test.each(Object.entries(changes))('after %s starts no call [G-26 G-27 G-28 G-34]', async (_, [code, change]) => {
    const { provider, told } = notes()
    const [folder, clock] = [tempFolder(), stillClock()]
    const first = await open(provider, folder, clock)
    const run = await first.run('top', 'go', { context: [{ path: 'acme/eu', expiresAt: inFive }] })
    assert.equal(run.status, 'paused')
    await change(first, run)
    if (where === 'in another process') await first.close()
    const given = where === 'in another process' ? await open(provider, folder, clock) : first
    const boss = await given.approver('bo')
    await boss.approvals.decide(run.waits_for[0] ?? '', 'approve')
    const ended = await followRun(given.ambit.runs, run.run_id, { isOver: isEnded })
    assert.deepEqual([ended.status, ended.result], ['completed', 'done'])
    const { child } = await runsByAgent(given, run.run_id)
    assert.deepEqual(finishedIn(await given.events(run.run_id), child?.run_id), [
      `notes_write rejected ${code}`,
      `notes_read rejected ${code}`,
    ])
    assert.deepEqual(told, [])
  })
})

test.each(['none', 'read', 'read-write'] as const)(
  'a run goes on under the ceiling that its parent leaves it now: %s [G-28 G-55]',
  async (delegate) => {
    const { provider, told } = notes()
    const [folder, clock] = [tempFolder(), stillClock()]
    const first = await open(provider, folder, clock)
    const run = await first.run('top', 'go', { context: ['acme/eu'] })
    await first.close()
    const given = await open(provider, folder, clock, delegate)
    const boss = await given.approver('bo')
    await boss.approvals.decide(run.waits_for[0] ?? '', 'approve')
    await followRun(given.ambit.runs, run.run_id, { isOver: isEnded })
    const { child } = await runsByAgent(given, run.run_id)
    const [written, read] = finishedIn(await given.events(run.run_id), child?.run_id)
    assert.equal(written, delegate === 'read-write' ? 'notes_write ok' : 'notes_write rejected resource_ceiling')
    assert.equal(read, delegate === 'none' ? 'notes_read rejected resource_ceiling' : 'notes_read ok')
    assert.deepEqual([child?.ceilings, child?.modes], [{ notes: delegate }, { notes: delegate }])
    assert.deepEqual(
      told.map(({ mode }) => mode),
      { none: [], read: ['read'], 'read-write': ['read-write', 'read-write'] }[delegate],
    )
  },
)

/** A desk that waits for a yes to write. Later its manifest asks for more than its run was granted. */
async function givenStricter(): Promise<{ given: GivenRuns; run: RunRecord }> {
  const { provider } = notes()
  const [folder, clock] = [tempFolder(), stillClock()]
  const openWith = (entry: object) => {
    const desk = agent('desk', [calls(['notes_write', { text: 'x' }]), 'done'], {
      resources: { notes: { mode: 'read-write', ...entry } },
    })
    return givenRuns({ agents: [desk], providers: [provider], policies: [asksBoss] }, { folder, clock })
  }
  const first = await openWith({})
  const run = await first.run('desk', 'go', { context: ['acme/eu'], sessionId: 'desk-7' })
  assert.equal(run.status, 'paused')
  await first.close()
  return { given: await openWith({ required: true, namespace: 'acme/us' }), run }
}

test('a run that is taken up without what its agent requires by now ends with that, and its session is free [G-28 G-43]', async () => {
  const { given, run } = await givenStricter()
  await given.ambit.runs.resume(run.run_id)
  const { status, error } = await followRun(given.ambit.runs, run.run_id, { isOver: isEnded })
  assert.deepEqual([status, error], ['failed', { code: 'grant_missing', message: 'resource `notes` needs a grant' }])
  assert.equal((await given.run('desk', 'go', { context: ['acme/us'], sessionId: 'desk-7' })).status, 'paused')
})

test('nor does it keep such a run from being cancelled [G-43 G-73]', async () => {
  const { given, run } = await givenStricter()
  await given.ambit.runs.cancel(run.run_id)
  const { status } = await followRun(given.ambit.runs, run.run_id, { isOver: isEnded })
  assert.equal(status, 'cancelled')
})

test('a grant that has ended already is none for a resource that is required [G-26 G-43]', async () => {
  const { provider } = notes()
  const desk = agent('desk', ['done'], { resources: { notes: { required: true } } })
  const given = await givenRuns({ agents: [desk], providers: [provider] })
  const ended = { path: 'acme', expiresAt: '2020-01-01T00:00:00.000Z' }
  await assert.rejects(given.run('desk', 'go', { context: [ended] }), { code: 'grant.missing' })
})

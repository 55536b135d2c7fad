import assert from 'node:assert/strict'
import Table from 'cli-table3'
import { test, vi } from 'vitest'
import type { Json } from '../../src/base/canonical.ts'
import type { ApprovalRequest } from '../../src/model/approval.ts'
import { exportBundle } from '../../src/runtime/evidence/export.ts'
import { addApprover } from '../../src/runtime/identity/approvers.ts'
import { operator } from '../../src/runtime/identity/caller.ts'
import { createPrincipal } from '../../src/runtime/identity/principals.ts'
import { allPages } from '../../src/storage/page.ts'
import { approvalRecords } from '../../src/storage/tables/approvals.ts'
import { rows } from '../../src/storage/work.ts'
import { type GivenHost, givenHost } from '../support/host.ts'
import { anyLeak, type Canary, type Chance, leaky, levels, makeCanary, makeChance } from './canaries.ts'

const calls = 1_000
const capabilities = 40

// Whatever looks like a canary: looking for each of thousands in so much text would take minutes.
const likeness = /canary[0-9a-f]{16}|[1-9][0-9]{8}/g

const around = (text: string, core: string): string =>
  text.slice(Math.max(0, text.indexOf(core) - 200), text.indexOf(core) + 60)

interface Trial {
  readonly envelope: { readonly invocation_id: string } & Record<string, unknown>
  readonly canaries: readonly Canary[]
}

test('of a thousand calls with secrets in every sensitive place, none is found where it must not be [H-50 H-69 H-70 H-71]', async () => {
  const chance = makeChance('canaries')
  const fetched = makeCanary(chance)
  const said: string[] = []
  for (const method of ['log', 'info', 'warn', 'error', 'debug'] as const)
    vi.spyOn(console, method).mockImplementation((...words) => void said.push(words.map(String).join(' ')))
  const given = await givenWard(chance, fetched)
  const trials = Array.from({ length: calls }, (_, index) => trial(index, chance))
  const { shown, others, outcomes } = await makeCalls(given, trials, chance)
  await vi.waitFor(async () => assert.equal(await running(given), 0))

  const canaries = trials.flatMap((each) => each.canaries)
  const places = {
    ...(await placesOf(given)),
    'what the caller is told': shown,
    'what others are told': others,
    console: said,
  }
  const found = look(places, { canaries: [...canaries, fetched], others: canaries })
  process.stdout.write(`${JSON.stringify(outcomes)}\n`)
  assert.deepEqual(found.slice(0, 10), [])
  for (const outcome of [
    ...['success', 'failure', 'approval_required', 'policy_blocked', 'safety_blocked'],
    'input_schema_validation_failed',
  ])
    assert((outcomes[outcome] ?? 0) > 20, outcome)
  // The canaries were there: what is kept to answer a repeat with has them.
  const kept = (await dump(given, 'claims')).join('\n')
  assert(canaries.some(({ core }) => kept.includes(core)))
})

/** A host with capabilities that let out what they can, and an evaluator that talks too much. */
async function givenWard(chance: Chance, fetched: Canary): Promise<GivenHost> {
  const given = await givenHost({
    capabilities: Array.from({ length: capabilities }, (_, index) => leaky(index, chance)),
    policies: [levels],
    resolvers: { fetched: () => fetched.value },
    safety: (call) => {
      const { patient, level } = call.payload as { patient?: Json; level?: number }
      return { approved: level !== 5, level: 'low', score: 0.5, guardrail: `about ${patient}` }
    },
  })
  await createPrincipal(given.ambit, operator(given.host.tenant), { id: 'nurse', kind: 'user' })
  await addApprover(given.ambit, operator(given.host.tenant), { principal: 'nurse', roles: ['nurse'] })
  return given
}

/** Makes every call; some are asked for by others too, some are decided by a person and made again. */
async function makeCalls(given: GivenHost, trials: readonly Trial[], chance: Chance) {
  const { gateway } = given.host
  const mine = await given.caller({ id: 'mine', kind: 'agent' })
  const other = await given.caller({ id: 'other', kind: 'agent' })
  const shown: string[] = []
  const others: string[] = []
  const outcomes: Record<string, number> = {}
  for (const { envelope } of trials) {
    const { invocation_id } = envelope
    const { result } = await gateway.invoke(mine, envelope)
    const key = result.denial?.code ?? result.outcome
    outcomes[key] = (outcomes[key] ?? 0) + 1
    shown.push(JSON.stringify([result.error, result.denial, result.correlation]))
    if (chance.yes(0.1)) {
      others.push(JSON.stringify((await gateway.recorded(other, invocation_id)) ?? null))
      const own = { capability_id: 'ward.c0', invocation_id, payload: { level: 1 } }
      others.push(JSON.stringify(await given.call(other, own)))
    }
    if (result.denial?.code !== 'approval_required') continue
    shown.push(...(await decided(given, chance)))
    const again = (await gateway.invoke(mine, envelope)).result
    shown.push(JSON.stringify([again.error, again.denial]))
  }
  return { shown, others, outcomes }
}

/** What the approver is shown, who then mostly decides. */
async function decided({ host: { gateway } }: GivenHost, chance: Chance): Promise<string[]> {
  const pending = await gateway.pendingFor('nurse')
  const [request] = pending
  const decision = chance.yes(0.8) ? 'approve' : 'deny'
  if (request && chance.yes(0.7))
    await gateway.decide(
      request.approval_id,
      { principal: 'nurse', subject: { id: 'nurse', verified: true } },
      { decision },
    )
  return pending.slice(0, 1).map(approverText)
}

/** A request but for the note, which repeats secrets of its own accord: an approver sees what they answer for. */
const approverText = (request: ApprovalRequest): string =>
  JSON.stringify({ ...request, shown: request.shown.filter(({ name }) => !name.endsWith('note')) })

/** Looks for canaries everywhere, says in a table what it looked at, and answers what it found. */
function look(
  places: Readonly<Record<string, readonly string[]>>,
  { canaries, others }: { readonly canaries: readonly Canary[]; readonly others: readonly Canary[] },
): string[] {
  const head = ['place', 'texts', 'characters', 'canaries', 'found']
  const table = new Table({ head, style: { head: [], border: [] } })
  const found: string[] = []
  for (const [place, texts] of Object.entries(places)) {
    const known = new Map(texts.flatMap((text) => (text.match(likeness) ?? []).map((core) => [core, text] as const)))
    const wanted = place === 'what others are told' ? others : canaries
    const hits = wanted.filter(({ core }) => known.has(core))
    found.push(...hits.map(({ core }) => `${place}: ${core} in ${around(known.get(core) ?? '', core)}`))
    table.push([place, texts.length, texts.join('').length, wanted.length, hits.length].map(String))
  }
  process.stdout.write(`${table.toString()}\n`)
  return found
}

function trial(index: number, chance: Chance): Trial {
  const canaries: Canary[] = []
  const secret = (): Json => {
    const canary = makeCanary(chance)
    canaries.push(canary)
    return canary.value
  }
  const some = <T>(make: () => T): T | undefined => (chance.yes(0.7) ? make() : undefined)
  const payload = {
    level: chance.one([1, 2, 3, 4, 5, 6, 6, 7]),
    leak: anyLeak(chance),
    patient: some(secret),
    marked: some(secret),
    password: some(secret),
    list: some(() => [secret(), secret()]),
    deep: some(() => ({ inner: secret(), marked: secret() })),
  }
  const context = some(() => ({ whispered: secret() }))
  // Secrets are told whole: half of one is another word, which nobody can know.
  const gossip = chance.yes() ? canaries.map(({ value }) => value).join(' and ') : 'nothing'
  const line = canaries.filter(({ value, core }) => String(value) === core).map(({ core }) => core)
  const whisper = chance.yes() ? line.slice(0, 5).join(' and ') : 'nothing'
  const bad = chance.yes(0.1) ? { marked: { wrong: payload.marked ?? 'x' } } : {}
  const envelope = JSON.parse(
    JSON.stringify({
      capability_id: `ward.c${index % capabilities}`,
      invocation_id: `inv-${index}`,
      mode: chance.one(['sync', 'sync', 'stream', 'async']),
      correlation: { correlation_id: `task-${index % 25}`, baggage: { room: whisper, api_key: secret() } },
      metadata: { context, purpose: whisper || 'none' },
      payload: { ...payload, note: `said: ${gossip}`, ...bad },
    }),
  ) as Trial['envelope']
  return { envelope, canaries }
}

const dump = async ({ ambit }: GivenHost, table: string): Promise<string[]> =>
  (await ambit.database.read(() => rows(`SELECT * FROM ${table}`))).map((row) => JSON.stringify(row))

async function running({ ambit }: GivenHost): Promise<number> {
  const found = await ambit.database.read(() => rows("SELECT claim_key FROM claims WHERE state = 'running'"))
  return found.length
}

async function placesOf(given: GivenHost): Promise<Readonly<Record<string, readonly string[]>>> {
  const { ambit, host, events } = given
  const me = operator(host.tenant)
  const tasks = Array.from({ length: 25 }, (_, index) => `task-${index}`)
  const requests = await ambit.store.read(() => allPages((page) => approvalRecords.list(host.tenant, {}, page)))
  const tables = [
    'events',
    'clocks',
    'event_sections',
    'checkpoints',
    'leases',
    'statements',
    'blobs',
    'histories',
    'budget_uses',
  ]
  return {
    'every event': (await events()).map((event) => JSON.stringify(event)),
    'exported bundles': await Promise.all(
      tasks.map(async (task) => JSON.stringify(await exportBundle(ambit, me, task))),
    ),
    'approval rows': requests.map(({ request }) => approverText(request)),
    'tables of evidence and state': (await Promise.all(tables.map((table) => dump(given, table)))).flat(),
  }
}

import assert from 'node:assert/strict'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import type { Json } from '../../src/base/canonical.ts'
import { readyPacks } from '../../src/compile/compile.ts'
import type { ContextPack } from '../../src/model/contract/pack.ts'
import { contextPack } from '../../src/model/contract/pack.ts'
import type { ComparedDecision } from '../../src/model/contract/replay.ts'
import { operable } from '../../src/operations/table.ts'
import { compareRun } from '../../src/runs/replay/compare.ts'
import { replayRun } from '../../src/runs/replay/replay.ts'
import { performOperation } from '../../src/runtime/operations/perform.ts'
import { loaded, scenario, stockCatalog } from '../support/contract.ts'
import { type GivenInvoked, givenInvoked, type Tools } from '../support/invoked.ts'
import { rewritten, storedRun, withoutHost } from '../support/recorded.ts'
import { ended } from '../support/runs.ts'

type Edit = (pack: ContextPack) => void
const stock = (edit: Edit, version = '3.2.0'): ContextPack => {
  const pack = parse(scenario('pack.yaml')) as ContextPack
  pack.pack_meta.pack_version = version
  edit(pack)
  return pack
}
const rulesIn = (pack: ContextPack) => pack.policy_layer.policy_bundles[0]?.policy_dsl.rules ?? []

/** The threshold of the controller at half of what it was. */
const lower: Edit = (pack) => {
  for (const rule of rulesIn(pack))
    if (rule.rule_id === 'R_HIGH_VALUE') rule.if = { '>': [{ var: 'args.amount_minor' }, 250_000] }
  for (const gate of pack.policy_layer.approval_gates) gate.when = { '>': [{ var: 'args.amount_minor' }, 250_000] }
}

interface Asked {
  readonly context: Readonly<Record<string, Json>>
  readonly decide?: 'approve' | 'deny'
}

/** Runs with their own facts each: amounts on both sides of every threshold, holds, blocked sites, signatures. */
const asked: readonly Asked[] = Array.from({ length: 48 }, (_, index) => ({
  context: {
    amount_minor: 20_000 * (index + 1),
    batch_id: `bat_${index}`,
    ...(index % 11 === 5 && { site_blocked: true }),
    ...(index % 13 === 7 && { legal_hold: true }),
  },
  ...(index >= 25 && index % 4 > 0 && { decide: index % 4 === 1 ? ('deny' as const) : ('approve' as const) }),
}))

async function invoke(given: GivenInvoked, { context, decide }: Asked, boss: GivenInvoked['ambit'], refs?: string[]) {
  const { run_id, waits_for } = await given.ambit.invokeAgent(
    given.request(refs ? { context_pack_refs: refs } : {}, context),
    { run_context: { safety_mode: 'delegated' } },
  )
  if (decide !== undefined && waits_for.length > 0) {
    for (const id of waits_for) await boss.approvals.decide(id, decide)
    await ended(given, run_id)
  }
  return run_id
}

/** An Ambit with all of them on record, and the request of each run. */
async function givenRecords(tools: Tools = {}) {
  const given = await givenInvoked(tools)
  const boss = await given.approver('cora', ['controller'])
  const byRun = new Map<string, Asked>()
  for (const each of asked) byRun.set(await invoke(given, each, boss), each)
  return { given, boss, byRun }
}

const publish = async ({ ambit }: GivenInvoked, pack: ContextPack): Promise<string> => {
  const { document } = await ambit.packs.sign(pack)
  return (await ambit.packs.publish(document, { beside: ['decision-catalog.stock@1.4.0'] })).ref
}

const count = (decisions: readonly ComparedDecision[]) =>
  ['unchanged', 'changed', 'undecidable'].map((each) => decisions.filter(({ verdict }) => verdict === each).length)

/** What a real run has at the place that a comparison names. */
async function actual({ ambit }: GivenInvoked, runId: string, field: string | undefined): Promise<Json> {
  const { status, outputs, ambit: own } = await ambit.decisions.show(runId)
  const events = []
  for await (const event of ambit.runs.events(runId)) {
    events.push(event)
    if (event.type === 'run.paused' || event.type === 'run.finished') break
  }
  const gates = events.filter(({ type }) => type === 'approval.requested').length > 0 ? ['GATE_CONTROLLER'] : []
  return { status, outcome: own.decision?.outcome ?? null, cause: own.cause, outputs, approvals: gates }[
    field ?? ''
  ] as Json
}

const edits: readonly (readonly [string, Edit, readonly number[]])[] = [
  ['a lower threshold for the controller', lower, [37, 11, 0]],
  [
    'a guardrail at a million',
    (pack) =>
      void pack.policy_layer.guardrails.must_refuse.push({
        ...{
          rule_id: 'G_LARGE',
          when: { '>': [{ var: 'request.context.amount_minor' }, 700_000] },
          reason: 'Too much.',
        },
      }),
    [36, 12, 0],
  ],
  [
    'less that may be posted at all',
    (pack) => {
      for (const each of pack.tooling_layer.permissions)
        if (each.permission_id === 'P_POST') each.arg_constraints = { amount_minor: { max: 400_000 } }
    },
    [25, 23, 0],
  ],
  [
    'no right to post',
    (pack) => {
      pack.tooling_layer.permissions = pack.tooling_layer.permissions.filter((each) => each.permission_id !== 'P_POST')
    },
    [8, 40, 0],
  ],
  [
    'a rule that forbids every second amount',
    (pack) =>
      void rulesIn(pack).push({
        ...{ rule_id: 'R_ODD', if: { '===': [{ '%': [{ var: 'args.amount_minor' }, 40_000] }, 0] } },
        // biome-ignore lint/suspicious/noThenProperty: the contract calls it so
        then: { allow: false },
        applies_to: { capability: 'adp_ledger.post_write_off' },
      }),
    [28, 20, 0],
  ],
]

test.each(edits)(
  'every decision that another pack would change is changed when it is really made: %s [R-114]',
  async (_, edit, counts) => {
    const { given, boss, byRun } = await givenRecords()
    const ref = await publish(given, stock(edit))
    const [calls, evidence] = [
      JSON.stringify([...given.reached]),
      (await given.ambit.evidence.list({ limit: 1 })).events,
    ]
    const context = withoutHost(given)
    const { replay } = operable((path, operation, input) => performOperation(context, path, operation, input))
    const { decisions } = await replay.compare({ pack: ref, since: '7d', limit: 1_000 })
    assert.deepEqual(
      [calls, evidence],
      [JSON.stringify([...given.reached]), (await given.ambit.evidence.list({ limit: 1 })).events],
    )
    assert.equal(decisions.length, asked.length)
    assert.deepEqual(count(decisions), counts)
    for (const { run_id, verdict, field, from, to, first_stage, rule_ids } of decisions) {
      if (verdict === 'undecidable') continue
      const again = await invoke(given, byRun.get(run_id) ?? { context: {} }, boss, [
        ref,
        'decision-catalog.stock@1.4.0',
      ])
      const names = verdict === 'changed' ? [field] : ['status', 'outcome', 'approvals', 'outputs', 'cause']
      for (const name of names)
        assert.deepEqual(
          [await actual(given, run_id, name), await actual(given, again, name)],
          verdict === 'changed' ? [from, to] : [await actual(given, run_id, name), await actual(given, run_id, name)],
          `${name} of ${JSON.stringify(byRun.get(run_id))} ${first_stage} ${rule_ids}`,
        )
    }
  },
  60_000,
)

const unknown: readonly (readonly [string, Edit, readonly string[], number])[] = [
  [
    'a fact that no request had',
    (pack) =>
      void rulesIn(pack).push({
        ...{ rule_id: 'R_RISK', if: { '>': [{ var: 'request.context.risk' }, 5] } },
        // biome-ignore lint/suspicious/noThenProperty: the contract calls it so
        then: { allow: false },
        applies_to: { capability: 'adp_ledger.post_write_off' },
      }),
    ['request.context.risk'],
    40,
  ],
  [
    'what people have refused, and are not asked about any more',
    (pack) => {
      pack.policy_layer.approval_gates = []
      const rule = rulesIn(pack).find(({ rule_id }) => rule_id === 'R_HIGH_VALUE')
      // biome-ignore lint/suspicious/noThenProperty: the contract calls it so
      if (rule) rule.then = { allow: true, approval_mode: 'delegated' }
    },
    ['result of adp_ledger.post_write_off (step s3)'],
    10,
  ],
  [
    'a run that was ended before any plan',
    (pack) => {
      pack.policy_layer.guardrails.must_refuse = []
    },
    ['result of adp_stock.lookup (step s1)'],
    4,
  ],
  [
    'how far a run may go',
    (pack) => {
      pack.pack_meta.environment_defaults = { safety_mode: 'network' }
    },
    ['run_context'],
    48,
  ],
]

test.each(unknown)('what nobody recorded is named and not guessed: %s [R-114]', async (_, edit, missing, many) => {
  const { given } = await givenRecords()
  const { decisions } = await given.ambit.replay.compare({ document: stock(edit), limit: 1_000 })
  const found = decisions.filter(({ verdict }) => verdict === 'undecidable')
  assert.deepEqual([...new Set(found.flatMap((each) => each.missing ?? []))], missing)
  assert.equal(found.length, many)
})

test('a pack that cannot be used with what a run had pinned would have refused it [R-114]', async () => {
  const given = await givenInvoked()
  const boss = await given.approver('cora', ['controller'])
  const id = await invoke(given, { context: { amount_minor: 1_000 } }, boss)
  const pack = stock((made) => {
    made.contract_meta.compatibility.requires = { 'decision-catalog.stock': '>=2.0.0' }
  })
  const { decisions } = await given.ambit.replay.compare({ document: pack })
  const changed = {
    verdict: 'changed',
    field: 'status',
    from: 'DECIDED',
    to: 'pack_incompatible',
    first_stage: 'packs',
  }
  assert.deepEqual(decisions[0], {
    run_id: id,
    record_id: id.replace('run', 'dr'),
    at: decisions[0]?.at,
    ...changed,
    rule_ids: [],
  })
})

test('a request names a pack or brings one, and the pack is of the tenant [R-114]', async () => {
  const given = await givenInvoked()
  const { replay } = given.ambit
  const ofOthers = stock((pack) => {
    pack.pack_meta.tenant = 'tenant_other'
  })
  for (const [query, code] of [
    [{}, 'field.invalid'],
    [{ pack: 'ctxpack.stock@3.1.0', document: {} }, 'field.invalid'],
    [{ pack: 'ctxpack.stock@9.9.9' }, 'pack.not_found'],
    [{ document: ofOthers }, 'pack.tenant_mismatch'],
  ] as const)
    await expect(replay.compare(query)).rejects.toMatchObject({ code })
})

test('the plan of a model is that of the record, and under another prompt nobody knows it [R-98 R-114]', async () => {
  const given = await givenInvoked()
  const id = await invoke(given, { context: { amount_minor: 1_000 } }, given.ambit)
  const stored = await storedRun(given, id)
  const planner = 'model:x'
  const events = stored.events.map((each) =>
    each.type === 'plan.proposed' ? { ...each, data: { ...each.data, planner } } : each,
  )
  const versions = stored.versions.map((each) => {
    if (each.status === 'IN_FLIGHT') return each
    const release = { ...each.ambit.release, planner, template: null }
    return { ...each, rationale: { ...each.rationale, strategy: planner }, ambit: { ...each.ambit, release } }
  })
  const planned = rewritten(stored, { events, versions, envelope: { ...stored.envelope, planner: 'model' } })
  assert.deepEqual(replayRun(planned).diffs, [])
  const other = (edit: Edit) => readyPacks([loaded(contextPack.parse(stock(edit))), loaded(stockCatalog())])
  const silent = other((pack) => {
    for (const gate of pack.policy_layer.approval_gates) gate.required_approver_role = 'boss'
  })
  assert.deepEqual(compareRun(planned, silent), { verdict: 'unchanged' })
  const loud = other((pack) => void pack.tone_and_comms.do.push('Be quick.'))
  assert.deepEqual(compareRun(planned, loud), { verdict: 'undecidable', missing: ['plan 0'] })
})

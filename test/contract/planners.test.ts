import assert from 'node:assert/strict'
import { afterEach, test, vi } from 'vitest'
import { defineCapability } from '../../src/gateway/capability.ts'
import type { Planner, PlanRequest } from '../../src/runs/plan/planner.ts'
import type { AmbitConfig } from '../../src/runtime/settings/user-config.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { type PlanScript, scriptedPlanner } from '../../src/testing/scripted-planner.ts'
import { scenario } from '../support/contract.ts'
import { type GivenInvoked, givenInvoked, type Tools } from '../support/invoked.ts'
import { ended, finishedIn, givenRuns, silent, typesOf } from '../support/runs.ts'

afterEach(() => {
  vi.useRealTimers()
})

const look = { id: 'look', tool: 'adp_stock.lookup', params: { batch_id: 'bat_5120' } }
const count = { id: 'count', tool: 'adp_count.verify', params: { batch_id: 'bat_5120' } }
const part = (...steps: object[]) => ({ steps, decision_checkpoints: [] })

/** An Ambit with a planner `script`, what it was told, and a run by it. */
async function givenPlanner(script: PlanScript | Planner, config: AmbitConfig = {}, tools: Tools = {}) {
  const planner = 'plan' in script ? script : scriptedPlanner(script)
  const given = await givenInvoked(tools, {}, scenario, { planners: { script: planner }, ...config })
  return { ...given, planner, planned: (more: object = {}) => runOf(given, { planner: 'script', ...more }) }
}

async function runOf(given: GivenInvoked, run_context: object, more: object = {}) {
  const { run_id } = await given.ambit.invokeAgent(given.request(more), { run_context })
  const run = await ended(given, run_id)
  assert.deepEqual((await given.ambit.replay.run(run_id)).diffs, [])
  return { run, record: await given.ambit.decisions.show(run_id), events: await given.events(run_id) }
}

const kindsIn = ({ ambit }: { readonly ambit: { readonly verdicts: readonly object[] } }): string[] =>
  ambit.verdicts.map((each) => ('kind' in each ? String(each.kind) : (each as { verdict: string }).verdict))

test('a planner is told what the run was given, what it did and what was wrong, as text and data [R-02]', async () => {
  const script = [part(look), 'no plan', part(count), part({ ...look, tool: 'adp_ledger.close_period' })]
  const planner = scriptedPlanner(script)
  const given = await givenPlanner(planner)
  const { record, events } = await given.planned()
  assert.deepEqual(
    [record.status, kindsIn(record)],
    [
      'ESCALATED',
      ['ok', 'replan', 'plan_invalid', 'ok', 'replan', 'unsurfaced_capability', 'plan_invalid', 'escalate'],
    ],
  )
  assert(typesOf(events).indexOf('compile.done') < typesOf(events).indexOf('plan.proposed'))
  const [first, second, third, , fifth] = planner.requests
  assert.deepEqual([first?.intent, first?.steps, first?.problems, first?.progress], ['stock.write_off', [], [], ''])
  assert.match(first?.tools ?? '', /^adp_count\.verify: adp_count\.verify\narguments: /)
  assert.doesNotMatch(first?.tools ?? '', /close_period/)
  assert.equal(first?.compiled.context_ledger.compiled_context_hash, record.ambit.compiled_context_hash)
  const done = { step: 'look', tool: 'adp_stock.lookup', status: 'ok', output: { batch_id: 'bat_5120' }, error: null }
  assert.deepEqual([second?.steps, second?.problems], [[done], []])
  assert.match(second?.progress ?? '', /^Step look, ok:\n<ambit_data .*origin="tool".*\{"batch_id":"bat_5120"\}/s)
  assert.match(third?.problems.join() ?? '', /a value was expected/)
  assert.deepEqual(fifth?.problems, ['there is no capability `adp_ledger.close_period`'])
})

test('a request that does not compile reaches no planner [R-02]', async () => {
  const planner = scriptedPlanner(() => part(look))
  const given = await givenPlanner(planner)
  const request = given.request({ input: { intent: 'stock.count', message: '' } })
  await assert.rejects(given.ambit.invokeAgent(request, { run_context: { planner: 'script' } }), {
    code: 'intent.unknown',
  })
  const tight = { planner: 'script', run_budget: { total_tokens: 40 } }
  await assert.rejects(given.ambit.invokeAgent(given.request(), { run_context: tight }), {
    code: 'mandatory.block_over_budget',
  })
  assert.equal(planner.requests.length, 0)
})

/** Everything that can be reached from a value, by way of members and prototypes of its own making. */
function* reachable(value: unknown, seen = new Set<unknown>()): Generator<unknown> {
  if (value === null || (typeof value !== 'object' && typeof value !== 'function') || seen.has(value)) return
  seen.add(value)
  yield value
  for (const key of Reflect.ownKeys(value)) {
    const member: unknown = (value as Record<PropertyKey, unknown>)[key]
    if (!(member instanceof AbortSignal)) yield* reachable(member, seen)
  }
}

test('a planner is given plain data and a signal, and nothing that it does to them counts [R-92]', async () => {
  const told: PlanRequest[] = []
  const given = await givenPlanner((request: PlanRequest) => {
    told.push(request)
    const { compiled } = request
    compiled.context_ledger.tools.push('adp_ledger.close_period')
    for (const { adapter_id, capability_metadata = {} } of compiled.manifests.tool_manifest)
      if (adapter_id === 'adp_ledger')
        capability_metadata['close_period'] = {
          kind: 'read',
          risk_level: 'read',
          approval_mode: 'read_only',
          source: 'host',
        }
    compiled.runtime_controls.approval_gates_active = []
    Object.assign(request, { intent: 'ledger.close' })
    return part({ id: 's1', tool: 'adp_ledger.close_period', params: {} })
  })
  const { record } = await given.planned()
  assert.deepEqual([record.status, given.reached.size], ['REJECTED', 0])
  for (const request of told)
    for (const each of reachable(request)) {
      assert.notEqual(typeof each, 'function')
      assert([Object.prototype, Array.prototype].includes(Object.getPrototypeOf(each)), String(each))
    }
  assert.deepEqual(Object.keys(told[0] ?? {}).sort(), [
    'compiled',
    'intent',
    'problems',
    'progress',
    'signal',
    'steps',
    'tools',
  ])
})

test('steps are those of the plan that was verified last, whatever becomes of it afterwards [R-92]', async () => {
  const plans: { steps: { id: string; tool: string; params: object }[] }[] = []
  const given = await givenPlanner(() => {
    // Its earlier plans are its own to change: they were read.
    for (const plan of plans) plan.steps[0] = { id: 'look', tool: 'adp_ledger.close_period', params: {} }
    const plan = { steps: [{ ...look }, { ...count }], decision_checkpoints: [] }
    setTimeout(() => (plan.steps[1] = { ...look, id: 'evil', tool: 'adp_mail.notify_owner' }), 0)
    plans.push(plan)
    return plan
  })
  const { events } = await given.planned()
  assert.deepEqual([...given.reached.keys()].sort(), ['adp_count.verify', 'adp_stock.lookup'])
  let verified: string[] = []
  let proposed: string[] = []
  for (const { type, data } of events) {
    const { plan } = data as { plan?: { steps: { id: string }[] } }
    if (type === 'plan.proposed') [proposed, verified] = [plan?.steps.map(({ id }) => id) ?? [], []]
    if (type === 'critic.verify' && data['verdict'] === 'ok') verified = proposed
    if (type === 'tool.started') assert(verified.includes(String(data['step'])))
  }
})

const circle: Record<string, unknown> = {}
circle['steps'] = circle
const unreadable: [what: string, said: unknown, problem: RegExp][] = [
  ['a list', [part(look)], /no JSON object/],
  ['a number', 12, /no JSON object/],
  ['null', null, /no JSON object/],
  ['a circle', circle, /cannot be written as JSON/],
  ['a big integer', { ...part(look), steps: 12n }, /cannot be written as JSON/],
  [
    'what throws when it is read',
    {
      get steps() {
        throw new Error('/srv/x')
      },
    },
    /cannot be written as JSON/,
  ],
  ['a prototype', '{"__proto__":{"steps":[]},"steps":[],"decision_checkpoints":[]}', /__proto__/],
  ['too much', 'x'.repeat(2 * 1024 * 1024), /at most/],
  ['too deep', `${'['.repeat(100)}${']'.repeat(100)}`, /levels/],
  [
    'ten thousand members',
    Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`m${at}`, 1])),
    /not a known member/,
  ],
  ['a failure', new Error('boom at /srv/x/planner.ts'), /internal|went wrong|unexpected/i],
  ['a circle of steps', part({ ...look, depends_on: ['count'] }, { ...count, depends_on: ['look'] }), /circle/],
]

test.each(unreadable)('a planner that answers %s has made no plan [R-04]', async (_, said, problem) => {
  const given = await givenPlanner(() => said)
  const { record, run, events } = await given.planned()
  assert.deepEqual([record.status, record.ambit.cause, run.status], ['ESCALATED', 'budget_replans', 'failed'])
  assert.deepEqual([kindsIn(record)[0], given.reached.size], ['plan_invalid', 0])
  const [proposed] = events.filter(({ type }) => type === 'plan.proposed')
  const problems = (proposed?.data['problems'] ?? []) as string[]
  assert.match(problems.join('; '), problem)
  assert(problems.length <= 32 && !JSON.stringify(events).includes('/srv/x'))
})

test('a planner that answers nothing at all, or throws at once, has made no plan [R-04]', async () => {
  for (const plan of [async () => undefined, async () => 'x', () => assert.fail('at once')]) {
    const given = await givenPlanner({ id: 'odd', plan } as unknown as Planner)
    assert.deepEqual(kindsIn((await given.planned()).record).slice(0, 1), ['plan_invalid'])
  }
})

test('what a planner says it has used is counted, as far as it is a count [R-04]', async () => {
  const usages = [{ inputTokens: 100, outputTokens: 10 }, { inputTokens: Number.NaN, outputTokens: -1 }, undefined]
  const costs = [1.2, null, 0]
  for (const [index, usage] of usages.entries()) {
    const plan = async () => ({ plan: part({ ...look, tool: 'adp_ledger.close_period' }), ...(usage && { usage }) })
    const given = await givenPlanner({ id: 'own', plan }, { prices: { own: { input: 10_000, output: 20_000 } } })
    const { run } = await given.planned({ run_budget: { max_replan_attempts: 0 } })
    const expected = [index === 0 ? 100 : 0, usage ? 1 : 0, costs[index]]
    assert.deepEqual([run.usage.input_tokens, run.usage.model_turns, run.usage.cost_cents], expected)
  }
})

/** C-21: the time is that of the request, within its bounds. */
test('a planner that is silent past its time is stopped: no call, and an end that says so [R-28]', async () => {
  const stopped = Promise.withResolvers<void>()
  const asked = Promise.withResolvers<void>()
  const given = await givenPlanner(({ signal }: PlanRequest) => {
    signal.addEventListener('abort', () => stopped.resolve())
    asked.resolve()
    return new Promise(() => undefined)
  })
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const running = runOf(given, { planner: 'script' }, { runtime: { plan_timeout_ms: 10 } })
  await asked.promise
  vi.advanceTimersByTime(5_000)
  await stopped.promise
  const { run, record, events } = await running
  const [verdict] = record.ambit.verdicts
  assert(verdict !== undefined && 'cause' in verdict)
  assert.deepEqual(
    [verdict.verdict, verdict.cause, verdict.limit, verdict.used],
    ['escalate', 'plan_timeout', 5_000, 5_000],
  )
  assert.deepEqual([record.status, run.status, run.error?.code], ['ESCALATED', 'failed', 'plan_timeout'])
  assert.deepEqual([typesOf(events).includes('plan.proposed'), given.reached.size], [false, 0])
})

test('a run that is cancelled while it is planned calls nothing [R-28]', async () => {
  const asked = Promise.withResolvers<void>()
  const given = await givenPlanner(({ signal }: PlanRequest) => {
    asked.resolve()
    return silent({ signal } as never)
  })
  const request = given.request({ mode: 'stream' })
  const { run_id } = await given.ambit.invokeAgent(request, { run_context: { planner: 'script' } })
  await asked.promise
  await given.ambit.runs.cancel(run_id)
  const run = await ended(given, run_id)
  const record = await given.ambit.decisions.show(run_id)
  assert.deepEqual([run.status, record.status, record.ambit.cause], ['cancelled', 'DEFERRED', 'cancelled'])
})

test('a tool step is stopped at the time of its own adapter [R-28]', async () => {
  const stopped = Promise.withResolvers<void>()
  const hanging = defineCapability(
    { id: 'adp_stock.lookup', version: '1.0.0', description: 'Looks up.', timeoutS: 0.1 },
    (_, { signal }) => new Promise(() => signal.addEventListener('abort', () => stopped.resolve(), { once: true })),
  )
  const rest = ['adp_count.verify', 'adp_notes.append', 'adp_mail.notify_owner', 'adp_ledger.post_write_off']
  const others = [...rest, 'adp_ledger.close_period'].map((id) =>
    defineCapability({ id, version: '1.0.0', description: id }, () => null),
  )
  const given = await givenPlanner(() => part(look), { capabilities: [hanging, ...others] })
  const { record, events } = await given.planned()
  await stopped.promise
  assert.deepEqual([record.status, record.ambit.cause], ['DEFERRED', 'evidence_missing'])
  const ends = finishedIn(events)
  assert(ends.length > 0 && ends.every((end) => /failed (?:adapter_)?timeout$/.test(end)), ends.join())
})

test('without a choice templates plan, else the default model does, else nothing; a choice that is not there is refused [R-21]', async () => {
  const plan = JSON.stringify(part({ ...look, tool: 'adp_ledger.close_period' }))
  const model = scriptedModel(() => ({ text: plan, usage: { inputTokens: 1, outputTokens: 1 } }))
  const config: AmbitConfig = { models: { default: model }, prices: { scripted: { input: 1, output: 1 } } }
  const usual = await givenInvoked({}, {}, scenario, config)
  const small = usual.request({}, { amount_minor: 180_000 })
  const { decision_record } = await usual.ambit.invokeAgent(small, { run_context: { safety_mode: 'delegated' } })
  assert.deepEqual([decision_record?.rationale.strategy, model.requests.length], ['playbook:tt_write_off@1.0.0', 0])
  // An intent that has no template of its own.
  const bare = (name: string): string =>
    scenario(name).replace('eligible_task_templates: [tt_write_off]', 'eligible_task_templates: []')
  const modelled = await runOf(await givenInvoked({}, {}, bare, config), {})
  assert.deepEqual([modelled.record.rationale.strategy, modelled.record.status], ['model:scripted', 'REJECTED'])
  const nothing = await givenInvoked({}, {}, bare)
  const { record } = await runOf(nothing, {})
  assert.deepEqual([record.status, kindsIn(record)[0]], ['ESCALATED', 'plan_invalid'])
  for (const planner of ['model', 'nobody', 'constructor'])
    await assert.rejects(nothing.ambit.invokeAgent(nothing.request(), { run_context: { planner } }), {
      code: 'field.invalid',
      data: { pointer: '/run_context/planner' },
    })
  const clerk = await nothing.as('usr_214', ['stock_clerk', 'stock_ops'])
  await assert.rejects(clerk.invokeAgent(nothing.request(), { run_context: { planner: 'playbook' } }), {
    code: 'grant.not_mintable',
  })
})

test('a model among the planners plans by its own name, and the names of those that are there are taken [F-26]', async () => {
  const model = scriptedModel([JSON.stringify(part(look))], { id: 'careful' })
  const given = await givenInvoked({}, {}, scenario, { planners: { second: model } })
  const { record } = await runOf(given, { planner: 'second', run_budget: { max_replan_attempts: 0 } })
  assert.equal(record.rationale.strategy, 'model:careful')
  for (const planners of [{ playbook: model }, { model }, { odd: {} }, { odd: 'gpt' }])
    await assert.rejects(givenRuns({ planners }), { code: 'config.invalid' })
})

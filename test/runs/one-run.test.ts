import assert from 'node:assert/strict'
import { test } from 'vitest'
import { z } from 'zod'
import { verifyBundle } from '../../src/evidence/verify/verify.ts'
import type { RunEvent } from '../../src/model/run.ts'
import { defineAgent } from '../../src/runtime/agents/agent.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { echo } from '../support/host.ts'
import { agent, calls, finishedIn, givenRuns, notes, silent, typesOf } from '../support/runs.ts'

const callsEcho = calls(['test_echo', { text: 'hi' }])

test('a run of one tool call is told in events, in order, and its record says how it ended [G-70]', async () => {
  const given = await givenRuns({ agents: [agent('desk', [callsEcho, 'done'], { tools: [echo()] })] })
  const run = await given.run('desk', 'say hi')
  const { status, result, error, input, depth, parent_run_id } = run
  assert.deepEqual([status, result, error, input, depth, parent_run_id], ['completed', 'done', null, 'say hi', 0, null])
  const events = await given.events(run.run_id)
  assert.deepEqual(typesOf(events), [
    ...['run.started', 'compile.done', 'plan.proposed', 'tool.started', 'tool.finished', 'plan.proposed'],
    'run.finished',
  ])
  for (const [index, event] of events.entries()) {
    const { event_id, run_id, root_run_id, trace_id } = event
    assert.deepEqual([event_id, run_id, root_run_id, trace_id], [index + 1, run.run_id, run.run_id, run.trace_id])
  }
  assert.deepEqual(finishedIn(events), ['test_echo ok'])
  assert.deepEqual(await given.ambit.runs.show(run.run_id), run)
})

test('all that a run does is one correlation, whose bundle verifies [G-70]', async () => {
  const given = await givenRuns({ agents: [agent('desk', [callsEcho, 'done'], { tools: [echo()] })] })
  const { run_id: id } = await given.run('desk')
  const evidence = await given.evidence(id)
  assert.deepEqual(
    evidence.map(({ event_type, outcome }) => [event_type, outcome]),
    [
      ['ambit.run.started', 'success'],
      ['execution_started', null],
      ['execution_completed', 'success'],
      ['ambit.run.finished', 'success'],
    ],
  )
  for (const { correlation, payload, subject } of evidence) {
    const { actor } = (payload as { decision: { actor: { id: string } } }).decision
    assert.deepEqual([correlation.correlation_id, actor.id], [id, 'agent:contextos/desk@1.0.0'])
    assert(['operator', 'anonymous'].includes(String(subject?.id)))
  }
  const report = verifyBundle(await given.ambit.evidence.export(id))
  assert.deepEqual([report.valid, report.first], [true, null])
})

test('a run counts what it used, and warns where no price is known [F-27]', async () => {
  const usage = { inputTokens: 1_000, outputTokens: 500 }
  const turns = [
    { calls: [{ name: 'test_echo' }], usage },
    { text: 'done', usage },
  ]
  const desk = agent('desk', turns, { tools: [echo()] })
  const free = await givenRuns({ agents: [desk] })
  const unpriced = await free.run('desk')
  const counted = { tool_calls: 1, model_turns: 2, input_tokens: 2_000, output_tokens: 1_000 }
  assert.deepEqual(unpriced.usage, { ...counted, cost_cents: null })
  assert.deepEqual(
    unpriced.warnings.map(({ code }) => code),
    ['cost_unknown'],
  )
  const paid = await givenRuns({
    agents: [agent('desk', turns, { tools: [echo()] })],
    prices: { scripted: { input: 1_000, output: 2_000 } },
  })
  const priced = await paid.run('desk')
  assert.deepEqual(priced.usage, { ...counted, cost_cents: 4 })
  assert.deepEqual(priced.warnings, [])
})

test('a stream and a result tell of the same run in the same way [G-72]', async () => {
  const make = (tools = [echo()]) =>
    givenRuns({
      agents: [
        agent('desk', [calls('test_echo'), calls('test_none'), 'done'], { tools }),
        agent('limited', () => calls('test_echo'), { tools }),
        agent('failing', [new Error('away')]),
      ],
    })
  for (const [name, options] of [['desk'], ['limited', { limits: { calls: 1 } }], ['failing']] as const) {
    const [streamed, plain] = [await make(), await make()]
    const run = await streamed.ambit.run(name, 'go', options)
    const seen: RunEvent[] = []
    for await (const event of run.events()) seen.push(event)
    const record = await run.result()
    const other = await (await plain.ambit.run(name, 'go', options)).result()
    const shape = ({ status, result, error, usage, surface, warnings }: typeof record) =>
      JSON.stringify({ status, result, error, usage, surface, warnings })
    assert.equal(shape(other), shape(record))
    const nameless = (value: unknown, id: string): string => JSON.stringify(value).replaceAll(id.slice(4), '')
    const told = (events: readonly RunEvent[], id: string) =>
      events.map(({ type, data: { facts_hash: _, compiled_context_hash: __, content_hash: ___, ...data } }) => [
        type,
        nameless(data, id),
      ])
    assert.deepEqual(told(seen, record.run_id), told(await plain.events(other.run_id), other.run_id))
    assert.deepEqual(seen.at(-1)?.data, {
      ...{ status: record.status, result: record.result, error: record.error, usage: record.usage },
    })
  }
})

test('events can be read on from any number [G-70]', async () => {
  const given = await givenRuns({ agents: [agent('desk', [callsEcho, 'done'], { tools: [echo()] })] })
  const { run_id: id } = await given.run('desk')
  const all = await given.events(id)
  for (const { event_id: since } of all) {
    const rest = []
    for await (const event of given.ambit.runs.events(id, { since })) rest.push(event)
    assert.deepEqual(rest, all.slice(since))
  }
})

test('a run makes no more calls than it may: the call is refused, and the model goes on [F-27]', async () => {
  const { provider } = notes()
  const desk = agent('desk', [calls('test_echo', 'notes_read'), calls('test_echo'), 'done'], {
    tools: [echo()],
    resources: { notes: {} },
  })
  const given = await givenRuns({ agents: [desk], providers: [provider] })
  const run = await given.run('desk', 'go', { context: ['acme'], limits: { calls: 2 } })
  assert.deepEqual([run.status, run.result, run.usage.tool_calls], ['completed', 'done', 3])
  const ends = finishedIn(await given.events(run.run_id))
  assert.deepEqual(ends, ['test_echo ok', 'notes_read ok', 'test_echo blocked budget_tool_calls'])
})

test('the calls of a tree count against the one limit of its root, fifty unless said [F-27 R-112]', async () => {
  const child = agent('child', (request) => (request.messages.length > 40 ? 'done' : calls('test_echo')), {
    tools: [echo()],
  })
  const again = [calls(['agent_child', { input: 'a' }]), calls(['agent_child', { input: 'b' }]), 'done'] as const
  const desk = agent('desk', [again[0], again[1], calls(['agent_child', { input: 'c' }]), again[2]], { tools: [child] })
  const given = await givenRuns({ agents: [desk] })
  const run = await given.run('desk')
  const ends = finishedIn(await given.events(run.run_id))
  assert.equal(ends.filter((end) => end.endsWith(' ok')).length, 50)
  assert.ok(ends.includes('test_echo blocked budget_tool_calls'))
  assert.equal(run.status, 'completed')
})

test('a run that is active for too long fails, with what it waits for ended [F-27]', async () => {
  const given = await givenRuns({ agents: [agent('desk', silent)] })
  const run = await given.run('desk', 'go', { limits: { activeMs: 20 } })
  assert.deepEqual([run.status, run.result, run.error?.code], ['failed', null, 'budget_wall_clock'])
})

test('code and calls that wait beyond the active time do not hold a run up [F-27]', async () => {
  const forever = () => new Promise<never>(() => undefined)
  const code = defineAgent({ id: 'code', kind: 'tool', run: forever })
  const { provider, hold, told } = notes()
  const desk = agent('desk', [calls('notes_read'), 'done'], { resources: { notes: {} } })
  const given = await givenRuns({ agents: [code, desk], providers: [provider] })
  const first = await given.run('code', 'go', { limits: { activeMs: 20 } })
  assert.deepEqual([first.status, first.error?.code], ['failed', 'budget_wall_clock'])
  hold()
  const second = await given.run('desk', 'go', { context: ['acme'], limits: { activeMs: 200 } })
  assert.deepEqual([second.status, second.error?.code], ['failed', 'budget_wall_clock'])
  assert.equal(told[0]?.signal.aborted, true)
})

test('a model that never comes to an end fails the run with that, after a hundred turns [F-27]', async () => {
  const desk = agent('desk', () => calls('test_echo'), { tools: [echo()] })
  const given = await givenRuns({ agents: [desk] })
  const run = await given.run('desk', 'go', { limits: { calls: 10_000 } })
  assert.deepEqual([run.status, run.result, run.error?.code], ['failed', null, 'run_turns_exceeded'])
  assert.equal(run.usage.model_turns, 100)
})

const priced = { prices: { scripted: { input: 1_000_000, output: 0 } } }

test('a run ends at its limit of cost, and cannot be given one where no price is known [F-27]', async () => {
  const turn = { calls: [{ name: 'test_echo' }], usage: { inputTokens: 2, outputTokens: 9 } }
  const desk = () => agent('desk', () => turn, { tools: [echo()] })
  const given = await givenRuns({ agents: [desk()], ...priced })
  const run = await given.run('desk', 'go', { limits: { costCents: 5 } })
  assert.deepEqual([run.status, run.error?.code, run.usage.cost_cents], ['failed', 'budget_cost', 6])
  assert.equal((await given.run('desk')).usage.cost_cents, 26)
  const free = await givenRuns({ agents: [desk()] })
  await assert.rejects(free.run('desk', 'go', { limits: { costCents: 5 } }), { code: 'run.limit' })
  assert.deepEqual((await free.ambit.runs.list()).runs, [])
})

test('a run with a limit of cost ends when its cost cannot be known any more [F-27]', async () => {
  const desk = agent('desk', [{ calls: [{ name: 'test_echo' }] }, 'done'], { tools: [echo()] })
  const given = await givenRuns({ agents: [desk], ...priced })
  const run = await given.run('desk', 'go', { limits: { costCents: 5 } })
  assert.deepEqual([run.status, run.error?.code], ['failed', 'budget_cost'])
})

test('a request id starts one run, however often and wherever it is sent [R-11]', async () => {
  const desk = agent('desk', () => 'done')
  const given = await givenRuns({ agents: [desk] })
  const start = () => given.ambit.runs.start('desk', 'go', { requestId: 'req-1' })
  const started = await Promise.all(Array.from({ length: 8 }, start))
  assert.equal(new Set(started.map(({ run_id }) => run_id)).size, 1)
  assert.equal((await start()).run_id, started[0]?.run_id)
  await assert.rejects(given.ambit.runs.start('desk', 'other', { requestId: 'req-1' }), { code: 'request.conflict' })
  const ada = await given.as('ada')
  assert.notEqual((await ada.runs.start('desk', 'go', { requestId: 'req-1' })).run_id, started[0]?.run_id)
  await given.ambit.run('desk', 'go', { requestId: 'req-1' }).then((run) => run.result())
  assert.equal((await given.ambit.runs.list()).runs.length, 2)
})

test('a model that fails, fails the run with its code; tools that throw do not [F-27 G-75]', async () => {
  const broken = echo({ id: 'test.broken' })
  const throwing = { ...broken, handler: () => Promise.reject(new Error('secret words')) }
  const given = await givenRuns({
    agents: [
      agent('failing', [new Error('no such key sk-123')]),
      agent('desk', [calls('test_broken'), 'done'], { tools: [throwing] }),
    ],
  })
  const failed = await given.run('failing')
  assert.deepEqual([failed.status, failed.error?.code], ['failed', 'model_failed'])
  assert.doesNotMatch(JSON.stringify(failed), /sk-123/)
  const run = await given.run('desk')
  assert.equal(run.status, 'completed')
  assert.match(finishedIn(await given.events(run.run_id))[0] ?? '', /^test_broken error /)
})

test('input and output of an agent are held against its schemas [F-27]', async () => {
  const schema = { type: 'object', properties: { sum: { type: 'integer' } }, required: ['sum'] } as const
  const given = await givenRuns({
    agents: [
      defineAgent({
        ...{ id: 'adder', instruction: 'Add.', input: schema, output: schema },
        model: scriptedModel(['```json\n{"sum": 3}\n```', 'three']),
      }),
    ],
  })
  await assert.rejects(given.run('adder', 'words'), { code: 'args.invalid' })
  assert.deepEqual((await given.run('adder', { sum: 1 })).result, { sum: 3 })
  const { status, error } = await given.run('adder', { sum: 1 })
  assert.deepEqual([status, error?.code], ['failed', 'output_invalid'])
})

const tree = z.object({
  name: z.string(),
  get below() {
    return z.array(tree)
  },
})
const inDefinitions = {
  type: 'object',
  properties: { name: { $ref: '#/$defs/name' }, below: { type: 'array', items: { $ref: '#' } } },
  required: ['name', 'below'],
  $defs: { name: { type: 'string' } },
}
test.each([
  ['Zod', tree],
  ['JSON Schema', inDefinitions],
])(
  'an input schema in %s that refers to parts of itself holds for a run and a child alike [F-27 G-35]',
  async (_, input) => {
    const counter = defineAgent({ id: 'counter', kind: 'tool', input: input as never, run: () => 'counted' })
    const good = { name: 'a', below: [{ name: 'b', below: [] }] }
    const bad = { name: 'a', below: [{ name: 7, below: [] }] }
    const turn = calls(['agent_counter', { input: good }], ['agent_counter', { input: bad }])
    const given = await givenRuns({ agents: [agent('desk', [turn, 'done'], { tools: [counter] })] })
    const { run_id } = await given.run('desk')
    const ends = finishedIn(await given.events(run_id)).toSorted()
    assert.deepEqual(ends, ['agent_counter ok', 'agent_counter rejected args_invalid'])
    assert.equal((await given.run('counter', good)).result, 'counted')
    await assert.rejects(given.run('counter', bad), { code: 'args.invalid' })
  },
)

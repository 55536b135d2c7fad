// Whole runs whose model is a real provider of the AI SDK, over HTTP, against a server that others wrote.

import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { LLMock } from '@copilotkit/aimock'
import { afterAll, afterEach, beforeAll, test } from 'vitest'
import { readFences } from '../../src/fence/read.ts'
import { echo } from '../support/host.ts'
import { agent, finishedIn, type GivenRuns, givenRuns, notes, typesOf } from '../support/runs.ts'

const key = 'sk-run-4711-secret'
const server = new LLMock({ port: 0 })
beforeAll(() => server.start())
afterAll(() => server.stop())
afterEach(() => {
  server.clearFixtures().clearRequests()
})

// A connection that is kept would hold the server up when it stops.
const headers = { connection: 'close' }
const modelAt = (path: string) =>
  createOpenAICompatible({
    name: 'acme',
    baseURL: `${server.url}${path}`,
    apiKey: key,
    includeUsage: true,
    headers,
  }).chatModel('m1')

let mounted = 0
/** A path of the same server that answers as no fixture can. */
function modelThat(answers: (response: ServerResponse) => void) {
  const path = `/run${++mounted}`
  server.mount(path, {
    handleRequest: async (request, response) => {
      request.resume()
      answers(response)
      return true
    },
  })
  return modelAt(path)
}

const chunk = (delta: object): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { role: 'assistant', ...delta } }] })}\n\n`

async function givenDesk(model: unknown = modelAt('/v1')): Promise<GivenRuns & ReturnType<typeof notes>> {
  const own = notes()
  const desk = agent('desk', [], { model, tools: [echo()], resources: { notes: {} } })
  const made = await givenRuns({
    agents: [desk],
    providers: [own.provider],
    prices: { 'acme.chat/m1': { input: 10_000, output: 20_000 } },
  })
  return { ...own, ...made }
}

const start = (given: GivenRuns, options = {}) => given.run('desk', 'go', { context: ['acme'], ...options })

/** The last request that the server was sent. */
const sent = () =>
  server.getRequests().at(-1)?.body as {
    messages: { role: string; content: string }[]
    tools: { function: { name: string } }[]
  }

const call = (name: string, args: string, id = `call_${name}`) => ({ id, name, arguments: args })

test('a run calls tools of both kinds at once, is given their answers in fences, and counts what was used [F-26 F-27]', async () => {
  const toolCalls = [call('test_echo', '{"text":"hi"}'), call('notes_read', '')]
  const [first, second] = [
    { prompt_tokens: 100, completion_tokens: 10 },
    { prompt_tokens: 200, completion_tokens: 20 },
  ]
  server.on({ userMessage: 'go', hasToolResult: false }, { content: 'I look.', toolCalls, usage: first })
  server.on({ hasToolResult: true }, { content: 'Two things.', usage: second })
  const given = await givenDesk()
  const run = await start(given)
  assert.deepEqual([run.status, run.result], ['completed', 'Two things.'], run.error?.message)
  assert.deepEqual(run.usage, { tool_calls: 2, model_turns: 2, input_tokens: 300, output_tokens: 30, cost_cents: 3.6 })
  assert.deepEqual(finishedIn(await given.events(run.run_id)).toSorted(), ['notes_read ok', 'test_echo ok'])
  const { messages, tools } = sent()
  assert.deepEqual(
    tools.map((each) => each.function.name),
    run.surface.tools,
  )
  const answers = messages.filter(({ role }) => role === 'tool').map(({ content }) => readFences(content))
  assert.deepEqual(
    answers.map((reading) => reading.ok && reading.fences.map(({ text }) => text)),
    [['{"echo":{"text":"hi"}}'], ['the notes']],
  )
})

const refused = [
  ['a tool that is not there', 'no_such_tool', '{}', 'rejected capability_unsurfaced'],
  ['a tool that is hidden', 'notes_write', '{"text":"x"}', 'rejected resource_read_only'],
  ['a tool with JSON that is cut', 'test_echo', '{"text":', 'rejected args_invalid'],
  ['a tool with JSON that is no object', 'test_echo', '[1]', 'rejected args_invalid'],
  ['a tool with a member twice', 'test_echo', '{"text":"a","text":"b"}', 'rejected args_invalid'],
] as const

test.each(refused)(
  'a model that asks for %s is told so, and the run goes on [F-26 F-27 G-58]',
  async (_, tool, args, end) => {
    server.on({ userMessage: 'go', hasToolResult: false }, { toolCalls: [call(tool, args)] })
    server.on({ hasToolResult: true }, { content: 'I see.' })
    const given = await givenDesk()
    const run = await start(given)
    assert.deepEqual([run.status, run.result, given.told], ['completed', 'I see.', []], run.error?.message)
    assert.deepEqual(finishedIn(await given.events(run.run_id)), [`${tool} ${end}`])
    const code = end.split(' ')[1] ?? ''
    assert(sent().messages.at(-1)?.content.includes(`"code":"${code}"`))
    const denied = (await given.evidence(run.run_id)).filter(({ outcome }) => outcome === 'denied')
    assert.equal(denied.length, 1)
  },
)

test('a model that is limited is asked again, and the turn says how often [F-26 F-27]', async () => {
  let asked = 0
  server.onMessage('go', () =>
    ++asked === 1 ? { error: { message: 'Rate limit reached' }, status: 429 } : { content: 'Now.' },
  )
  const given = await givenDesk()
  const run = await start(given)
  assert.deepEqual([run.status, run.result, asked], ['completed', 'Now.', 2])
  const turn = (await given.events(run.run_id)).find(({ type }) => type === 'plan.proposed')
  assert.equal(turn?.data['retries'], 1)
})

const broken: [what: string, answers: (response: ServerResponse) => void, code: string][] = [
  [
    'cuts its stream in a text',
    (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(chunk({ content: 'half' }), () => setImmediate(() => response.destroy()))
    },
    'model_failed',
  ],
  [
    'ends its stream in the arguments of a call',
    (response) => {
      const calling = { index: 0, id: 'call_1', type: 'function', function: { name: 'test_echo', arguments: '{"te' } }
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(chunk({ tool_calls: [calling] }))
    },
    'model_failed',
  ],
  [
    'refuses the key',
    (response) => {
      response.writeHead(401, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ error: { message: `the key ${key} is not good` } }))
    },
    'model_failed',
  ],
  ['answers something else than a stream', (response) => response.end('<html>hello</html>'), 'model_failed'],
]

test.each(broken)(
  'a model that %s fails the run: no tool is called, and the key is not told [F-11 F-26 F-27]',
  async (_, answers, code) => {
    let asked = 0
    const given = await givenDesk(
      modelThat((response) => {
        asked++
        answers(response)
      }),
    )
    const run = await start(given)
    assert.deepEqual([run.status, run.result, run.error?.code, asked], ['failed', null, code, 1])
    const events = await given.events(run.run_id)
    assert.deepEqual(typesOf(events), ['run.started', 'compile.done', 'run.finished'])
    assert(!JSON.stringify([run, events, await given.evidence(run.run_id)]).includes(key))
  },
)

const silences: [what: string, begin: (response: ServerResponse) => void][] = [
  ['never begins to answer', () => undefined],
  [
    'falls silent in its answer',
    (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(chunk({ content: 'half' }))
    },
  ],
]

test.each(silences)(
  'a model that %s is left at the end of the active time, and when the run is cancelled [F-26 F-27 G-73]',
  async (_, begin) => {
    for (const ending of ['budget_wall_clock', 'run_cancelled']) {
      const [asked, left] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const given = await givenDesk(
        modelThat((response) => {
          response.on('close', left.resolve)
          begin(response)
          asked.resolve()
        }),
      )
      const isCancelled = ending === 'run_cancelled'
      const run = await given.ambit.run('desk', 'go', { ...(isCancelled ? {} : { limits: { activeMs: 100 } }) })
      await asked.promise
      if (isCancelled) await run.cancel()
      const { status, error } = await run.result()
      assert.deepEqual([status, error?.code], [isCancelled ? 'cancelled' : 'failed', ending])
      await left.promise
    }
  },
)

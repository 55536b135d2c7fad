import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test, vi } from 'vitest'
import type { Json } from '../../src/base/canonical.ts'
import { type CapabilitySpec, defineCapability, type Handler } from '../../src/gateway/capability.ts'
import type { ContextContract } from '../../src/model/context.ts'
import type { Policy } from '../../src/model/policy.ts'
import { exportBundle } from '../../src/runtime/evidence/export.ts'
import { operator } from '../../src/runtime/identity/caller.ts'
import { rows } from '../../src/storage/work.ts'
import { type GivenServer, givenServer } from '../support/server.ts'
import { givenTracer } from '../support/tracer.ts'

// Values without any mark: no schema, contract or name says that they are sensitive.
let turn = 0
const made = new Set<string>()
function raw(): string {
  const value = `raw${createHash('sha256').update(`raw/${turn++}`).digest('hex').slice(0, 16)}`
  made.add(value)
  return value
}
const rawNumber = (): number => {
  const value = 700_000_000 + turn++ * 7919
  made.add(String(value))
  return value
}

const payload = (): Json => ({
  text: raw(),
  number: rawNumber(),
  list: [raw(), { inner: raw() }],
  level: 1,
  [raw()]: raw(),
})

/** Throws from a function whose name stands in the stack, with all that an error can carry. */
function failing(name: string): never {
  const thrower = {
    [name]: () => {
      throw Object.assign(new Error('the depot is closed', { cause: new Error(raw()) }), {
        detail: raw(),
        data: [raw()],
      })
    },
  }
  thrower[name]?.()
  throw new Error('not reached')
}

const contract: ContextContract = {
  name: 'depot',
  version: '1.0.0',
  identifies: 'what it is about',
  fields: {
    level: { source: 'payload:/level', schema: { type: 'integer' }, evidence: 'value', read_by: ['levels'] },
    text: { source: 'payload:/text', schema: { type: 'string', maxLength: 40 }, required: false },
    omitted: { source: 'payload:/number', schema: { type: 'integer' }, evidence: 'omit', required: false },
  },
  example: { level: 1 },
}

const levels: Policy = {
  name: 'levels',
  version: '1',
  applies_to: ['raw.ruled'],
  rules: [
    { id: 'allow', when: { '==': [{ var: 'context.level' }, 1] }, decision: 'allow' },
    { id: 'deny', when: { '>': [{ var: 'context.level' }, 1] }, decision: 'deny' },
  ],
}

const of = (
  name: string,
  spec: Partial<CapabilitySpec>,
  handler: Handler<never, never> | ((input: unknown) => unknown),
) =>
  defineCapability(
    { id: `raw.${name}`, version: '1.0.0', description: 'Does something.', policy: {}, ...spec } as CapabilitySpec,
    handler as never,
  )

const narrow = {
  type: 'object',
  properties: { text: { enum: ['a', 'b'] }, number: { maximum: 5 } },
  additionalProperties: false,
}
const endless = () => new Promise(() => undefined)

const offer = {
  capabilities: [
    of('good', { modes: ['sync', 'async', 'stream'] }, () => ({ receipt: raw(), deep: [{ [raw()]: raw() }] })),
    of('stream', { modes: ['sync', 'stream'] }, async function* () {
      yield { delta: raw() }
      yield raw()
      return { joined: raw() }
    } as never),
    of('breaks', { modes: ['sync', 'stream'] }, async function* () {
      yield raw()
      failing(raw())
    } as never),
    of('throws', {}, () => failing(raw())),
    of('rejects', {}, () => Promise.reject({ message: 7, secretly: raw(), toString: () => raw() })),
    of('strings', { effects: ['x.change'] }, () => failing(raw())),
    of('input', { input: narrow }, () => null),
    of('output', { output: narrow }, () => ({ text: raw(), [raw()]: raw() })),
    of('cycle', {}, () => {
      const value: Record<string, unknown> = { text: raw(), fn: () => raw() }
      value['self'] = value
      return value
    }),
    of('slow', { timeoutS: 0.01 }, endless),
    of('doubt', { timeoutS: 0.01, effects: ['x.change'] }, endless),
    of('ruled', { context: contract, policy: { name: 'levels' } }, () => ({ text: raw() })),
    of('asks', { policy: { approval_required: true } }, () => null),
    of('asks_nobody', { input: narrow, policy: { approval_required: true } }, () => null),
    of('pattern', {}, () => null),
    of('unsafe', {}, () => null),
    of('limited', { autonomy: { action_limit: 1 } }, () => raw()),
  ],
  policies: [levels],
  patterns: [{ capability_id: 'raw.pattern', field: 'text', pattern: '^raw' }],
  safety: ({ capabilityId }: { capabilityId: string }) =>
    ({ approved: capabilityId !== 'raw.unsafe', level: 'low', score: 0.25 }) as const,
}

test('no value of a payload, result, chunk or stack is in evidence, logs, metrics or traces, marked or not [H-70]', async () => {
  const spans = givenTracer()
  const said: string[] = []
  for (const method of ['log', 'info', 'warn', 'error', 'debug', 'trace'] as const)
    vi.spyOn(console, method).mockImplementation((...words) => void said.push(words.map(String).join(' ')))
  for (const stream of [process.stdout, process.stderr])
    vi.spyOn(stream, 'write').mockImplementation((text) => said.push(String(text)) > 0)
  const server = await givenServer({ offer })
  const ends = new Set<string>()
  const call = async (name: string, more: object = {}): Promise<void> => {
    const body = { capability_id: `raw.${name}`, correlation: { correlation_id: 'task' }, payload: payload(), ...more }
    const { status, text } = await server.ask('POST', '/invoke', { body })
    for (const [, end = ''] of text.matchAll(/"(?:outcome|code)":"([a-z_]+)"/g)) ends.add(end)
    if (status !== 200) ends.add(String(status))
  }

  for (const { descriptor } of server.host.current().registry.all()) await call(descriptor.id.slice('raw.'.length))
  for (const mode of ['stream', 'async', 'batch']) await call('good', { mode })
  for (const mode of ['stream', 'sync']) await call('stream', { mode })
  await call('breaks', { mode: 'stream' })
  await call('limited')
  await call('nothing')
  for (const level of [2, raw(), null]) await call('ruled', { payload: { level, text: raw() } })
  await call('ruled', { payload: { level: 1, text: raw().repeat(9) } })
  await call('output', { require_output_schema: true })
  await call('good', { invocation_id: 'inv-1', payload: { text: raw() } })
  await call('good', { invocation_id: 'inv-1', payload: { text: raw() } })
  await call('good', { metadata: { context: { [raw()]: raw() } } })
  await call('good', { payload: [raw()] })
  await server.ask('POST', '/v1/preview', { body: { capability_id: 'raw.input', payload: payload() } })
  await server.ask('POST', '/invoke', { raw: `{"payload": "${raw()}` })

  const places = await placesOf(server)
  vi.restoreAllMocks()
  const found = Object.entries({ ...places, spans: JSON.stringify(spans), logs: said.join('\n') }).flatMap(
    ([place, text]) =>
      [...made].filter((value) => text.includes(value)).map((value) => `${place}: ${around(text, value)}`),
  )
  assert.deepEqual(found, [])
  // They were there: what is kept to answer a repeat with has them.
  const kept = JSON.stringify(await server.ambit.database.read(() => rows('SELECT result FROM claims')))
  assert([...made].some((value) => kept.includes(value)))
  assert(made.size > 100 && spans.length > 30)
  for (const end of [
    ...[
      'success',
      'failure',
      'denied',
      'indeterminate',
      '400',
      'approval_required',
      'budget_exceeded',
      'safety_blocked',
    ],
    ...[
      'capability_not_found',
      'unsupported_mode',
      'input_schema_validation_failed',
      'output_schema_validation_failed',
    ],
    'policy_blocked',
  ])
    assert(ends.has(end), end)
})

const around = (text: string, value: string): string =>
  text.slice(Math.max(0, text.indexOf(value) - 200), text.indexOf(value) + 40)

async function placesOf({ ambit, host, ask }: GivenServer): Promise<Readonly<Record<string, string>>> {
  const me = operator(host.tenant)
  const tables = ['events', 'event_sections', 'checkpoints', 'clocks', 'budget_uses', 'leases']
  const dumped = await Promise.all(
    tables.map(async (table) => [
      table,
      JSON.stringify(await ambit.database.read(() => rows(`SELECT * FROM ${table}`))),
    ]),
  )
  return {
    ...Object.fromEntries(dumped),
    bundle: JSON.stringify(await exportBundle(ambit, me, 'task')),
    metrics: (await ask('GET', '/metrics')).text,
  }
}

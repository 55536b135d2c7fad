import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { canonical, type Json } from '../../src/base/canonical.ts'
import { Failure } from '../../src/base/failure.ts'
import { type FailureCode, statusOf, wireCode } from '../../src/base/failure-codes.ts'
import { connect } from '../../src/client/connect.ts'
import type { Ambit } from '../../src/operations/ambit.ts'
import { testAgents, testCapabilities } from '../support/agents.ts'
import { type Refusal, refusals, type Scene } from '../support/bad-input.ts'
import { throughDoors } from '../support/doors.ts'
import { agent, givenRuns } from '../support/runs.ts'
import { givenServer } from '../support/server.ts'

/** One door as two people see it, and the last answer that went over a wire, where there is one. */
interface Door {
  readonly admin: Ambit
  readonly stranger: Ambit
  readonly model: ReturnType<typeof testAgents>['model']
  readonly answered: () => { readonly status: number; readonly type: string | null; readonly text: string } | undefined
}

const protect = [{ path: 'acme/hr', segmentsBelowMin: 2 }]
const roots = ['acme', 'secret-root']

async function library(): Promise<Door> {
  const { agents, model } = testAgents()
  const config = { tenant: 'northlight', capabilities: testCapabilities, protect, ...agents }
  const given = await givenRuns(config as never, { roots, served: true })
  return { admin: await given.as('ada', ['admin']), stranger: await given.as('pat'), model, answered: () => undefined }
}

async function http(): Promise<Door> {
  const { agents, model } = testAgents()
  const { app, keyOf } = await givenServer({ offer: { capabilities: testCapabilities }, agents, roots, protect })
  let last: ReturnType<Door['answered']>
  const clientOf = async (id: string, roles: string[]) =>
    connect('http://localhost', await keyOf({ id, kind: 'user', roles }), {
      fetch: async (url, init) => {
        const response = await app.fetch(new Request(url as string, init))
        if (response.ok) return response
        last = {
          status: response.status,
          type: response.headers.get('content-type'),
          text: await response.clone().text(),
        }
        return response
      },
    })
  return { admin: await clientOf('ada', ['admin']), stranger: await clientOf('pat', []), model, answered: () => last }
}

/** A run that waits in a session, one that has ended, and what they have remembered. */
async function givenScene({ admin }: Door): Promise<Scene> {
  const run = async (input: string, options = {}) => (await admin.run('clerk', input, options)).settled()
  const write = (content: string) => run(`call memory_write {"content":"${content}"}`, { context: ['acme/eu'] })
  const { run_id: ended } = await write('tea')
  await write('coffee')
  const { entries } = await admin.memory.list('acme/eu')
  const [forgotten = '', superseded = ''] = entries.map(({ entry_id }) => entry_id)
  await run(`call memory_correct {"id":"${superseded}","content":"milk"}`, { context: ['acme/eu'] })
  await admin.memory.forget(forgotten)
  await run('first', { requestId: 'r-1' })
  const { run_id: waiting } = await run('call test_pay {}', { sessionId: 'desk-7' })
  return { waiting, ended, superseded, forgotten }
}

async function failureOf(door: Door, scene: Scene, { ask, isStranger }: Refusal): Promise<Failure> {
  const error: unknown = await ask(isStranger ? door.stranger : door.admin, scene).then(
    () => assert.fail('it was not refused'),
    (thrown: unknown) => thrown,
  )
  if (error instanceof assert.AssertionError) throw error
  assert(error instanceof Failure, String(error))
  return error
}

/** What is wrong with how something was refused, whichever the door. */
function check(failure: Failure, { status, code, says, data }: Refusal): void {
  const { message } = failure
  assert.deepEqual([wireCode(failure.code), statusOf[failure.code]], [code, status], message)
  if (typeof says === 'string') assert.equal(message, says)
  else assert.match(message, says)
  const { status: _, ...own } = failure.data
  if (data !== undefined) assert.deepEqual(own, data, message)
  assert.match(message, /^[a-z`]/)
  for (const [value] of message.matchAll(/`[^`]*`/g)) assert([...value].length <= 4 * 82, value)
  assert(message.length < 400, message)
  assert.doesNotMatch(`${message}${JSON.stringify(own)}${failure.help}`, /secret-root|northlight|at .*\.ts:/)
}

describe.each(Object.entries(refusals))('%s [G-75]', (_, rows) => {
  test('are refused in the library, each with its code and words, and nothing is begun [G-75]', async () => {
    const door = await library()
    const scene = await givenScene(door)
    const before = [(await door.admin.runs.list()).runs.length, door.model.requests.length]
    for (const row of rows) check(await failureOf(door, scene, row), row)
    assert.deepEqual([(await door.admin.runs.list()).runs.length, door.model.requests.length], before)
  })

  test('are refused over HTTP in the same words, as problem+json with its status [G-75]', async () => {
    const [door, other] = [await http(), await library()]
    const [scene, there] = [await givenScene(door), await givenScene(other)]
    for (const row of rows) {
      // No JSON carries half a letter: it is refused where it is read.
      if (row.data?.['reason'] === 'encoding') continue
      const failure = await failureOf(door, scene, row)
      check(failure, row)
      const answer = door.answered()
      assert.deepEqual([answer?.status, answer?.type], [row.status, 'application/problem+json'])
      const { code, detail, data = {}, remediation } = JSON.parse(answer?.text ?? '')
      assert.equal(code, row.code)
      const known = await failureOf(other, there, row)
      const nameless = (told: Json) => canonical(told).replace(/(run_|mem_)[0-9a-f]{16}/g, '$1')
      assert.equal(
        nameless([detail, data, remediation ?? '']),
        nameless([known.message, known.data as Json, known.help ?? '']),
      )
    }
  })
})

const clerk = { 'clerk.yaml': 'id: clerk\nversion: 1.0.0\nkind: llm\ninstruction: Work.\n' }

/** What is typed, how it ends, and what is said of it. */
const typed: readonly (readonly [line: string, exit: number, code: string, says: string])[] = [
  ['run clerk --grant acme//eu', 2, 'grant_invalid', 'grant `acme//eu` is not valid: empty segment'],
  ['run clerk --grant acme --grant acme/*', 2, 'grant_invalid', 'grant `acme/*` is not valid: wildcard'],
  [`run clerk --grant ${'x'.repeat(600)}`, 2, 'grant_limit', 'grant exceeds 512 bytes'],
  ['run clerk --grant other', 1, 'grant_outside_root', 'grant `other` is outside this tenant'],
  ['run clerk --session a/b', 2, 'id_invalid', 'id `a/b` is not valid'],
  ['run clerk --context-id a/b', 2, 'id_invalid', 'id `a/b` is not valid'],
  ['run clerk --tool-context {"run":1}', 2, 'reserved_name', '`run` is reserved'],
  ['run nobody', 1, 'agent_not_found', 'agent `nobody` not found'],
  ['runs show run_0000000000000000', 1, 'run_not_found', 'run `run_0000000000000000` not found'],
  ['runs cancel nothing', 1, 'run_not_found', 'run `nothing` not found'],
  ['runs watch nothing', 1, 'run_not_found', 'run `nothing` not found'],
  ['runs list --cursor zzz', 2, 'cursor_invalid', 'the cursor is not valid'],
  ['grants revoke path acme/*', 2, 'grant_invalid', 'grant `acme/*` is not valid: wildcard'],
  ['memory list acme//eu', 2, 'grant_invalid', 'grant `acme//eu` is not valid: empty segment'],
  ['memory erase other', 1, 'grant_outside_root', 'grant `other` is outside this tenant'],
  ['memory read mem_0', 1, 'memory_not_found', 'entry `mem_0` is not there'],
]

test('are refused at the command line in the same words, here and at a host, for people and for programs [G-75]', async () => {
  await throughDoors({ files: clerk, turn: `() => ({ text: 'done' })` }, async ({ shell, url }) => {
    for (const [line, exit, code, says] of typed)
      for (const more of [[], ['--url', url]]) {
        const words = [...line.split(' '), ...more]
        const { code: left, out, err } = await shell.run(...words)
        assert.deepEqual([left, out], [exit, ''], `${line}: ${err}`)
        assert(err.startsWith(`error: ${says}`) && err.includes(`(${code})\n`), err)
        const told = (await shell.run(...words, '--json')).json<{ code: string; detail: string }>()
        assert.deepEqual([told.code, told.detail], [code, says])
      }
    assert.deepEqual((await shell.good('runs', 'list', '--json')).json(), { runs: [] })
  })
})

test('a tenant without roots holds no grants, in the library either [G-75 G-24]', async () => {
  const given = await givenRuns({ tenant: 'northlight', agents: [agent('clerk', ['done'])] }, { served: true })
  await assert.rejects(given.run('clerk', 'hi', { context: ['acme'] }), {
    code: 'grant.no_root',
    message: 'this tenant has no namespace root',
  })
})

/** The codes that runs, grants, resources and memory have, by the status that answers a request with them. */
const codes: Readonly<Record<number, string>> = {
  400: `grant_invalid grant_limit grant_list_invalid manifest_invalid args_invalid reserved_name id_invalid
    scratchpad_limit cursor_invalid template_invalid memory_content_invalid json_invalid`,
  401: 'unauthenticated',
  403: `grant_not_mintable grant_outside_root grant_no_root grant_protected grant_outside_parent grant_expired
    grant_revoked grant_missing resource_read_only resource_ceiling resource_scope_denied capability_unsurfaced
    file_outside_root`,
  404: 'run_not_found memory_not_found file_not_found',
  409: 'session_busy run_finished memory_superseded file_conflict',
  413: 'memory_too_large file_too_large payload_too_large',
  422: `resource_unknown_kind resource_mode_unsupported resource_tool_conflict run_depth_exceeded
    pipeline_iterations_exceeded`,
  502: 'resource_scope_violation resource_provider_failed',
  504: 'resource_provider_timeout',
}

test('each code has one status, and only trouble of a provider has one of 5xx [G-75]', () => {
  const known = new Map(Object.entries(statusOf).map(([code, status]) => [wireCode(code as FailureCode), status]))
  for (const [status, names] of Object.entries(codes))
    for (const name of names.split(/\s+/)) assert.equal(known.get(name), Number(status), name)
})

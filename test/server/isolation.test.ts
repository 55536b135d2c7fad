import assert from 'node:assert/strict'
import { test, vi } from 'vitest'
import type { Json } from '../../src/base/canonical.ts'
import { defineCapability } from '../../src/gateway/capability.ts'
import type { EvidenceEvent } from '../../src/model/evidence.ts'
import { tenantId } from '../../src/model/identity/tenant-id.ts'
import { jsonSchemaOf } from '../../src/model/schemas.ts'
import { type Operation, routeOf } from '../../src/operations/operation.ts'
import { issueKey } from '../../src/runtime/identity/api-keys.ts'
import { addApprover } from '../../src/runtime/identity/approvers.ts'
import { operator } from '../../src/runtime/identity/caller.ts'
import { createPrincipal } from '../../src/runtime/identity/principals.ts'
import { createTenant, setTenantStatus } from '../../src/runtime/identity/tenants.ts'
import { routes } from '../../src/server/routes.ts'
import { allPages } from '../../src/storage/page.ts'
import { findEvents } from '../../src/storage/tables/events.ts'
import { fixtureWithAgents } from '../support/agents.ts'
import { signatory } from '../support/evidence.ts'
import { signRevocation, signWitness } from '../support/evidence-statements.ts'
import { type AskOptions, answeredBy, type GivenServer, givenServer, requestOf } from '../support/server.ts'

const ids = ['northlight', 'southwind'] as const
type Id = (typeof ids)[number]

/** One tenant as the walk knows it: the key of an administrator, ids that can be asked for, and words that only it has. */
interface Side {
  readonly id: Id
  readonly key: string
  readonly names: readonly string[]
  readonly words: readonly string[]
}

async function keyIn({ ambit }: GivenServer, id: string, principal: string): Promise<string> {
  const me = operator(tenantId(id))
  await createPrincipal(ambit, me, { id: principal, kind: 'user', roles: ['admin'] })
  await addApprover(ambit, me, { principal, roles: [] })
  return (await issueKey(ambit, me, { principal })).secret
}

interface Sent extends AskOptions {
  readonly method: string
  readonly path: string
}

const send = async ({ app }: GivenServer, key: string | null, { method, path, ...options }: Sent) =>
  answeredBy(await app.fetch(requestOf('http://localhost', method, path, { key, ...options })), path)

const eventsIn = async ({ ambit }: GivenServer, id: string): Promise<readonly EvidenceEvent[]> => {
  const found = await ambit.store.read(() => allPages((page) => findEvents(tenantId(id), {}, page)))
  return found.map(({ body }) => JSON.parse(body) as EvidenceEvent)
}

/** Fills a tenant with one of everything: calls of all outcomes, a request for approval, statements of others. */
async function fill(server: GivenServer, id: Id): Promise<Side> {
  const key = await keyIn(server, id, `admin-of-${id}`)
  const post = async (path: string, body: object) => {
    const answered = await send(server, key, { method: 'POST', path, body })
    assert.equal(answered.status, 200, `${path}: ${answered.text}`)
    return answered.body
  }
  const invoke = (name: string, value: string) =>
    post('/invoke', {
      capability_id: `conformance.${name}`,
      payload: { value },
      invocation_id: `inv-of-${id}-${name}`,
      correlation: { correlation_id: `task-of-${id}` },
    })
  await invoke('echo', `canary-of-${id}`)
  await invoke('fail', `canary-of-${id}`)
  const { denial } = await invoke('approval', `canary-of-${id}`)
  const run = await runIn(server, id, key)
  const witness = signatory(`witness-of-${id}`, id === 'northlight' ? 21 : 22)
  const at = '2026-06-16T15:00:00.000Z'
  const { host_id, sequence, store_head } = (await send(server, key, { method: 'GET', path: '/head' })).body
  await post('/witness', signWitness({ host_id, sequence, store_head }, at, witness))
  const revoked = { mandate_id: `mnd-of-${id}`, revoked_at: at, reason: '' }
  await post('/revocations', signRevocation(revoked, witness))
  const { public_key, key_id } = (await send(server, null, { method: 'GET', path: `/v1/tenants/${id}/identity` })).body
  const events = await eventsIn(server, id)
  const calls = [`task-of-${id}`, `inv-of-${id}-echo`, denial.details.approval_id]
  const names = [...calls, ...run.names, id, `admin-of-${id}`]
  const unique = events.map((event) => event.event_id)
  const said = [`of-${id}`, ...run.words, host_id, store_head, public_key, key_id, witness.signer.publicKey]
  return { id, key, names, words: [...names, ...unique, ...said].filter((word) => word !== '') }
}

/** A run of the tenant that has ended, with a grant, a session and a bucket of its own. */
async function runIn(server: GivenServer, id: Id, key: string) {
  const names = { sessionId: `session-of-${id}`, contextIds: [`bucket-of-${id}`], requestId: `request-of-${id}` }
  const body = { agent: 'clerk', input: `canary-of-${id}`, context: [`paths/of-${id}`], ...names }
  const { status, body: run, text } = await send(server, key, { method: 'POST', path: '/v1/runs', body })
  assert.equal(status, 201, text)
  await send(server, key, { method: 'GET', path: `/v1/runs/${run.run_id}/events` })
  return { names: [run.run_id, run.grants[0].id], words: [run.trace_id] }
}

/** Every request that names something by `name`: in its path, or in any body that a path may read. */
function* requestsFor(name: string, method: 'GET' | 'POST') {
  const mcp = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params })
  const bodies = [
    { correlation_id: name },
    { decision: 'approve' },
    { capability_id: 'conformance.approval', invocation_id: name, payload: { value: 'asked' } },
    { capability_id: 'conformance.echo', payload: { value: 'asked' }, correlation: { correlation_id: name } },
    mcp('resources/read', { uri: `ambit://evidence/${name}` }),
    mcp('prompts/get', { name: 'explain_refusal', arguments: { invocation_id: name } }),
    mcp('tools/list', {}),
  ]
  const headers = { accept: 'application/json, text/event-stream' }
  for (const { path, operation } of routes.filter((route) => !route.public && route.method === method)) {
    const at = path.replace(/:[a-z]+/g, name)
    if (ofWholeStore.test(at)) continue
    if (method === 'GET') yield { method, path: at, headers }
    else for (const body of operation ? bodiesOf(operation, name) : bodies) yield { method, path: at, body, headers }
    if (method === 'GET' && at === path) yield { method, path: `${at}?cursor=${name}&limit=5`, headers }
  }
}

/** The administrator of the first tenant of a store may suspend the others. */
const ofWholeStore = /^\/v1\/tenants\/southwi\w+\/(?:revoke|resume)$/

/** Bodies of an operation that are in order, as far as its schema tells: every text is the name. */
function bodiesOf(operation: Operation, name: string): object[] {
  const { inPath } = routeOf(operation)
  const { properties = {}, required = [] } = jsonSchemaOf(operation.input) as InputSchema
  const given = (member: string): unknown => {
    const { type, enum: values } = properties[member] ?? {}
    return values?.[0] ?? (type === 'array' ? [name] : type === 'boolean' ? true : name)
  }
  const least = Object.fromEntries(required.filter((each) => !inPath.includes(each)).map((each) => [each, given(each)]))
  const texts = Object.keys(properties).filter(
    (each) => !inPath.includes(each) && given(each) === name && !required.includes(each),
  )
  return [least, ...texts.map((each) => ({ ...least, [each]: name }))]
}

interface InputSchema {
  readonly properties?: Readonly<Record<string, { readonly type?: string; readonly enum?: readonly string[] }>>
  readonly required?: readonly string[]
}

/** Answers that tell what the asking tenant itself did before, or does now. */
const isCounted = /^\/(?:metrics|head|v1\/(?:approvals|artifacts)$)/

/** What may differ between the answers to two names that both mean nothing. */
const comparable = (text: string, name: string): string =>
  text
    .replaceAll(encodeURIComponent(name), 'NAME')
    .replaceAll(name, 'NAME')
    .replace(/(?:evt|inv|cor|req|apr|key)_[0-9a-z]+(?:\.[\w-]+)?/g, 'ID')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replace(/[0-9a-f]{16,}/g, 'HEX')
    .replace(/[A-Za-z0-9+/]{42,}={0,2}/g, 'BASE64')
    .replace(/boundary[^\s"\\>]*|\d+/g, 'N')

test('over one server no tenant sees or changes anything of another, on any route, by any id [H-73 H-75 H-76]', async () => {
  const server = await givenServer({ ...fixtureWithAgents(), roots: ['paths'] })
  await createTenant(server.ambit, { id: 'southwind', hostId: 'southwind-depot', roots: ['paths'] })
  const sides = [await fill(server, 'northlight'), await fill(server, 'southwind')] as const
  let asked = 0
  for (const [me, other] of [sides, sides.toReversed() as [Side, Side]]) {
    const before = await eventsIn(server, other.id)
    // Looks before it changes: afterwards the asking tenant has things of the same names.
    for (const kind of ['GET', 'POST'] as const)
      for (const name of other.names) {
        const sent = kind === 'GET' ? [name] : other.names
        const hidden = other.words.filter((word) => !sent.includes(word))
        const unknown = `${name.slice(0, -2)}zz`
        const controls = [...requestsFor(unknown, kind)]
        for (const [index, request] of [...requestsFor(name, kind)].entries()) {
          const { status, text } = await send(server, me.key, request)
          const place = `${JSON.stringify(request)} of ${me.id}: ${text}`
          assert(status < 500, place)
          const others = sent.reduce((rest, each) => rest.replaceAll(each, ''), text)
          assert.deepEqual(
            hidden.filter((word) => others.includes(word)),
            [],
            place,
          )
          const control = controls[index]
          assert(control !== undefined)
          const nothing = await send(server, me.key, control)
          const isSame = comparable(text, name) === comparable(nothing.text, unknown) && status === nothing.status
          assert(isSame || isCounted.test(request.path), `${place}\nis not as for an unknown name: ${nothing.text}`)
          asked++
        }
      }
    assert.deepEqual(await eventsIn(server, other.id), before)
  }
  assert(asked > routes.length * 10, `${asked} requests`)
})

test('paths for everybody mean the configured tenant; the identity of any other is at a path of its own [H-75]', async () => {
  const server = await givenServer()
  await createTenant(server.ambit, { id: 'southwind', hostId: 'southwind-depot' })
  const key = await keyIn(server, 'southwind', 'sam')
  const get = (path: string) => server.ask('GET', path, { key })
  assert.equal((await get('/health')).body.host_id, 'northlight-depot')
  const own = (await get('/.well-known/chp-identity')).body
  assert.deepEqual((await get('/v1/tenants/northlight/identity')).body, own)
  const other = (await get('/v1/tenants/southwind/identity')).body
  assert.equal(other.host_identity.host_id, 'southwind-depot')
  assert.equal((await get('/host')).body.public_key, other.public_key)
  const answerFor = async (id: string) => {
    const { status, body } = await server.ask('GET', `/v1/tenants/${id}/identity`, { key: null })
    return [status, body.code]
  }
  assert.deepEqual(await answerFor('nobody'), [404, 'tenant_not_found'])
  for (const id of ['UPPER', '..%2F', '%00', 'x'.repeat(300)])
    assert.deepEqual(await answerFor(id), [400, 'field_invalid'], id)
})

/** A capability that waits until both tenants are in it, and says who called. */
function meeting() {
  const gate = Promise.withResolvers<void>()
  let inside = 0
  const capability = defineCapability(
    { id: 'depot.meet', version: '1.0.0', description: 'Waits for the other.', policy: {} },
    async (input, { subject }): Promise<Json> => {
      if (++inside === 2) gate.resolve()
      await gate.promise
      return { subject: subject.id, input: input as Json }
    },
  )
  return { capability, runs: () => inside }
}

test('two tenants call the same capability at once under the same id: each has its own effect, result and record [H-60 H-73]', async () => {
  const { capability, runs } = meeting()
  const server = await givenServer({ offer: { capabilities: [capability] } })
  await createTenant(server.ambit, { id: 'southwind' })
  const keys = await Promise.all(ids.map((id) => keyIn(server, id, `admin-of-${id}`)))
  const call = async (key: string | undefined, id: Id) => {
    const body = { capability_id: 'depot.meet', invocation_id: 'same', payload: { of: id } }
    return (await server.ask('POST', '/invoke', { key: key ?? '', body })).body
  }
  const first = await Promise.all(ids.map((id, index) => call(keys[index], id)))
  for (const [index, id] of ids.entries()) {
    assert.deepEqual(first[index].data, { subject: `admin-of-${id}`, input: { of: id } })
    const again = await call(keys[index], id)
    assert.deepEqual([again.replayed, again.data], [true, first[index].data])
    const events = (await eventsIn(server, id)).filter(({ invocation_id }) => invocation_id === 'same')
    assert.deepEqual(new Set(events.map(({ subject }) => subject?.id)), new Set([`admin-of-${id}`]))
  }
  assert.equal(runs(), 2)
})

test('rates, refusals and counts are of one tenant: the caller of the same name elsewhere is another [H-80 H-96]', async () => {
  const server = await givenServer({ limits: { requestsPerSecondMax: 3 }, clock: { now: () => 1_790_000_000_000 } })
  await createTenant(server.ambit, { id: 'southwind' })
  const [north = '', south = ''] = await Promise.all(ids.map((id) => keyIn(server, id, 'sam')))
  const status = async (key: string) => (await server.ask('GET', '/capabilities', { key })).status
  for (let index = 0; index < 3; index++) await status(north)
  assert.deepEqual([await status(north), await status(south)], [429, 200])
  const { text } = await server.ask('GET', '/metrics', { key: south })
  assert.deepEqual(text.match(/^ambit_requests.*\d$/gm), [
    'ambit_requests_total{route="/capabilities",status="200"} 1',
    'ambit_requests_in_flight 1',
  ])
})

test('a tenant that is suspended is refused at once though its host is open, and the others go on [H-73]', async () => {
  const server = await givenServer({ hosts: { idleMs: 0, tidyMs: 10 } })
  await createTenant(server.ambit, { id: 'southwind' })
  const [north = '', south = ''] = await Promise.all(ids.map((id) => keyIn(server, id, 'sam')))
  const statuses = async () => [
    (await server.ask('GET', '/capabilities', { key: north })).status,
    (await server.ask('GET', '/capabilities', { key: south })).status,
  ]
  assert.deepEqual(await statuses(), [200, 200])
  await setTenantStatus(server.ambit, operator(tenantId('southwind')), 'suspended')
  assert.deepEqual(await statuses(), [200, 401])
  await setTenantStatus(server.ambit, operator(tenantId('southwind')), 'active')
  assert.deepEqual(await statuses(), [200, 200])
  await setTenantStatus(server.ambit, operator(tenantId('northlight')), 'suspended')
  assert.deepEqual(await statuses(), [401, 200])
  // Configured keys mean the configured tenant.
  assert.equal((await server.ask('GET', '/capabilities', { key: 'key-of-alice' })).status, 403)
})

test('an MCP client that listens keeps the host of its tenant open, and lets it go when it ends [H-73]', async () => {
  const server = await givenServer({ hosts: { idleMs: 0, tidyMs: 10 } })
  await createTenant(server.ambit, { id: 'southwind' })
  const key = await keyIn(server, 'southwind', 'sam')
  const version = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' }
  const _meta = { ...version, 'io.modelcontextprotocol/clientCapabilities': {} }
  const params = { notifications: { toolsListChanged: true }, _meta }
  const headers = {
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'subscriptions/listen',
  }
  const body = { jsonrpc: '2.0', id: 7, method: 'subscriptions/listen', params }
  const answer = await server.app.fetch(requestOf('http://localhost', 'POST', '/mcp', { key, body, headers }))
  assert.equal(answer.status, 200)
  await new Promise((resolve) => setTimeout(resolve, 60))
  assert.deepEqual(server.hosts.open(), ids)
  await answer.body?.cancel()
  await vi.waitFor(() => assert.deepEqual(server.hosts.open(), ['northlight']))
})

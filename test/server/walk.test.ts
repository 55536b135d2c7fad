import assert from 'node:assert/strict'
import { test } from 'vitest'
import { verifyBundle } from '../../src/evidence/verify/verify.ts'
import { contracts } from '../../src/model/schemas.ts'
import { routes } from '../../src/server/routes.ts'
import { signatory } from '../support/evidence.ts'
import { signAnchor, signMandate, signRevocation, signWitness } from '../support/evidence-statements.ts'
import { servedServer } from '../support/serve.ts'
import { scopedKey } from '../support/server.ts'

const outsider = signatory('never-met', 11)
const now = '2026-06-16T15:00:00.000Z'

/** The value as this closed shape, which it must fit as it is. */
// biome-ignore lint/suspicious/noExplicitAny: a test says what it expects
function as(name: string, value: unknown): any {
  const parsed = contracts[name]?.schema.safeParse(value)
  assert(parsed?.success, `${name}: ${parsed?.error}`)
  return value
}

test('a client walks through every endpoint of the fixture, and every answer has its closed shape [H-02 H-74 H-94]', async () => {
  const server = await servedServer()
  const walked = new Set<string>()
  const ask: typeof server.ask = (method, path, options) => {
    walked.add(`${method} ${path.replace(/\?.*/, '')}`)
    return server.ask(method, path, options)
  }
  const get = async (name: string, path: string) => as(name, (await ask('GET', path)).body)
  const post = async (name: string, path: string, body: unknown, key?: string) =>
    as(name, (await ask('POST', path, { body, ...(key !== undefined && { key }) })).body)
  const invoke = (capability: string, more: object = {}, key?: string) =>
    post('invocation-result', '/invoke', { capability_id: `conformance.${capability}`, ...more }, key)
  const types = async (correlation: string): Promise<string[]> =>
    (await get('replay-result', `/replay/${correlation}`)).events.map(
      (event: { event_type: string }) => as('evidence-event', event).event_type,
    )

  assert.deepEqual(await get('health', '/'), await get('health', '/health'))
  assert.equal((await ask('GET', '/v1/ready')).status, 204)
  const identity = await get('identity-document', '/.well-known/chp-identity')
  assert.deepEqual(await get('identity-document', '/v1/tenants/northlight/identity'), identity)
  const manifest = await get('host-descriptor', '/host')
  assert.deepEqual((await get('capability-list', '/capabilities')).capabilities, manifest.capabilities)
  assert.deepEqual(
    manifest.capabilities.map(({ id }: { id: string }) => id),
    ['echo', 'fail', 'guarded', 'approval', 'budgeted', 'risky', 'unsafe', 'stream'].map(
      (name) => `conformance.${name}`,
    ),
  )

  const at = (correlation_id: string) => ({ correlation: { correlation_id } })
  const done = await invoke('echo', { payload: { value: 'v' }, ...at('c-echo') })
  assert.deepEqual([done.outcome, done.data, done.correlation], ['success', { echo: 'v' }, at('c-echo').correlation])
  const started = [
    'safety_assessment_started',
    'safety_assessment_completed',
    'safety_action_approved',
    'execution_started',
  ]
  assert.deepEqual(await types('c-echo'), [...started, 'execution_completed'])
  assert.equal((await invoke('fail', at('c-fail'))).outcome, 'failure')
  assert.deepEqual(await types('c-fail'), [...started, 'execution_failed'])
  for (const [name, code, events] of [
    ['guarded', 'invariant_failed', ['execution_denied']],
    ['approval', 'approval_required', ['approval_requested', 'execution_denied']],
    ['risky', 'policy_blocked', ['execution_denied']],
  ] as const) {
    const { outcome, denial } = await invoke(name, at(`c-${name}`))
    assert.deepEqual([outcome, denial.code], ['denied', code])
    assert.deepEqual(await types(`c-${name}`), events)
  }
  assert.equal((await invoke('unsafe', at('c-unsafe'))).denial.code, 'safety_blocked')
  assert.deepEqual((await types('c-unsafe')).slice(-3), [
    'safety_guardrail_triggered',
    'safety_action_blocked',
    'execution_denied',
  ])
  assert.equal((await invoke('budgeted', at('c-budget'))).outcome, 'success')
  assert.equal((await invoke('budgeted', at('c-budget'))).denial.code, 'budget_exceeded')
  assert.deepEqual((await types('c-budget')).slice(-2), ['budget_exceeded', 'execution_denied'])
  assert.equal((await invoke('echo', {}, scopedKey)).outcome, 'success')
  assert.equal((await invoke('fail', {}, scopedKey)).denial.code, 'policy_blocked')
  const streamed = await ask('POST', '/invoke', { body: { capability_id: 'conformance.stream', mode: 'stream' } })
  const [frame = ''] = streamed.text.split('\n\n').slice(-2)
  assert.deepEqual(as('invocation-result', JSON.parse(frame.split('data: ')[1] ?? '')).data, {
    chunks: 3,
    joined: 's1s2s3',
  })

  const window = { valid_from: '2020-01-01T00:00:00.000Z', valid_until: '2099-01-01T00:00:00.000Z', created_at: now }
  const mandate = signMandate(
    { mandate_id: 'mnd_1', delegate_id: 'helper', scope: ['conformance.echo'], ...window },
    outsider,
  )
  assert.equal((await invoke('echo', { mandate, ...at('c-mandate') })).outcome, 'success')
  const [first] = (await post('replay-result', '/replay', { correlation_id: 'c-mandate' })).events
  assert.deepEqual([first.subject.id, first.subject.principal, first.subject.verified], ['helper', 'never-met', true])
  assert.equal((await invoke('fail', { mandate })).denial.code, 'policy_blocked')
  assert.equal((await invoke('echo', { mandate: { ...mandate, delegate_id: 'x' } })).denial.code, 'mandate_invalid')

  assert.equal((await get('chain-report', '/verify/c-echo')).valid, true)
  const bundle = await get('evidence-bundle', '/export/c-echo')
  assert.equal(verifyBundle(bundle, { pins: [identity.public_key] }).valid, true)
  const { host_id, sequence, store_head } = await get('store-head', '/head')
  await post('witness-receipt', '/witness', signWitness({ host_id, sequence, store_head }, now, outsider))
  await post('anchor-receipt', '/anchors', signAnchor({ host_id, sequence, store_head }, now, outsider.signer))
  await post(
    'revocation-receipt',
    '/revocations',
    signRevocation({ mandate_id: 'mnd_1', revoked_at: now, reason: '' }, outsider),
  )
  assert.equal((await get('witness-list', '/witnesses')).witnesses.length, 1)
  assert.equal((await get('anchor-list', '/anchors')).anchors.length, 1)
  assert.equal((await get('revocation-list', '/revocations')).mandates.length, 1)
  assert.equal((await post('call-preview', '/v1/preview', { capability: 'conformance.risky' })).outcome, 'denied')
  assert.equal((await get('invocation-result', `/v1/invocations/${done.invocation_id}`)).outcome, 'success')
  const { approvals } = await get('approval-list', '/v1/approvals')
  const [{ approval_id }] = approvals
  await get('approval-request', `/v1/approvals/${approval_id}`)
  const decided = await ask('POST', `/v1/approvals/${approval_id}/decision`, { body: { decision: 'approve' } })
  assert.equal(as('problem', decided.body).code, 'approver_not_permitted')
  assert.match((await ask('GET', '/metrics')).text, /^ambit_invocations_total\{outcome="success"\} \d+$/m)
  assert.equal((await ask('GET', '/v1/openapi.json')).body.openapi, '3.1.0')

  const listing = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
  const accept = { accept: 'application/json, text/event-stream' }
  assert.match((await ask('POST', '/mcp', { body: listing, headers: accept })).text, /conformance_echo/)

  // Operations of the table have a walk of their own, over every door.
  const patterns = routes
    .filter(({ operation }) => operation === undefined)
    .map(({ method, path }) => new RegExp(`^${method} ${path.replaceAll('.', '\\.').replace(/:[a-z]+/g, '[^/]+')}$`))
  assert.deepEqual(
    patterns.filter((pattern) => ![...walked].some((step) => pattern.test(step))),
    [],
  )
})

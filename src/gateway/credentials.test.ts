import assert from 'node:assert/strict'
import { test } from 'vitest'
import { anyone, echo, givenHost } from '../../test/support/host.ts'
import { openEgress } from '../adapters/egress/egress.ts'
import { openHttp } from '../adapters/http/adapter.ts'
import { operator } from '../runtime/identity/caller.ts'
import { setSecret } from '../runtime/identity/secrets.ts'
import { type CallContext, type CapabilitySpec, defineCapability, describedCapability } from './capability.ts'
import { CallEnded, type Effect } from './ended.ts'

const token = 'tok-8d1f6c2e9b'
const spec: CapabilitySpec = {
  id: 'test.call',
  version: '1.0.0',
  description: 'Calls.',
  policy: {},
  credentials: { upstream: { kind: 'header', origin: 'https://api.example' } },
}

const given = async (handler: (call: CallContext) => unknown) => {
  const host = await givenHost({ capabilities: [defineCapability(spec, (_, call) => handler(call))] })
  await setSecret(host.ambit, operator(host.host.tenant), 'upstream', token)
  await setSecret(host.ambit, operator(host.host.tenant), 'other', 'not-for-it')
  return host
}

test('a handler is given the secrets its capability names, and what it says of them goes no further [H-90 H-71]', async () => {
  const { call, events } = await given(async (given) => {
    const value = await given.secret('upstream')
    assert.equal(value, token)
    given.emit('com.example.sent', { header: `Bearer ${value}` })
    return { echoed: `Bearer ${value}`, [value]: [value] }
  })
  const result = await call(anyone, { capability_id: 'test.call' })
  assert.equal(result.outcome, 'success')
  assert.deepEqual(Object.keys(result.data ?? {}).length, 2)
  assert.doesNotMatch(JSON.stringify([result, await events()]), /8d1f6c/)
})

test('what goes wrong with a secret in hand is told without it [H-90 H-71]', async () => {
  const { call, events } = await given(async (given) => {
    throw new Error(`401 for ${await given.secret('upstream')}`)
  })
  const result = await call(anyone, { capability_id: 'test.call' })
  assert.equal(result.outcome, 'failure')
  assert.match(result.error?.message ?? '', /^401 for /)
  assert.doesNotMatch(JSON.stringify([result, await events()]), /8d1f6c/)
})

test('a secret that the capability does not name, or that is not there, is not found [H-90]', async () => {
  for (const name of ['other', 'constructor', 'gone']) {
    const { call } = await given((given) => given.secret(name))
    const { error } = await call(anyone, { capability_id: 'test.call' })
    assert.equal(error?.code, 'secret_not_found')
  }
})

test('what to do about a secret that is not there is told with the failure of the call [H-90]', async () => {
  const asks = defineCapability(spec, (_, call) => call.secret('upstream'))
  const request = { method: 'GET', path: '/' } as const
  const descriptor = { id: 'api.read', version: '1.0.0', description: 'Reads.', policy: {} }
  const server = { url: 'https://api.example', headers: { 'x-key': '{secret:upstream}' } }
  const egress = openEgress()
  const { call, ambit, host } = await givenHost({
    capabilities: [
      asks,
      ...openHttp(
        { adapter: 'http', name: 'api', server, capabilities: [{ request, descriptor }] },
        {
          secret: (handle) => ambit.secrets.resolve(host.tenant, handle),
          egress,
          clock: Date,
          folder: '.',
          notice: () => undefined,
        },
      ).capabilities,
    ],
  })
  for (const capability_id of ['test.call', 'api.read']) {
    const { error } = await call(anyone, { capability_id })
    assert.equal(error?.message, 'there is no secret `upstream`; keep it with `ambit secret set upstream`')
  }
})

test.each<[Effect, readonly string[], string, Effect]>([
  ['none', ['x.write'], 'failure', 'none'],
  ['done', ['x.write'], 'failure', 'done'],
  ['unknown', ['x.write'], 'indeterminate', 'unknown'],
  ['unknown', [], 'failure', 'none'],
])('a handler that knows its effect was %s, with effects %j: %s, %s [H-90]', async (effect, effects, outcome, told) => {
  const ends = () => {
    throw new CallEnded('upstream_gone', 'the server went away', { effect })
  }
  const { call } = await givenHost({ capabilities: [defineCapability({ ...spec, effects }, ends)] })
  const result = await call(anyone, { capability_id: 'test.call' })
  assert.deepEqual(
    [result.outcome, result.error?.type, result.error?.code, result.error?.effect],
    [outcome, 'UpstreamError', 'upstream_gone', told],
  )
})

test('what stands in the way of a capability is told by gate 3 and by discovery, and only while it does [H-25 H-90]', async () => {
  let open = false
  const capability = describedCapability(echo({ id: 'test.call' }).descriptor, () => 'here', {
    hindrance: () => (open ? undefined : { lifecycle: 'unavailable', reason: 'the server is away', retryAfterS: 7 }),
  })
  const { call, host } = await givenHost({ capabilities: [capability] })
  const away = await call(anyone, { capability_id: 'test.call' })
  assert.deepEqual(
    [away.outcome, away.denial?.code, away.denial?.details],
    ['skipped', 'capability_disabled', { lifecycle: 'unavailable', retry_after_s: 7 }],
  )
  assert.match(away.denial?.message ?? '', /the server is away/)
  assert.equal(host.gateway.discover(anyone)[0]?.metadata?.lifecycle, 'unavailable')
  open = true
  assert.equal((await call(anyone, { capability_id: 'test.call' })).data, 'here')
  assert.equal(host.gateway.discover(anyone)[0]?.metadata?.lifecycle, 'invokable')
})

import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { stillClock } from '../support/host.ts'
import { acceptedOf, ending, givenMcp, hostile, script, textOf, until } from '../support/mcp.ts'
import { givenHttp } from './http.ts'

const both = () => script('test/mcp/stdio.ts', 'both')

describe('a tool that is not what was accepted [H-90]', () => {
  test.each(['turns', 'vanishes'])('and %s while it is connected is held from then on', async (way) => {
    const { tool, host, notices } = await givenMcp(hostile(way))
    assert.equal(textOf(await tool('work')), 'worked')
    await until(() => notices.length > 0)
    const held = await tool('work')
    assert.deepEqual([held.outcome, held.denial?.code], ['skipped', 'capability_disabled'])
    assert.deepEqual(held.denial?.details, { lifecycle: 'declared' })
    assert.match(held.denial?.message ?? '', /has changed since it was accepted.*`ambit capabilities drift given`/)
    assert.equal(host.gateway.discover({ scopes: [] } as never)[0]?.metadata?.lifecycle, 'declared')
    assert.equal(notices.length, 1)
    assert.match(notices[0] ?? '', /`work`.*its capability is held$/)
  })

  test('is not called even the first time', async () => {
    const accepted = await acceptedOf(hostile('calm'))
    const [work] = accepted.capabilities
    assert.ok(work)
    const stale = { ...accepted, capabilities: [{ ...work, definition: `sha256:${'0'.repeat(64)}` as never }] }
    const { tool } = await givenMcp(hostile('calm'), { accepted: stale })
    assert.deepEqual(ending(await tool('work')), ['failure', 'definition_changed', 'none'])
    assert.equal((await tool('work')).outcome, 'skipped')
  })

  test('is offered again when it is what was accepted, which is looked at from time to time', async () => {
    const clock = stillClock()
    const { tool, notices } = await givenMcp(hostile('wavers'), { clock })
    assert.equal(textOf(await tool('work')), 'worked')
    await until(() => notices.length > 0)
    assert.equal((await tool('work')).outcome, 'skipped')
    clock.advance(16_000)
    await until(async () => (await tool('work')).outcome === 'success')
  })

  test.each([
    ['stdio in the newer revision', async () => script('test/mcp/stdio.ts', 'modern')],
    ['stdio in the older revision', async () => script('test/mcp/stdio.ts', 'legacy')],
    ['HTTP with sessions', async () => ({ url: (await givenHttp('legacy')).url })],
  ])('is told by the server itself over %s', async (_, open) => {
    const { tool, notices } = await givenMcp(await open())
    assert.equal(textOf(await tool('changing')), 'done')
    await tool('change')
    await until(() => notices.length > 0)
    assert.equal((await tool('changing')).outcome, 'skipped')
    assert.equal((await tool('add', { a: 1, b: 1 })).outcome, 'success')
  })
})

test.each(['told', 'lost'] as const)(
  'a change over HTTP in the newer revision is seen when it is %s [H-90]',
  async (how) => {
    const server = await givenHttp('modern')
    const { tool, notices } = await givenMcp({ url: server.url })
    assert.equal(textOf(await tool('changing')), 'done')
    server.change(how)
    await until(async () => (await tool('add', { a: 1, b: 1 })).outcome === 'success' && notices.length > 0)
    assert.equal((await tool('changing')).outcome, 'skipped')
  },
)

test('a tool that a server adds is not offered [H-90]', async () => {
  const { tool, notices } = await givenMcp(both())
  await tool('grow')
  assert.equal((await tool('grown')).denial?.code, 'capability_not_found')
  assert.equal((await tool('add', { a: 1, b: 1 })).outcome, 'success')
  assert.deepEqual(notices, [])
})

test('a program gets what it needs to start and what the file says, and nothing else of our environment [H-90]', async () => {
  process.env.AMBIT_TEST_CANARY = 'canary-1'
  const server = { ...both(), env: { GIVEN: 'yes {secret:upstream}' } }
  const { tool, upstream, host } = await givenMcp(server, { secrets: { upstream: 'tok-0a1b2c3d' } })
  const { env } = JSON.parse(textOf(await tool('echo', { text: '' }))) as { env: Record<string, string> }
  assert.match(env.GIVEN ?? '', /^yes (?!tok)/)
  assert.ok(env.PATH)
  assert.equal(env.AMBIT_TEST_CANARY, undefined)
  assert.equal(env.AMBIT_DATA, undefined)
  assert.doesNotMatch(JSON.stringify(upstream), /tok-0a/)
  const [found] = host.gateway.discover({ scopes: [] } as never)
  assert.deepEqual(found?.metadata?.credentials, { upstream: { kind: 'process' } })
})

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { projectRoot } from '../support/source.ts'
import { exceptions } from './conformance-exceptions.ts'
import { type ConformanceServer, startConformanceServer } from './conformance-server.ts'
import { checkClient, checkServer, releases, scenariosOf } from './conformance-suite.ts'
import { judged, unknownIn } from './conformance-verdict.ts'

describe('a few scenarios of the public suite; `npm run conformance:mcp` runs all of them [H-90]', () => {
  let server: ConformanceServer
  beforeAll(async () => {
    server = await startConformanceServer()
  })
  afterAll(() => server.close())

  const [first, next] = releases.map(({ version }) => version)
  const of = (version = '') => releases.find((one) => one.version === version) ?? assert.fail(version)

  test.each([
    [first, '2025-11-25', 'tools-call-mixed-content'],
    [first, '2025-11-25', 'dns-rebinding-protection'],
    [next, '2025-11-25', 'tools-call-with-progress'],
    [next, '2026-07-28', 'http-custom-header-server-validation'],
    [next, '2026-07-28', 'input-required-result-request-state'],
  ])('the server passes in release %s, revision %s: %s', async (version, revision, scenario) => {
    const found = await checkServer(of(version), server.url, { revision, scenario })
    const row = judged({ release: version ?? '', side: 'server', scenario, revision }, found.get(scenario))
    assert.deepEqual([row.result, row.reason], ['pass', ''])
  })

  test.each([
    [first, '2025-11-25', 'tools_call'],
    [next, '2026-07-28', 'http-custom-headers'],
  ])('the client passes in release %s, revision %s: %s', async (version, revision, scenario) => {
    const found = await checkClient(of(version), { revision, scenario })
    const row = judged({ release: version ?? '', side: 'client', scenario, revision }, found.get(scenario))
    assert.deepEqual([row.result, row.reason], ['pass', ''])
  })

  test('every exception is about a scenario that exists, and its reason is in the documentation', async () => {
    assert.deepEqual(unknownIn((await Promise.all(releases.map(scenariosOf))).flat()), [])
    const text = readFileSync(join(projectRoot, 'docs/conformance-mcp.md'), 'utf8')
    assert.deepEqual(
      exceptions.filter(({ reason }) => !text.includes(reason)),
      [],
    )
  })
})

describe('what is wrong is found [H-90]', () => {
  const at = { release: '1', side: 'server', scenario: 's', revision: 'r' } as const
  const ok = { id: 'a', status: 'SUCCESS' }
  const bad = { id: 'b', status: 'FAILURE' }
  const listed = (...checks: string[]) => [
    { side: 'server', scenario: 's', reason: 'why', ...(checks.length > 0 && { checks }) } as const,
  ]

  test.each([
    ['all is well', [ok, { id: 'c', status: 'INFO' }], [], 'pass'],
    ['a check fails', [ok, bad], [], 'FAIL'],
    ['a check warns', [ok, { id: 'c', status: 'WARNING' }], [], 'FAIL'],
    ['nothing was checked', [{ id: 'c', status: 'SKIPPED' }], [], 'FAIL'],
    ['there is no result', undefined, [], 'FAIL'],
    ['an exception fails', [ok, bad], listed(), 'exception'],
    ['an exception is skipped', [{ id: 'c', status: 'SKIPPED' }], listed(), 'exception'],
    ['an exception passes', [ok], listed(), 'STALE'],
    ['an exception has no result', undefined, listed(), 'FAIL'],
    ['the check of an exception fails', [ok, bad], listed('b'), 'exception'],
    ['another check fails too', [{ id: 'a', status: 'FAILURE' }, bad], listed('b'), 'FAIL'],
    ['one of two checks passes', [ok, bad], listed('a', 'b'), 'STALE'],
    ['the exception is about another revision', [bad], [{ ...listed()[0], revision: 'q' } as never], 'FAIL'],
  ])('%s', (_, checks, list, result) => {
    assert.equal(judged(at, checks, list).result, result)
  })

  test('an exception that names nothing', () => {
    const list = [...listed(), { side: 'client', scenario: 'a/*', reason: 'why' } as const]
    assert.deepEqual(unknownIn([{ side: 'client', name: 'a/b', revisions: [] }], list), listed())
  })
})

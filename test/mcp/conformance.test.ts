import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { projectRoot } from '../support/source.ts'
import { isLong } from '../support/sweep.ts'
import { conformance, isWrong, tableOf } from './conformance-rows.ts'
import { judged, unknownIn } from './conformance-verdict.ts'

test.runIf(isLong)(
  'both releases of the public suite find of server and client what the documentation says [H-90]',
  async ({ signal }) => {
    const { scenarios, rows } = await conformance(signal)
    assert.deepEqual(unknownIn(scenarios), [])
    // When a client comes back is measured in time, which a busy machine has none of.
    const isTimed = (line: string): boolean => line.includes('| sse-retry |')
    const [found, written] = [tableOf(rows), readFileSync(join(projectRoot, 'docs/conformance-mcp.md'), 'utf8')].map(
      (text) => text.split('\n').filter((line) => line.startsWith('|') && !isTimed(line)),
    )
    assert.deepEqual(found, written)
    assert.deepEqual(
      rows.filter((row) => isWrong(row) && row.scenario !== 'sse-retry'),
      [],
    )
  },
)

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

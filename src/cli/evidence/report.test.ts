import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'vitest'
import { givenDesk } from '../../../test/cli/harness.ts'
import type { EvidenceBundle } from '../../model/evidence.ts'

test('a hostile bundle cannot write to the terminal [F-18 H-85]', async () => {
  const shell = await givenDesk()
  const bundle = (await shell.good('evidence', 'export', 'ambit-admin-local')).json<EvidenceBundle>()
  const put = (name: string, content: unknown) => writeFileSync(join(shell.cwd, name), JSON.stringify(content))
  const evil = '\u001b[2J\u001b]0;GOOD\u0007\u009b31m\u202e'
  put('unknown.json', { ...bundle, [evil]: 1 })
  put('event.json', { ...bundle, events: [{ ...bundle.events[0], [evil]: 1 }] })
  put('time.json', { ...bundle, created_at: evil })
  for (const file of ['unknown.json', 'event.json', 'time.json']) {
    const { code, out, err } = await shell.run('verify', file)
    assert.equal(code, 1)
    assert.doesNotMatch(`${out}${err}`, /(?!\n)[\p{C}]/u, file)
  }
  assert.match((await shell.run('verify', 'unknown.json')).out, /at \/\\u\{1b\}\[2J/)
})

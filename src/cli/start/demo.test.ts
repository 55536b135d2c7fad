import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, onTestFinished, test, vi } from 'vitest'
import { filesIn, tempFolder } from '../../../test/cli/given.ts'
import { givenShell } from '../../../test/cli/harness.ts'
import { verifyBundle } from '../../evidence/verify/verify.ts'
import type { EvidenceBundle } from '../../model/evidence.ts'

interface Shown {
  readonly events: number
  readonly public_key: string
  readonly attempts: readonly { readonly what: string; readonly caught: boolean; readonly message: string }[]
}

describe('demo [F-22 F-18 H-92]', () => {
  test('tells a story, shows a run that is refused another branch, proves it, and catches six forgeries', async () => {
    const shell = givenShell()
    vi.stubEnv('TMPDIR', tempFolder())
    onTestFinished(() => void vi.unstubAllEnvs())
    const { out } = await shell.good('demo')
    for (const number of [1, 2, 3, 4, 5, 6, 7, 8, 9]) assert.match(out, new RegExp(`\n${number}\\. [A-Z]`))
    assert.match(out, /\nGOOD {2}9 records of `run-5521`, host `northlight`\n/)
    assert.deepEqual(
      out.match(/ (?:DONE|DENIED|APPROVED)(?= )/g)?.map((word) => word.trim()),
      [...['DONE', 'DENIED', 'DENIED'], ...['APPROVED', 'DONE', 'DONE']],
    )
    assert.equal(out.match(/ caught: \S/g)?.length, 6)
    assert.match(out, /cold-chain › temperature: \d+ tokens in 1 fence/)
    assert.match(out, /supplier-notes › late-delivery: \d+ tokens in 1 fence\n {6}fence-disarmed/)
    assert.match(out, /no pack is clearly about it/)
    for (const part of [
      / {4}clerk, granted northlight\/depot\/oslo\n {6}memory_write +OK\n/,
      / {4}clerk, granted northlight\/depot\/bergen\n {6}memory_read +OK 0 entries\n {6}lookup, granted northlight\/depot\/bergen\n/,
      / {8}clerk +REFUSED grant_outside_parent\n {6}agent_lookup +REFUSED grant_outside_parent\n/,
      / {2}GOOD {2}its exported file shows\n {4}2 calls under northlight\/depot\n {4}1 call under northlight\/depot\/oslo\n {4}3 calls under northlight\/depot\/bergen, refused: grant_outside_parent\n/,
    ])
      assert.match(out, part)
    assert.doesNotMatch(out, /not noticed|undefined|null/)
    assert.match(out, /\nNext:\n {2}ambit demo --keep story\.json /)
    assert.deepEqual([...filesIn(shell.cwd)], [])
    assert.deepEqual(readdirSync(tmpdir()), [])
  })

  test('for programs: what was tried, and that it was caught', async () => {
    const { events, public_key, attempts } = (await givenShell().good('demo', '--json')).json<Shown>()
    assert.equal(events, 9)
    assert.match(public_key, /^[A-Za-z0-9+/]{43}=$/)
    assert.equal(attempts.length, 6)
    for (const { what, caught, message } of attempts) assert(caught && message !== '', what)
  })

  test('keeps the bundle, where it is told to, to be verified', async () => {
    const shell = givenShell()
    for (const path of ['story.json', join(shell.cwd, 'absolute.json')]) {
      const { out } = await shell.good('demo', '--keep', path)
      assert(out.includes(`ambit verify ${path}`))
      await shell.good('verify', path)
    }
    assert(verifyBundle(JSON.parse(readFileSync(join(shell.cwd, 'story.json'), 'utf8')) as EvidenceBundle).valid)
  })

  test('takes nothing from the surroundings, and needs nothing of them', async () => {
    const surroundings = { AMBIT_KEY: 'nonsense', AMBIT_PASSPHRASE: 'x', AMBIT_DATABASE_URL: 'postgres://nowhere' }
    assert.match((await givenShell({ env: surroundings }).good('demo')).out, /\nGOOD/)
  })

  test('colours are for terminals', async () => {
    const colour = '\u001b['
    assert(!(await givenShell().good('demo')).out.includes(colour))
    assert((await givenShell({ color: true }).good('demo')).out.includes(colour))
    assert(!(await givenShell({ color: true }).good('demo', '--json')).out.includes(colour))
  })
})

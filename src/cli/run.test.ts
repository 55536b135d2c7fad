import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { givenDesk, givenShell } from '../../test/cli/harness.ts'
import { Failure } from '../base/failure.ts'

describe('a failure on the terminal [F-05 F-18]', () => {
  /** A shell whose input fails in an unexpected way. */
  const broken = async (env = {}) => {
    const desk = await givenDesk()
    const stdin = async () => {
      throw new TypeError('the cause')
    }
    return desk.with({ env: { ...desk.env, ...env }, stdin })
  }

  test('an internal one says how to see its cause, and shows it on request', async () => {
    const quiet = await (await broken()).run('secret', 'set', 'mail')
    assert.equal(quiet.code, 2)
    const help = 'set AMBIT_DEBUG=1 to see the cause'
    assert.equal(quiet.err, `error: something went wrong inside (internal)\n  ${help}\n`)
    assert.equal((await (await broken()).run('secret', 'set', 'mail', '--json')).json()['remediation'], help)
    for (const json of [[], ['--json']]) {
      const told = await (await broken({ AMBIT_DEBUG: '1' })).run('secret', 'set', 'mail', ...json)
      assert.match(told.err, /TypeError: the cause\n {4}at /)
      assert(!told.out.includes('TypeError'))
    }
  })

  test('one of ours shows no stack, asked or not', async () => {
    const { err } = await givenShell({ env: { AMBIT_DEBUG: '1' } }).run('verify', 'nothing.json')
    assert.equal(err.split('\n').length, 2)
  })

  test('what was mistyped is JSON for programs that asked for it', async () => {
    for (const words of [
      ['host', 'serve', '--port', '80000'],
      ['key'],
      ['key', 'create'],
      ['kee'],
      ['key', 'list', '--no'],
    ]) {
      const ran = await givenShell().run(...words, '--json')
      assert.deepEqual([ran.code, ran.err], [2, ''], words.join(' '))
      assert.equal(ran.json()['code'], 'field_invalid')
      assert.doesNotMatch(String(ran.json()['detail']), /^error|outputHelp/)
    }
  })

  test('text of others in it stays text', async () => {
    const shell = (await givenDesk()).with({
      stdin: async () => {
        throw new Failure('file.invalid', 'a\u001b[2J\u202e', {}, 'b\u009b31m')
      },
    })
    const { err } = await shell.run('secret', 'set', 'mail')
    assert.equal(err, 'error: a\\u{1b}[2J\\u{202e} (file_invalid)\n  b\\u{9b}31m\n')
  })
})

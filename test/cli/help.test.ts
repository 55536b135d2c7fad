import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { commands } from '../../src/cli/commands.ts'
import { projectRoot } from '../support/source.ts'
import { everyCommand, givenShell } from './harness.ts'

describe('every command explains itself [F-18]', () => {
  test('the list is whole', async () => {
    assert.deepEqual((await everyCommand()).map((words) => words.join(' ')).toSorted(), [
      'agent list',
      'agent new',
      'agent validate',
      'approvals approve',
      'approvals deny',
      'approvals edit',
      'approvals list',
      'approvals show',
      'approvals watch',
      'approver add',
      'approver list',
      'approver revoke',
      'artifact add',
      'artifact list',
      'call',
      'capabilities accept',
      'capabilities drift',
      'capabilities import mcp',
      'capabilities import openapi',
      'capabilities list',
      'capabilities show',
      'compile',
      'decisions history',
      'decisions list',
      'decisions show',
      'decisions verify',
      'demo',
      'doctor',
      'envelope',
      'evidence export',
      'evidence heads',
      'evidence list',
      'evidence purge',
      'evidence show',
      'evidence trace',
      'explain',
      'grants revoke',
      'host serve',
      'init',
      'invocations show',
      'invoke',
      'key create',
      'key list',
      'key revoke',
      'key rotate',
      'knowledge approve',
      'knowledge catalog',
      'knowledge discover',
      'knowledge eval',
      'knowledge gaps',
      'knowledge import',
      'knowledge lint',
      'knowledge new',
      'knowledge refresh',
      'knowledge resolve',
      'knowledge validate',
      'mcp',
      'memory erase',
      'memory forget',
      'memory list',
      'memory read',
      'pack diff',
      'pack list',
      'pack new',
      'pack publish',
      'pack show',
      'pack sign',
      'pack validate',
      'policy check',
      'policy explain',
      'policy shadow',
      'policy test',
      'preview',
      'principal create',
      'principal list',
      'principal permit',
      'principal revoke',
      'principal rotate',
      'principal withdraw',
      'replay',
      'run',
      'runs cancel',
      'runs explain',
      'runs list',
      'runs resume',
      'runs show',
      'runs watch',
      'schema list',
      'schema show',
      'secret list',
      'secret remove',
      'secret set',
      'store accept-loss',
      'store backup',
      'store restore',
      'tenant add-root',
      'tenant create',
      'tenant identity',
      'tenant list',
      'tenant resume',
      'tenant revoke',
      'tenant rotate',
      'verify',
    ])
  })

  test('with its use, a sentence and its options, `--json` among them, however it is asked', async () => {
    for (const words of await everyCommand()) {
      const name = words.join(' ')
      const { out, code, err } = await givenShell().run(...words, '--help')
      assert.deepEqual([code, err], [0, ''], name)
      assert(out.startsWith(`Usage: ambit ${name} [options]`), out)
      assert.match(out, /\n\n[a-zA-Z].+\n/, name)
      assert.match(out, /^ {2}--json /m, name)
      assert.deepEqual(await said('help', ...words), out)
      assert.deepEqual(await said(...words, '-h'), out)
    }
  })

  test('where it works: at a host with --url, or on this machine alone', async () => {
    for (const words of await everyCommand()) {
      const { out } = await givenShell().run(...words, '--help')
      const goesElsewhere = out.includes('a host that is being served')
      assert.notEqual(goesElsewhere, out.includes('Works on the store and the files of this machine'), words.join(' '))
    }
  })

  test('the groups too, and all of it', async () => {
    for (const [name, { summary }] of Object.entries(commands)) {
      assert.match(await said('--help'), new RegExp(`^  ${name} +${summary.slice(0, 20)}`, 'm'))
      assert.match(await said('help', name), new RegExp(`^Usage: ambit ${name} `))
    }
    assert.match(await said('help'), /Start with `ambit demo`/)
    assert.equal(await said('help'), await said('--help'))
  })

  test('a group or the program alone shows its help and exits with 2', async () => {
    for (const words of [[], ['tenant'], ['evidence'], ['store']]) {
      const { code, out, err } = await givenShell().run(...words)
      assert.deepEqual([code, out], [2, ''])
      assert.match(err, /^Usage: ambit/)
    }
  })

  test('the version is that of the package', async () => {
    const { version } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8'))
    assert.equal(await said('--version'), `${version}\n`)
    assert.equal(await said('-V'), `${version}\n`)
  })
})

async function said(...words: readonly string[]): Promise<string> {
  const { code, out } = await givenShell().run(...words)
  assert.equal(code, 0, words.join(' '))
  return out
}

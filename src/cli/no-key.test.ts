import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { givenDepot, release } from '../../test/cli/depot.ts'
import { everyCommand, givenKey, type Shell } from '../../test/cli/harness.ts'
import { writePackIn } from '../../test/support/knowledge.ts'

/** Every command that changes something of Ambit's own, with words that an administrator could use. */
const changes: Readonly<Record<string, string>> = {
  'tenant create': 'acme',
  'tenant rotate': 'northlight',
  'tenant revoke': 'northlight',
  'tenant resume': 'northlight',
  'principal create': 'eve --role admin',
  'principal permit': 'planner all',
  'principal withdraw': 'planner stock:release',
  'principal rotate': 'ida',
  'principal revoke': 'ida',
  'approver add': 'planner --role responsible_pharmacist',
  'approver revoke': 'ida',
  'key create': 'ida',
  'key rotate': 'key_0',
  'key revoke': 'key_0',
  'secret set': 'mail',
  'secret remove': 'mail',
  'evidence purge': '--before 1s --yes',
  'store accept-loss': 'northlight',
  'knowledge approve': 'pumps',
  'capabilities import': 'mcp files -- nothing',
  'capabilities drift': '',
  'capabilities accept': `files tool@sha256:${'0'.repeat(64)}`,
  'approvals approve': '<approval>',
  'approvals deny': '<approval>',
  'approvals edit': '<approval> --payload {}',
}

/** What only looks, works on files that its user names, calls what is open, or fills an empty store. */
const others =
  /^(call|capabilities (list|show)|approvals (list|show|watch)|(approver|tenant|principal|key|secret|evidence) list|tenant identity|evidence (show|trace|export)|policy .*|knowledge (?!approve).*|schema .*|verify|doctor|demo|init|mcp|host serve|store (backup|restore))$/

describe('without a key nothing of ours changes [F-25]', () => {
  test('every command is known to look or to change', async () => {
    const lines = (await everyCommand()).map((words) => words.slice(0, 2).join(' '))
    assert.deepEqual(
      lines.filter((line) => line in changes === others.test(line)),
      [],
    )
  })

  test('an agent with a shell makes no people and no keys, and approves nothing', async () => {
    const { planner, shell } = await givenDepot()
    const asked = (await planner.run(...release(14, '--json'))).json<{ denial: { details: { approval_id: string } } }>()
    const { approval_id } = asked.denial.details
    const nobody = shell.with({ env: {}, stdin: async () => 'x' })
    writePackIn(shell.cwd, 'pumps', { description: 'The P-200 pump. Use for questions about it.' }, {})
    const before = await recorded(shell)
    for (const [line, words] of Object.entries(changes)) {
      const typed = `${line} ${words}`.trim().replace('<approval>', approval_id).split(' ')
      const { code, err } = await nobody.run(...typed)
      assert.equal(code, 1, line)
      assert.match(err, /\((unauthenticated|approver_not_permitted)\)\n.*AMBIT_KEY/, line)
    }
    assert.deepEqual(await recorded(shell), before)
  })

  test('one may look, and call what is open to everybody; evidence says who did', async () => {
    const { shell } = await givenDepot()
    const nobody = shell.with({ env: {} })
    for (const line of ['principal list', 'key list', 'approver list', 'secret list', 'evidence list', 'tenant list'])
      await nobody.good(...line.split(' '))
    assert.match((await nobody.good('evidence', 'purge', '--before', '1s')).out, /^would purge /)
    await nobody.good('call', 'depot.temperature', '--payload', '{"room":"north"}')
    assert.match((await nobody.run('evidence', 'list', '--limit', '1')).out, / anonymous +execution_completed /)
    assert.match((await nobody.run(...release(0))).out, /^DENIED .*\n.*\(caller_unauthenticated|AMBIT_KEY/m)
  })

  test('at a terminal the key is asked for, unseen', async () => {
    const { shell } = await givenDepot()
    const { secret } = await givenKey(shell, 'admin')
    const asked: string[] = []
    const typing = (answer: string | undefined) =>
      shell.with({
        env: {},
        askHidden: async (question) => {
          asked.push(question)
          return answer
        },
      })
    await typing(secret).good('principal', 'create', 'kim')
    assert.match((await typing(undefined).run('principal', 'create', 'bob')).err, /\(unauthenticated\)/)
    assert.match((await typing('ambit.no').run('principal', 'create', 'bob')).err, /\(unauthenticated\)/)
    assert.deepEqual(new Set(asked), new Set(['key of an administrator']))
  })
})

const recorded = async (shell: Shell): Promise<unknown> =>
  (await shell.good('evidence', 'list', '--limit', '100', '--json')).json<{ events: unknown[] }>().events

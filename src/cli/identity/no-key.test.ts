import assert from 'node:assert/strict'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { givenDepot, release } from '../../../test/cli/depot.ts'
import { administering, everyCommand, givenKey, type Shell } from '../../../test/cli/harness.ts'
import { serving } from '../../../test/cli/serving.ts'
import { scenario } from '../../../test/support/contract.ts'
import { writePackIn } from '../../../test/support/knowledge.ts'

/** Every command that changes something of Ambit's own, with words that an administrator could use. */
const changes: Readonly<Record<string, string>> = {
  'tenant create': 'acme',
  'tenant add-root': 'northlight acme',
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
  run: 'clerk --input x',
  invoke: '--request <ask>',
  'runs cancel': '<run>',
  'runs resume': '<run>',
  'grants revoke': 'path northlight',
  'memory forget': 'mem_0000000000000000',
  'memory erase': 'northlight',
  'approvals approve': '<approval>',
  'approvals deny': '<approval>',
  'approvals edit': '<approval> --payload {}',
  'pack sign': '<pack>',
  'pack publish': '<pack>',
  'artifact add': '<pack> --type text/plain',
}

/** What only looks, works on files that its user names, calls what is open, or fills an empty store. */
const others =
  /^(call|agent (list|new|validate)|runs (list|show|watch|explain)|decisions (list|show|history|verify)|pack (new|validate|list|show|diff)|compile|envelope|replay|artifact list|memory (list|read)|preview|explain|invocations show|capabilities (list|show)|approvals (list|show|watch)|(approver|tenant|principal|key|secret|evidence) list|tenant identity|evidence (show|trace|export|heads)|policy .*|knowledge (?!approve).*|schema .*|verify|doctor|demo|init|mcp|host serve|store (backup|restore))$/

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
    const { run_id } = (await shell.good('run', 'clerk', '--input', 'x', '--json')).json<{ run_id: string }>()
    const keyless = shell.with({ env: {}, stdin: async () => 'x' })
    writePackIn(shell.cwd, 'pumps', { description: 'The P-200 pump. Use for questions about it.' }, {})
    writeFileSync(join(shell.cwd, 'desk.pack.yaml'), scenario('pack.yaml'))
    writeFileSync(join(shell.cwd, 'ask.yaml'), scenario('request.yaml').replace('tenant_fjordvik', 'northlight'))
    const before = await recorded(shell)
    for (const [line, words] of Object.entries(changes)) {
      const named = { '<approval>': approval_id, '<run>': run_id, '<pack>': 'desk.pack.yaml', '<ask>': 'ask.yaml' }
      const typed = `${line} ${words}`
        .trim()
        .split(' ')
        .map((word) => (named as Record<string, string>)[word] ?? word)
      const { code, err } = await keyless.run(...typed)
      assert.equal(code, 1, line)
      assert.match(err, /\((unauthenticated|approver_not_permitted)\)\n.*AMBIT_KEY/, line)
    }
    assert.deepEqual(await recorded(shell), before)
  })

  test('one may look, and call what is open to everybody; evidence says who did', async () => {
    const { shell } = await givenDepot()
    const keyless = shell.with({ env: {} })
    for (const line of ['principal list', 'key list', 'approver list', 'secret list', 'evidence list', 'tenant list'])
      await keyless.good(...line.split(' '))
    assert.match((await keyless.good('evidence', 'purge', '--before', '1s')).out, /^would purge /)
    await keyless.good('call', 'depot.temperature', '--payload', '{"room":"north"}')
    assert.match((await keyless.run('evidence', 'list', '--limit', '1')).out, / anonymous +execution_completed /)
    assert.match((await keyless.run(...release(0))).out, /^DENIED .*\n.*\(caller_unauthenticated|AMBIT_KEY/m)
  })

  test('neither another configuration nor a replaced one opens a store in use to callers without a key', async () => {
    const { shell, anyone } = await givenDepot()
    const dataDir = join(shell.cwd, '.ambit')
    writeFileSync(join(shell.cwd, 'evil.json'), JSON.stringify({ tenant: 'evil', dataDir }))
    const before = readFileSync(join(shell.cwd, 'ambit.config.ts'), 'utf8')
    for (const line of ['init --force', 'tenant create evil --config evil.json', 'tenant create other']) {
      const { code, err } = await anyone.run(...line.split(' '))
      assert.deepEqual([code, /\(unauthenticated\)/.test(err)], [1, true], line)
    }
    assert.equal(readFileSync(join(shell.cwd, 'ambit.config.ts'), 'utf8'), before)
    rmSync(join(shell.cwd, 'ambit.config.ts'))
    assert.match((await anyone.run('init')).err, /\(unauthenticated\)/)
    assert(!existsSync(join(shell.cwd, 'ambit.config.ts')))
    writeFileSync(join(shell.cwd, 'ambit.config.ts'), before)
    const eve = await administering(shell, 'acme')
    writeFileSync(join(shell.cwd, 'eve.json'), JSON.stringify({ tenant: 'acme', dataDir }))
    for (const line of [
      'tenant revoke northlight',
      'store accept-loss northlight',
      'store backup b',
      'tenant create x',
    ])
      assert.match((await eve.run(...line.split(' '), '--config', 'eve.json')).err, /\(tenant_mismatch\)/, line)
    assert.match((await shell.good('tenant', 'list')).out, /northlight +active/)
    await shell.good('init', '--force')
  })

  test('a suspended tenant does nothing for anybody, at any door', async () => {
    const { shell, anyone } = await givenDepot()
    await serving(shell, ['--open'], async (url) => {
      assert.equal((await fetch(`${url}/capabilities`)).status, 200)
      await shell.good('tenant', 'revoke', 'northlight')
      assert.equal((await fetch(`${url}/capabilities`)).status, 403)
    })
    const { code, err } = await anyone.run('call', 'depot.temperature', '--payload', '{"room":"north"}')
    assert.deepEqual([code, /\(tenant_suspended\)\n {2}run `ambit tenant resume`/.test(err)], [1, true], err)
    assert.match((await anyone.run('doctor')).out, /FAIL {2}tenants +`northlight` is suspended/)
    await shell.good('tenant', 'resume', 'northlight')
    await anyone.good('call', 'depot.temperature', '--payload', '{"room":"north"}')
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

import assert from 'node:assert/strict'
import { appendFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'vitest'
import { givenDesk, givenKey, type Shell } from '../../test/cli/harness.ts'
import { writePackIn } from '../../test/support/knowledge.ts'

const question = ['--query', 'How hot may the P-200 pump get?'] as const
const description = 'The P-200 pump: how hot it may get, pressure and noise. Use for questions about the pump.'

const heat = (degrees: number) => ({
  'documents/pump.md': `# Pump\n\n## Heat\n\nThe pump may get as hot as ${degrees} degrees.\n`,
})

/** A store, and a pack in a workspace that nobody has approved. */
async function givenPack(): Promise<Shell> {
  const shell = await givenDesk()
  writePackIn(join(shell.cwd, '.agents/knowledge'), 'pumps', { description }, heat(80))
  return shell.with({ env: { HOME: '/nowhere' } })
}

const context = async (shell: Shell, ...words: readonly string[]) =>
  (await shell.run('knowledge', 'resolve', ...words, ...question, '--json')).json<{ context: string }>().context

test('a person approves a pack as it is now, and that is on record [K-48 K-50 K-89]', async () => {
  const shell = await givenPack()
  assert.equal(await context(shell), '')
  const planned = await shell.good('knowledge', 'approve', 'pumps', '--dry-run')
  assert.match(planned.out, /^would approve pumps as it is now, digest [0-9a-f]{64}\n/)
  assert.equal(await context(shell), '')
  const { out } = await shell.good('knowledge', 'approve', 'pumps')
  assert.match(out, /^approved pumps as it is now, digest [0-9a-f]{64}\nit has to be approved again when /)
  assert.match(await context(shell), /80 degrees/)
  const found = await shell.good('evidence', 'list', '--type', 'ambit.knowledge.approved', '--json')
  assert.match(found.out, /"path": "\.\.\/\.agents\/knowledge\/pumps"/)
  appendFileSync(join(shell.cwd, '.agents/knowledge/pumps/documents/pump.md'), 'Or 90.\n')
  assert.equal(await context(shell), '')
  const again = await shell.good('knowledge', 'approve', '.agents/knowledge/pumps', '--json')
  const answer = again.json<{ ok: boolean; command: string; status: string; id: string }>()
  assert.deepEqual(
    [answer.ok, answer.command, answer.status, answer.id],
    [true, 'approve', 'approved', 'workspace:pumps'],
  )
  assert.match(await context(shell), /Or 90/)
})

test('another root in front with a pack of the same name is not approved [K-46 K-48 K-50]', async () => {
  const shell = await givenPack()
  await shell.good('knowledge', 'approve', 'pumps')
  writePackIn(join(shell.cwd, 'front'), 'pumps', { description }, heat(900))
  const roots = [{ path: 'front' }, { path: '.agents/knowledge' }]
  writeFileSync(join(shell.cwd, 'ambit.config.json'), JSON.stringify({ knowledge: { roots } }))
  const text = await context(shell)
  assert.deepEqual([/80 degrees/.test(text), /900 degrees/.test(text)], [true, false])
})

test('a name that several packs have, or none, is not approved, nor is anything by a key that may not administer [K-48 K-50 K-89]', async () => {
  const shell = await givenPack()
  assert.equal((await shell.run('knowledge', 'approve', 'valves')).code, 1)
  writePackIn(join(shell.cwd, 'front'), 'pumps', { description }, heat(900))
  const roots = ['--root', 'workspace=front', '--root', 'workspace=.agents/knowledge']
  const twice = await shell.run('knowledge', 'approve', 'pumps', ...roots)
  assert.equal(twice.code, 2)
  assert.match(twice.err, /`workspace:pumps`, `workspace-2:pumps`/)
  await shell.good('knowledge', 'approve', 'workspace-2:pumps', ...roots)
  assert.match(await context(shell, ...roots), /80 degrees/)
  const { secret } = await givenKey(shell, 'ida')
  const agent = shell.with({ env: { HOME: '/nowhere', AMBIT_KEY: secret } })
  const refused = await agent.run('knowledge', 'approve', 'workspace:pumps', ...roots)
  assert.notEqual(refused.code, 0)
  assert.match(refused.err, /caller_not_permitted/)
})

test('approvals that cannot be read stop what needs them, and say where they are [K-48 K-89]', async () => {
  const shell = await givenPack()
  mkdirSync(join(shell.cwd, '.ambit'), { recursive: true })
  const file = join(shell.cwd, '.ambit/knowledge-approvals.json')
  assert(!existsSync(file))
  for (const text of ['{', '[{"id":"workspace:pumps"}]']) {
    writeFileSync(file, text)
    const { code, err } = await shell.run('knowledge', 'catalog')
    assert.deepEqual([code, /knowledge-approvals\.json/.test(err)], [2, true])
  }
})

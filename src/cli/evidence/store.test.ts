import assert from 'node:assert/strict'
import { chmodSync, cpSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { filesIn } from '../../../test/cli/given.ts'
import { givenDesk, type Shell } from '../../../test/cli/harness.ts'

type Rows = readonly Readonly<Record<string, unknown>>[]

/** Another folder, with the keys of this one and nothing else. */
function beside(shell: Shell, ...folders: readonly string[]): Shell {
  const cwd = join(shell.cwd, 'new')
  mkdirSync(join(cwd, '.ambit'), { recursive: true, mode: 0o700 })
  for (const folder of folders) {
    cpSync(join(shell.cwd, '.ambit', folder), join(cwd, '.ambit', folder), { recursive: true })
    chmodSync(join(cwd, '.ambit', folder), 0o700)
  }
  return shell.with({ cwd })
}

describe('store [F-18 F-16]', () => {
  test('backup and restore, for people, with what to do next', async () => {
    const shell = await givenDesk()
    const { out } = await shell.good('store', 'backup', 'monday')
    assert.match(out, /^wrote \d+ rows to monday, read back and checked\nkeys and secrets are not in it: /)
    assert.equal(statSync(join(shell.cwd, 'monday')).mode & 0o777, 0o600)
    const other = beside(shell, 'keys')
    const restored = await other.good('store', 'restore', '../monday')
    assert.match(restored.out, /^restored \d+ rows\nnext: put the folder of keys back, then .*`ambit doctor --deep`\n$/)
    assert.equal((await other.run('doctor', '--deep')).code, 0)
    assert.equal((await other.good('principal', 'list')).out, (await shell.good('principal', 'list')).out)
  })

  test('and for programs', async () => {
    const shell = await givenDesk()
    const written = (await shell.good('store', 'backup', 'monday', '--json')).json()
    assert.deepEqual(Object.keys(written), ['file', 'rows', 'sha256'])
    const restored = (await beside(shell, 'keys').good('store', 'restore', '../monday', '--json')).json()
    assert.deepEqual(restored, { ...written, file: '../monday' })
  })

  test('an older backup under newer heads opens only after the loss was accepted', async () => {
    const shell = await givenDesk()
    await shell.good('store', 'backup', 'monday')
    await shell.good('principal', 'create', 'kim')
    const other = beside(shell, 'keys', 'heads')
    await other.good('store', 'restore', '../monday')
    const { code, err } = await other.run('tenant', 'list')
    assert.equal(code, 1)
    assert.match(
      err,
      /^error: the records of tenant `local` were cut or rewritten: the store ends at event 5, .* at 6 /,
    )
    assert.match(err, /`ambit store accept-loss local`/)
    const { out } = await other.good('store', 'accept-loss', 'local')
    const [, kept = ''] =
      /^the heads of `local` are kept as (\S+); new ones start from the store as it is\n$/.exec(out) ?? []
    assert.deepEqual(
      filesIn(join(other.cwd, '.ambit', 'heads')).get(kept),
      readFileSync(join(shell.cwd, '.ambit/heads/local.jsonl')),
    )
    await other.good('tenant', 'list')
    await other.good('principal', 'create', 'kim')
    assert.deepEqual((await other.run('store', 'accept-loss', 'local', '--json')).json()['tenant'], 'local')
  })

  test('progress is shown only at a terminal, on standard error', async () => {
    const shell = await givenDesk()
    const watched = shell.with({ live: true })
    for (const words of [
      ['store', 'backup', 'b'],
      ['doctor', '--deep'],
    ]) {
      const { out, err } = await watched.run(...words)
      assert(err.endsWith('\r\u001b[K'), JSON.stringify(err))
      assert(!out.includes('\u001b'))
    }
    assert((await watched.run('doctor', '--deep')).err.includes('\rlocal: 5 records checked\u001b[K'))
  })
})

describe('doctor [F-18 F-20]', () => {
  test('for people: a line each, and what to do under it', async () => {
    const shell = await givenDesk()
    const { code, out, err } = await shell.run('doctor')
    assert.deepEqual([code, err], [0, ''])
    assert.match(out, /^ok {4}node {10}version 24\./)
    assert.match(out, /\nok {4}keys {10}`local` signs with [0-9a-f]{16}\n/)
    assert.match(out, /\nnote {2}passphrase .*\n {20}→ nothing to do: /)
    assert.match((await shell.run('doctor', '--deep')).out, /\nok {4}records {7}`local`: /)
  })

  test('for programs: the findings as a list', async () => {
    const found = (await (await givenDesk()).good('doctor', '--json')).json<Rows>()
    assert.deepEqual(
      found.map(({ check }) => check),
      ['node', 'configuration', 'folder', 'disk', 'store', 'durability', 'tenants', 'keys', 'passphrase'],
    )
  })

  test('exit 1 when something is wrong, also when it cannot go on', async () => {
    const shell = await givenDesk()
    chmodSync(join(shell.cwd, '.ambit'), 0o755)
    const open = await shell.run('doctor')
    assert.equal(open.code, 1)
    assert.match(open.out, /\nFAIL {2}folder {8}others on this machine can read .*\n {20}→ run `chmod 700` on it\n/)
    writeFileSync(join(shell.cwd, 'wrong.json'), '{"tenat":1}')
    const wrong = await shell.run('doctor', '--config', 'wrong.json', '--json')
    assert.equal(wrong.code, 1)
    assert.equal(wrong.json<Rows>().at(-1)?.['verdict'], 'fail')
    const missing = await shell.run('doctor', '--config', 'nothing.ts')
    assert.equal(missing.code, 1)
    assert.match(
      missing.out,
      /FAIL {2}configuration configuration `nothing\.ts` not found\n {20}→ correct the path, .* `ambit init`/,
    )
  })
})

test('a passphrase locks what the command line keeps, and the wrong one opens nothing [F-10 F-18]', async () => {
  const shell = await givenDesk()
  const locked = shell.with({ cwd: join(shell.cwd, 'locked'), env: { AMBIT_PASSPHRASE: 'correct horse' } })
  mkdirSync(locked.cwd)
  await locked.good('tenant', 'create', 'local')
  assert.match((await locked.good('doctor')).out, /\nok {4}passphrase {4}keys and secrets are encrypted on the disk\n/)
  for (const env of [{ AMBIT_PASSPHRASE: 'wrong' }, {}]) {
    const { code, err } = await locked.with({ env }).run('tenant', 'list')
    assert.equal(code, 2)
    assert.match(err, /\(key_locked\)\n$/)
    assert(!err.includes('horse'))
  }
})

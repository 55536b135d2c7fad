import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { filesIn } from '../../../test/cli/given.ts'
import { givenShell, type Shell } from '../../../test/cli/harness.ts'
import { projectRoot } from '../../../test/support/source.ts'
import { Failure } from '../../base/failure.ts'
import { jsonSchemaOf, listSchemas } from '../../model/schemas.ts'
import { loadSettings } from '../../runtime/settings/config.ts'

const settingsIn = ({ cwd }: Shell) => loadSettings({ folder: cwd, env: {} })
const defaults = async () => settingsIn(givenShell())
const secretIn = (text: string): string | undefined => /ambit\.local\.key_\S+/.exec(text)?.[0]

describe('init writes a configuration that loads and says the defaults [F-20 F-18]', () => {
  test.each(['ts', 'json'])('as %s', async (format) => {
    const shell = givenShell()
    const { out } = await shell.good('init', '--format', format)
    assert.match(
      out,
      /^wrote ambit\.config\.\w+\ntenant `local` made; .*\n.*\nkey \S+ for `admin`, shown this once:\n\n {2}ambit\./,
    )
    assert.match(out, /\nnext: `ambit doctor`\n$/)
    const { file, files, dataDir: _, keysDir: __, store, hosting, ...rest } = await settingsIn(shell)
    const { store: other, hosting: usual, tenant, passphrase, checkpoint, retention, knowledge } = await defaults()
    assert.equal(file, join(shell.cwd, `ambit.config.${format}`))
    assert.deepEqual(files, [file])
    assert.deepEqual(rest, { tenant, passphrase, checkpoint, retention, knowledge })
    assert.deepEqual([hosting.port, hosting.hostname], [usual.port, usual.hostname])
    assert(store.driver === 'sqlite' && other.driver === 'sqlite' && store.durability === other.durability)
    assert.equal((await shell.run('doctor')).code, 0)
  })

  test('every setting there is stands in the commented one', async () => {
    const shell = givenShell()
    await shell.good('init')
    const text = readFileSync(join(shell.cwd, 'ambit.config.ts'), 'utf8')
    const { properties } = jsonSchemaOf('config') as { properties: Record<string, unknown> }
    for (const name of Object.keys(properties)) assert.match(text, new RegExp(`^ {2}(// )?${name}: `, 'm'))
  })

  test('the example in it is typed as its author would want', async () => {
    const shell = givenShell()
    await shell.good('init')
    const compilerOptions = {
      paths: { ambit: [join(projectRoot, 'src/index.ts')] },
      typeRoots: [join(projectRoot, 'node_modules/@types')],
    }
    const config = { extends: join(projectRoot, 'tsconfig.json'), compilerOptions, include: ['*.ts'] }
    writeFileSync(join(shell.cwd, 'package.json'), '{"type":"module"}')
    writeFileSync(join(shell.cwd, 'tsconfig.json'), JSON.stringify(config))
    const { status, stdout } = spawnSync(join(projectRoot, 'node_modules/.bin/tsc'), ['-p', shell.cwd])
    assert.equal(status, 0, String(stdout))
  })

  test('and can be called at once, by its rules [H-06 H-07]', async () => {
    const shell = givenShell()
    await shell.good('init')
    const call = (cents: number) =>
      shell.run('call', 'desk.refund', '--payload', JSON.stringify({ order: 'A-17', cents }))
    assert.equal((await call(1250)).code, 0)
    const { code, out } = await call(9000)
    assert.equal(code, 1)
    assert.match(out, /approval_required/)
    assert.match((await shell.good('capabilities', 'list')).out, /A team lead|desk\.refund/)
  })

  test.each([
    ['"type": "module"', '{"type":"module"}', 'ambit.config.ts'],
    ['CommonJS', '{"type":"commonjs"}', 'ambit.config.mts'],
    ['without a type', '{"name":"x"}', 'ambit.config.mts'],
  ])('in a package %s', async (_, manifest, name) => {
    const shell = givenShell()
    writeFileSync(join(shell.cwd, 'package.json'), manifest)
    const below = shell.with({ cwd: join(shell.cwd, 'deep') })
    mkdirSync(below.cwd)
    for (const each of [shell, below]) assert.equal((await each.good('init', '--json')).json()['file'], name)
    assert.equal((await settingsIn(below)).tenant, 'local')
  })

  test('it never replaces one unless told to, and then leaves one', async () => {
    const shell = givenShell()
    await shell.good('init')
    writeFileSync(join(shell.cwd, 'ambit.config.ts'), "export default { tenant: 'mine' }\n")
    for (const format of ['ts', 'json']) {
      const { code, err } = await shell.run('init', '--format', format)
      assert.equal(code, 2)
      assert.equal(err, 'error: `ambit.config.ts` is here already (config_exists)\n  use --force to replace it\n')
    }
    assert.match(readFileSync(join(shell.cwd, 'ambit.config.ts'), 'utf8'), /mine/)
    rmSync(join(shell.cwd, '.ambit'), { recursive: true })
    await shell.good('init', '--force', '--format', 'json')
    assert.deepEqual(
      [...filesIn(shell.cwd).keys()].filter((name) => !name.startsWith('.ambit')),
      ['ambit.config.json'],
    )
    assert.equal((await settingsIn(shell)).tenant, 'local')
  })

  test('the administrator of a tenant that exists stays the only one: a lost key is not replaced [F-25]', async () => {
    const shell = givenShell()
    const key = secretIn((await shell.good('init')).out)
    const admin = shell.with({ env: { AMBIT_KEY: key } })
    const again = await admin.good('init', '--force')
    assert.match(again.out, /^wrote ambit\.config\.ts\nthe store here has its tenant and its administrator: /)
    assert.equal(secretIn(again.out), undefined)
    const { keys } = (await admin.good('key', 'list', '--json')).json<{ keys: { principal_id: string }[] }>()
    assert.deepEqual(
      keys.map(({ principal_id }) => principal_id),
      ['admin'],
    )
  })

  test('where nothing can be written it says so', async () => {
    const shell = givenShell()
    const { code, err } = await shell.with({ cwd: join(shell.cwd, 'gone') }).run('init')
    assert.equal(code, 2)
    assert.match(err, /^error: `ambit\.config\.ts` cannot be written: ENOENT \(file_unavailable\)\n/)
  })
})

describe('schema [F-18 F-06]', () => {
  test('list: every contract, for people and for programs', async () => {
    const { out } = await givenShell().good('schema', 'list')
    for (const { name } of listSchemas()) assert.match(out, new RegExp(`^${name} +\\S`, 'm'))
    assert.deepEqual((await givenShell().good('schema', 'list', '--json')).json(), listSchemas())
  })

  test('show: the JSON Schema of each, in draft 2020-12', async () => {
    const shell = givenShell()
    for (const { name, title } of listSchemas()) {
      const schema = (await shell.good('schema', 'show', name)).json()
      assert.partialDeepStrictEqual(schema, {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        $id: `urn:ambit:schema:${name}`,
        title,
      })
    }
    assert.deepEqual((await shell.good('schema', 'show', 'config', '--json')).json(), jsonSchemaOf('config'))
    assert(!existsSync(join(shell.cwd, '.ambit')))
    assert.throws(() => jsonSchemaOf('__proto__'), Failure)
    assert.equal((await shell.run('schema', 'show', '__proto__')).code, 1)
  })
})

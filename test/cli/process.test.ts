import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, test } from 'vitest'
import { tenantId } from '../../src/model/identity/tenant-id.ts'
import { record } from '../../src/runtime/evidence/record.ts'
import { operator } from '../../src/runtime/identity/caller.ts'
import { projectRoot } from '../support/source.ts'
import { filesIn, givenAmbit, tempFolder } from './given.ts'
import { givenDesk } from './harness.ts'

const main = join(projectRoot, 'src/cli/main.ts')

interface Around {
  readonly cwd: string
  readonly input?: string
  readonly env?: NodeJS.ProcessEnv
}

function ambit({ cwd, input = '', env = {} }: Around, ...argv: readonly string[]) {
  const run = spawnSync(process.execPath, [main, ...argv], { cwd, input, env, encoding: 'utf8' })
  return { code: run.status, out: run.stdout, err: run.stderr }
}

describe('as a process of its own [F-18]', () => {
  test('it exits as documented, with answers on one stream and refusals on the other', async () => {
    const around = await givenDesk()
    const good = ambit(around, 'principal', 'create', 'kim')
    assert.deepEqual(good, { code: 0, out: 'user `kim` added to tenant `local`\n', err: '' })
    const refused = ambit(around, 'principal', 'create', 'kim')
    assert.deepEqual([refused.code, refused.out], [1, ''])
    assert.match(refused.err, /^error: .* \(principal_exists\)\n$/)
    const usage = ambit(around, 'principal', 'destroy', 'kim')
    assert.deepEqual([usage.code, usage.out], [2, ''])
    assert.doesNotMatch(`${refused.err}${usage.err}`, /\n\s+at |node:internal/)
  })

  test('a secret comes through the pipe and is seen nowhere', async () => {
    const { cwd, env } = await givenDesk()
    const { code, out, err } = ambit({ cwd, env, input: 'hunter2-hunter2\n' }, 'secret', 'set', 'mail')
    assert.deepEqual([code, out, err], [0, 'kept; use it as `secret:mail`\n', ''])
    for (const [path, bytes] of filesIn(cwd)) assert(!bytes.includes('hunter2-hunter2'), path)
  })

  test('what a configuration prints stands beside the answer, not in it', () => {
    const cwd = tempFolder()
    writeFileSync(join(cwd, 'ambit.config.mjs'), "console.log('hello'); console.info('there'); export default {}")
    const { out, err } = ambit({ cwd }, 'tenant', 'create', 'local', '--json')
    assert.equal(JSON.parse(out).tenant_id, 'local')
    assert.match(err, /hello\nthere\n/)
  })

  test('a configuration in TypeScript loads without a word, also in a package of CommonJS', () => {
    const cwd = tempFolder()
    writeFileSync(join(cwd, 'package.json'), '{"type":"commonjs"}')
    assert.equal(ambit({ cwd }, 'init').out.split('\n')[0], 'wrote ambit.config.mts')
    const { code, err } = ambit({ cwd }, 'tenant', 'list')
    assert.deepEqual([code, err], [0, ''])
    renameSync(join(cwd, 'ambit.config.mts'), join(cwd, 'ambit.config.ts'))
    const misnamed = ambit({ cwd }, 'tenant', 'list')
    assert.equal(misnamed.code, 2)
    assert.match(misnamed.err, /\(config_invalid\)\n {2}this package is not `"type": "module"`: rename the file/)
  })

  test('a reader that has seen enough does not make it stumble', async () => {
    const { cwd } = await givenDesk()
    const store = await givenAmbit({ folder: cwd })
    const event = { event_type: 'noted', payload: {}, correlation: { correlation_id: 'c' } }
    // More than a pipe holds, so that the end of it is written to nobody.
    await record(
      store,
      operator(tenantId('local')),
      Array.from({ length: 300 }, () => event),
    )
    await store.close()
    const child = spawn(process.execPath, [main, 'evidence', 'list', '--limit', '300', '--json'], { cwd, env: {} })
    child.stdout.once('data', () => child.stdout.destroy())
    const [err, code] = await Promise.all([text(child.stderr), exitOf(child)])
    assert.deepEqual([err, code], ['', 0])
  })

  test('commands at the same time do not harm each other', async () => {
    const shell = await givenDesk()
    const { cwd, env } = shell
    const children = [0, 1, 2].map((n) =>
      spawn(process.execPath, [main, 'principal', 'create', `p${n}`], { cwd, env, stdio: 'ignore' }),
    )
    assert.deepEqual(await Promise.all(children.map(exitOf)), [0, 0, 0])
    const { code, out } = await shell.run('doctor', '--deep')
    assert.equal(code, 0, out)
  })

  test('a command that goes to a host loads no store', () => {
    const told = `import { registerHooks } from 'node:module'
      const urls = []
      registerHooks({ resolve: (name, context, next) => { const found = next(name, context); urls.push(found.url); return found } })
      process.on('exit', () => console.error(urls.join('\\n')))`
    const argv = ['--import', `data:text/javascript,${encodeURIComponent(told)}`, main]
    for (const words of [
      'principal list',
      'approvals list',
      'call x',
      'evidence list',
      'explain x',
      'tenant identity x',
    ]) {
      const more = [...words.split(' '), '--url', 'http://127.0.0.1:1']
      const { stderr } = spawnSync(process.execPath, [...argv, ...more], { cwd: tempFolder(), encoding: 'utf8' })
      assert.match(stderr, /\(host_unreachable\)[\s\S]*src\/client\/connect/)
      assert.doesNotMatch(stderr, /src\/(storage|keys)\/|node:sqlite|node_modules\/pg\//, words)
    }
  })

  test('an old Node is refused with one sentence', () => {
    const cwd = tempFolder()
    const old = `const old = { ...process.versions, node: '18.19.1' }
      Object.defineProperty(process, 'versions', { value: old })
      Object.defineProperty(process, 'version', { value: 'v18.19.1' })`
    writeFileSync(join(cwd, 'old.cjs'), old)
    const argv = ['--require', join(cwd, 'old.cjs'), join(projectRoot, 'bin/ambit.js'), 'demo']
    const { status, stdout, stderr } = spawnSync(process.execPath, argv, { cwd, env: {}, encoding: 'utf8' })
    assert.deepEqual([status, stdout], [2, ''])
    assert.equal(stderr, 'ambit needs Node 24 or newer, this is v18.19.1: install a newer Node and run it again\n')
  })
})

const exitOf = (child: ChildProcess): Promise<number | null> =>
  new Promise((resolve) => {
    child.once('exit', resolve)
  })

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { folder, grow, makeTree, pipe } from '../../test/knowledge/tree.ts'
import { placeOf } from './contained.ts'
import { fileTree } from './tree.ts'

const bytes = (text: string): Buffer => Buffer.from(text)
const put = (text: string) => () => bytes(text)

describe.each([true, false])('a tree of files, open folders as paths: %s [F-21]', (pins) => {
  const world = (inside: Parameters<typeof makeTree>[0] = {}) => {
    const top = makeTree({ top: folder, outside: folder, 'outside/secret': 'outside' })
    grow(top, Object.fromEntries(Object.entries(inside).map(([path, what]) => [`top/tree/${path}`, what])))
    const tree = fileTree({ ...placeOf(join(top, 'top'), { pins }), real: join(top, 'top/tree') })
    return { top, tree, host: (path: string) => join(top, 'top/tree', path) }
  }

  test('folders are made on the way; what is written is listed, measured, read, removed', async () => {
    const { tree } = world()
    await assert.rejects(tree.list('a', 1), { code: 'file.not_found' })
    assert.equal(await tree.change('a/b/one', put('1')), undefined)
    await tree.change('a/two', put('22'))
    assert.deepEqual(await tree.list('a', 1), [
      { path: 'a/b', kind: 'folder' },
      { path: 'a/two', kind: 'file' },
    ])
    assert.equal((await tree.list('a', 2)).length, 3)
    assert.equal((await tree.stat('a/two', 'file'))?.bytes, 2)
    assert(((await tree.stat('a/b', 'folder'))?.modifiedMs ?? 0) > 0)
    assert.equal(await tree.stat('a/b', 'file'), undefined)
    assert.equal(String(await tree.change('a/two', put('new'))), '22')
    assert.equal(String(await tree.read('a/two')), 'new')
    assert.equal(String(await tree.change('a/two', () => undefined)), 'new')
    await assert.rejects(
      tree.change('a/two', () => undefined),
      { code: 'file.not_found' },
    )
    assert.deepEqual(await tree.list('a', 1), [{ path: 'a/b', kind: 'folder' }])
  })

  test('what is decided against changes nothing and makes no folder', async () => {
    const { tree, host } = world({ 'a/one': '1' })
    const refuse = () => {
      throw new Error('no')
    }
    await assert.rejects(tree.change('a/one', refuse), /no/)
    await assert.rejects(tree.change('b/c/one', refuse), /no/)
    assert.deepEqual([readFileSync(host('a/one'), 'utf8'), existsSync(host('b'))], ['1', false])
  })

  test('links are refused at every place of a path, even those that stay inside, and are not listed', async () => {
    const { top, tree } = world({
      'a/file': 'inside',
      'a/up': ['../..'],
      'a/in': ['../b'],
      'a/link': ['file'],
      'a/away': ['../../../outside'],
      'a/secret': ['../../../outside/secret'],
      'a/dangling': ['../../../outside/new'],
      'b/file': 'inside',
    })
    assert.deepEqual(await tree.list('a', 9), [{ path: 'a/file', kind: 'file' }])
    const paths = ['a/in/file', 'a/link', 'a/away/secret', 'a/away/new', 'a/secret', 'a/dangling', 'a/up/tree/b/file']
    for (const path of paths) {
      for (const use of [
        () => tree.read(path),
        () => tree.stat(path, 'file'),
        () => tree.change(path, put('x')),
        () => tree.change(path, () => undefined),
      ])
        await assert.rejects(use, { code: 'file.outside_root' }, path)
    }
    for (const path of ['a/in', 'a/away', 'a/up', 'a/away/no'])
      for (const use of [() => tree.list(path, 1), () => tree.stat(path, 'folder'), () => tree.clear(path, true)])
        await assert.rejects(use, { code: 'file.outside_root' })
    assert.deepEqual(
      [readdirSync(join(top, 'outside')), readFileSync(join(top, 'outside/secret'), 'utf8')],
      [['secret'], 'outside'],
    )
  })

  test('a tree whose own folder is a link is refused, and not even a lock is left behind the link', async () => {
    const { top, tree } = world()
    symlinkSync(join(top, 'outside'), join(top, 'top/tree'))
    for (const use of [
      () => tree.read('secret'),
      () => tree.list('a', 1),
      () => tree.change('new', put('x')),
      () => tree.change('secret', () => undefined),
      () => tree.clear('a', true),
    ])
      await assert.rejects(use, { code: 'file.outside_root' })
    assert.deepEqual(readdirSync(join(top, 'outside')), ['secret'])
  })

  test('a file with a second name, a pipe and a name of ours are refused and, but for the first, not listed', async () => {
    const { top, tree, host } = world({ 'a/pipe': pipe, 'a/.ambit-0-x': 'half' })
    linkSync(join(top, 'outside/secret'), host('a/hard'))
    for (const use of [() => tree.read('a/hard'), () => tree.change('a/hard', put('x'))])
      await assert.rejects(use, { code: 'file.outside_root' })
    for (const use of [() => tree.read('a/pipe'), () => tree.change('a/pipe', put('x'))])
      await assert.rejects(use, { code: 'file.invalid' })
    assert.equal(await tree.stat('a/pipe', 'file'), undefined)
    await assert.rejects(tree.read('a/.ambit-0-x'), { code: 'file.outside_root' })
    assert.deepEqual(
      (await tree.list('a', 1)).map(({ path }) => path),
      ['a/hard'],
    )
    assert.equal(readFileSync(join(top, 'outside/secret'), 'utf8'), 'outside')
  })

  test('clearing removes files and leftovers, follows no link, keeps what lies below unless told, and counts', async () => {
    const { top, tree, host } = world({
      'a/one': '1',
      'a/.ambit-0-two': 'half',
      'a/away': ['../../../outside'],
      'a/b/c/three': '3',
      'ab/four': '4',
    })
    mkdirSync(host('a/b/empty'))
    assert.equal(await tree.clear('a', false), 3)
    assert.deepEqual(readdirSync(host('a')), ['b'])
    assert.equal(await tree.clear('a', true), 1)
    assert.deepEqual([readdirSync(host('a')), await tree.clear('a', true)], [[], 0])
    assert.deepEqual([readdirSync(host('ab')), readdirSync(join(top, 'outside'))], [['four'], ['secret']])
  })
})

test('a folder of too many entries is refused, not cut [F-21]', async () => {
  const top = makeTree({ 'tree/a': folder })
  for (let n = 0; n < 2_001; n++) mkdirSync(join(top, `tree/a/${n}`))
  const tree = fileTree({ ...placeOf(top), real: join(top, 'tree') })
  assert.equal((await tree.list('a', 1)).length, 2_001)
  await assert.rejects(tree.list('a', 2), { code: 'file.too_large' })
})

const child = (top: string, body: string) =>
  spawn(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      `import { fileTree } from ${JSON.stringify(join(import.meta.dirname, 'tree.ts'))}
       const tree = fileTree({ real: ${JSON.stringify(join(top, 'tree'))}, pins: true })
       ${body}`,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )

test('of writers in several processes that all expect what they read, none overwrites another [F-21]', async () => {
  const top = makeTree({})
  const count = `for (let n = 0; n < 15; n++)
    await tree.change('a/b/count', (now) => Buffer.from(String(Number(now ?? 0) + 1)))`
  const codes = await Promise.all([1, 2, 3].map(async () => (await once(child(top, count), 'exit'))[0]))
  assert.deepEqual([codes, readFileSync(join(top, 'tree/a/b/count'), 'utf8')], [[0, 0, 0], '45'])
  assert.deepEqual(readdirSync(join(top, 'tree/a/b')), ['count'])
})

test('a process killed while it writes leaves the old content or the new, whole, and its lock is free [F-21]', async () => {
  const top = makeTree({})
  const tree = fileTree({ ...placeOf(top), real: join(top, 'tree') })
  const contents = ['a', 'b'].map((letter) => letter.repeat(300_000))
  const write = `process.stdout.write('ready')
    for (let n = 0; ; n++) await tree.change('f/' + n % 3 + '/file', () => Buffer.from((n % 2 ? 'a' : 'b').repeat(300_000)))`
  for (let round = 0; round < 4; round++) {
    const writer = child(top, write)
    await once(writer.stdout, 'data')
    while (!existsSync(join(top, 'tree/f/2/file'))) await new Promise((resolve) => setTimeout(resolve, 5))
    writer.kill('SIGKILL')
    await once(writer, 'exit')
    for (const { path, kind } of await tree.list('f', 2))
      if (kind === 'file') assert(contents.includes(String(await tree.read(path))), path)
    await tree.change('f/2/file', () => undefined)
  }
})

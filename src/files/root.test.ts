import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, link, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, test } from 'vitest'
import { Failure } from '../base/failure.ts'
import { type FileRoot, openRoot } from './root.ts'

const made: string[] = []

afterEach(async () => {
  for (const folder of made.splice(0)) await rm(folder, { recursive: true })
})

/** A folder that holds `root/` with `sub/` in it, and `outside.txt` and `root-twin/` beside it. */
async function world(): Promise<{ top: string; inside: (path: string) => string }> {
  const top = await mkdtemp(join(tmpdir(), 'ambit-files-'))
  made.push(top)
  await mkdir(join(top, 'root/sub'), { recursive: true })
  await mkdir(join(top, 'root-twin'))
  await writeFile(join(top, 'outside.txt'), 'outside')
  await writeFile(join(top, 'root-twin/secret.txt'), 'outside')
  return { top, inside: (path) => join(top, 'root', path) }
}

async function refused(work: () => Promise<unknown>, code: string, host: string): Promise<Failure> {
  const failure = await work().then(
    () => assert.fail('it was not refused'),
    (error: unknown) => error,
  )
  assert(failure instanceof Failure, `not a failure: ${failure}`)
  assert.equal(failure.code, code)
  assert(!JSON.stringify([failure.message, failure.data, failure.help]).includes(host), 'it names a path of the host')
  return failure
}

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString()

/** Every way to name a file; each must refuse what leaves the root. */
const uses = (root: FileRoot, path: string): (() => Promise<unknown>)[] => [
  () => root.read(path),
  () => root.write(path, Buffer.from('x')),
  () => root.write(path, Buffer.from('x'), { exclusive: true }),
  () => root.append(path, 'x'),
  () => root.remove(path),
  () => root.mode(path),
]

describe.each([true, false])('a file root, open folders as paths: %s [F-21]', (pins) => {
  const open = (path: string) => openRoot(path, { pins })

  test('what is written is read, listed, measured and removed', async () => {
    const { inside } = await world()
    const root = await open(inside(''))
    await root.write('b.txt', Buffer.from('one'))
    await root.write('b.txt', Buffer.from('two'), { mode: 0o640 })
    await root.write('sub/a.txt', Buffer.from('deep'))
    assert.equal(text(await root.read('b.txt')), 'two')
    assert.equal(text(await root.read('sub/a.txt')), 'deep')
    assert.deepEqual([await root.list(), await root.list('sub')], [['b.txt'], ['a.txt']])
    assert.deepEqual([await root.mode('b.txt'), await root.mode('sub/a.txt')], [0o640, 0o600])
    await root.remove('b.txt')
    assert.deepEqual(await root.list(), [])
  })

  test('a path that is not plainly relative is refused before the disk is asked', async () => {
    const { top, inside } = await world()
    const root = await open(inside(''))
    const paths = ['', '.', '..', '../outside.txt', 'sub/../../outside.txt', '/etc/passwd', `${top}/outside.txt`]
    const odd = ['sub//a', 'sub/', './a', 'a\0b', 'sub\\a', '\ud800', '.ambit-lock', '.ambit-0-a', '.ambit-x/a']
    for (const path of [...paths, ...odd]) {
      for (const use of uses(root, path)) await assert.rejects(use, { code: 'file.outside_root' }, path)
    }
    await refused(() => root.list('..'), 'file.outside_root', top)
    assert.equal(await readFile(join(top, 'outside.txt'), 'utf8'), 'outside')
  })

  test('a link out of the root is refused wherever it stands in the path', async () => {
    const { top, inside } = await world()
    const root = await open(inside(''))
    await symlink(join(top, 'outside.txt'), inside('absolute'))
    await symlink('../outside.txt', inside('relative'))
    await symlink('../missing.txt', inside('dangling'))
    await symlink('..', inside('up'))
    await symlink('../root-twin', inside('twin'))
    await symlink('../../root-twin', inside('sub/twin'))
    const paths = ['absolute', 'relative', 'dangling', 'up/outside.txt', 'twin/secret.txt', 'sub/twin/secret.txt']
    for (const path of paths) for (const use of uses(root, path)) await refused(use, 'file.outside_root', top)
    for (const folder of ['up', 'twin', 'sub/twin']) await refused(() => root.list(folder), 'file.outside_root', top)
    assert.deepEqual((await readdir(top)).sort(), ['outside.txt', 'root', 'root-twin'])
    assert.equal(await readFile(join(top, 'root-twin/secret.txt'), 'utf8'), 'outside')
    assert.deepEqual(await root.list(), [])
  })

  test('a link to a folder inside is followed, a link to a file inside is not', async () => {
    const { top, inside } = await world()
    const root = await open(inside(''))
    await root.write('sub/a', Buffer.from('a'))
    await symlink('sub', inside('folder'))
    await symlink('sub/a', inside('file'))
    assert.equal(text(await root.read('folder/a')), 'a')
    for (const use of uses(root, 'file')) await refused(use, 'file.outside_root', top)
  })

  test('a root reached through a link is that folder, and stays it', async () => {
    const { top, inside } = await world()
    await symlink(inside(''), join(top, 'alias'))
    const root = await open(join(top, 'alias'))
    await root.write('a', Buffer.from('a'))
    await rename(inside(''), join(top, 'moved'))
    await symlink(join(top, 'root-twin'), join(top, 'root'))
    await refused(() => root.read('secret.txt'), 'file.outside_root', top)
  })

  test('folders, pipes and other things that are not regular files are refused, without waiting', async () => {
    const { top, inside } = await world()
    const root = await open(inside(''))
    execFileSync('mkfifo', [inside('pipe')])
    for (const path of ['sub', 'pipe']) {
      for (const use of uses(root, path)) await refused(use, 'file.invalid', top)
    }
    assert.deepEqual(await root.list(), [])
  })

  test('a missing file or folder is `file.not_found` and stays missing', async () => {
    const { top, inside } = await world()
    const root = await open(inside(''))
    await root.write('file', Buffer.from(''))
    for (const use of [() => root.read('no'), () => root.remove('no'), () => root.mode('no')])
      await refused(use, 'file.not_found', top)
    for (const use of uses(root, 'none/a')) await refused(use, 'file.not_found', top)
    for (const use of uses(root, 'file/a')) await refused(use, 'file.not_found', top)
    await refused(() => root.list('none'), 'file.not_found', top)
    assert.deepEqual(await root.list(), ['file'])
  })

  test('of many exclusive writers one wins and its content stands', async () => {
    const { top, inside } = await world()
    const root = await open(inside(''))
    const writers = Array.from({ length: 16 }, (_, n) => root.write('a', Buffer.from(`${n}`), { exclusive: true }))
    const ends = await Promise.allSettled(writers)
    const winners = ends.flatMap((end, n) => (end.status === 'fulfilled' ? [`${n}`] : []))
    assert.deepEqual([text(await root.read('a'))], winners)
    await refused(() => root.write('a', Buffer.from('late'), { exclusive: true }), 'file.exists', top)
    assert.deepEqual(await readdir(inside('')), ['a', 'sub'])
  })

  test('of many replacing writers one content stands whole, and nothing is left over', async () => {
    const { inside } = await world()
    const root = await open(inside(''))
    const contents = Array.from({ length: 16 }, (_, n) => `${n}`.repeat(50_000))
    await Promise.all(contents.map((content) => root.write('a', Buffer.from(content))))
    assert(contents.includes(text(await root.read('a'))))
    assert.deepEqual(await readdir(inside('')), ['a', 'sub'])
  })

  test('a write killed before its rename leaves the old content, and the next write succeeds', async () => {
    const { inside } = await world()
    const root = await open(inside(''))
    await root.write('a', Buffer.from('old'))
    await writeFile(inside('.ambit-0-a'), 'hal')
    assert.deepEqual([text(await root.read('a')), await root.list()], ['old', ['a']])
    await root.write('a', Buffer.from('new'))
    assert.deepEqual([text(await root.read('a')), await root.list()], ['new', ['a']])
  })

  test('a reader of a file being replaced keeps the file it opened', async () => {
    const { inside } = await world()
    const root = await open(inside(''))
    await root.write('a', Buffer.from('old'))
    await link(inside('a'), inside('kept'))
    await root.write('a', Buffer.from('new'))
    assert.equal(await readFile(inside('kept'), 'utf8'), 'old')
  })
})

test('appended lines stand in order; a torn last line does not swallow the next [F-21]', async () => {
  const { inside } = await world()
  const root = await openRoot(inside(''))
  await root.append('head', 'one')
  await root.append('head', 'two')
  await writeFile(inside('head'), 'thr', { flag: 'a' })
  await root.append('head', 'four')
  assert.equal(text(await root.read('head')), 'one\ntwo\nthr#torn\nfour\n')
  assert.equal(await root.mode('head'), 0o600)
  await assert.rejects(root.append('head', 'a\nb'), /no line feed/)
})

test('lines appended at the same time are all there, each whole [F-21]', async () => {
  const { inside } = await world()
  const root = await openRoot(inside(''))
  await root.append('head', 'first')
  const lines = Array.from({ length: 32 }, (_, n) => `${n}-`.repeat(200))
  await Promise.all(lines.map((line) => root.append('head', line)))
  const read = text(await root.read('head')).split('\n')
  assert.deepEqual(read.toSorted(), ['', 'first', ...lines].toSorted())
})

test('a mode is exact whatever the umask, and a file larger than asked is refused [F-21]', async () => {
  const { top, inside } = await world()
  const root = await openRoot(inside(''))
  const umask = process.umask(0o077)
  await root.write('wide', Buffer.from('12345'), { mode: 0o644 }).finally(() => process.umask(umask))
  assert.equal(await root.mode('wide'), 0o644)
  assert.equal((await root.read('wide', { bytesMax: 5 })).length, 5)
  await refused(() => root.read('wide', { bytesMax: 4 }), 'file.too_large', top)
})

test('a root is made only when asked, with its mode, and one open to others is refused [F-21]', async () => {
  const { top, inside } = await world()
  await refused(() => openRoot(inside('x/y')), 'file.not_found', top)
  await openRoot(inside('x/y'), { create: true, mode: 0o700 })
  assert.equal((await stat(inside('x/y'))).mode & 0o777, 0o700)
  await chmod(inside('x/y'), 0o750)
  const failure = await refused(() => openRoot(inside('x/y'), { create: true, mode: 0o700 }), 'file.permissions', top)
  assert.match(failure.help ?? '', /chmod 700/)
  await refused(() => openRoot(join(top, 'outside.txt')), 'file.invalid', top)
  await refused(() => openRoot(join(top, 'outside.txt'), { create: true }), 'file.exists', top)
})

describe('one at a time [F-21]', () => {
  const script = (folder: string, body: string): string[] => [
    '--input-type=module',
    '-e',
    `import { openRoot } from ${JSON.stringify(join(import.meta.dirname, 'root.ts'))}
     const root = await openRoot(${JSON.stringify(folder)})
     ${body}`,
  ]
  const count = `for (let n = 0; n < 20; n++) await root.exclusive(async () => {
    const now = Number((await root.read('count')).toString())
    await root.write('count', Buffer.from(String(now + 1)))
  })`

  test('counting from three processes loses no count', async () => {
    const { inside } = await world()
    const root = await openRoot(inside(''))
    await root.write('count', Buffer.from('0'))
    const children = [1, 2, 3].map(() => spawn(process.execPath, script(inside(''), count), { stdio: 'inherit' }))
    const codes = await Promise.all(children.map(async (child) => (await once(child, 'exit'))[0]))
    assert.deepEqual([codes, text(await root.read('count'))], [[0, 0, 0], '60'])
    assert.deepEqual(await root.list(), ['count'])
  })

  test('calls of one process wait for each other, and a failure inside lets the next one in', async () => {
    const { inside } = await world()
    const root = await openRoot(inside(''))
    const log: string[] = []
    const step = (name: string) =>
      root.exclusive(async () => {
        log.push(name)
        await root.write('a', Buffer.from(name))
        log.push(name)
        if (name === 'b') throw new Error('inside')
      })
    const ends = await Promise.allSettled(['a', 'b', 'c', 'd'].map(step))
    assert.deepEqual(
      ends.map((end) => end.status),
      ['fulfilled', 'rejected', 'fulfilled', 'fulfilled'],
    )
    for (let n = 0; n < log.length; n += 2) assert.equal(log[n], log[n + 1])
  })

  test('the lock of a killed process is free at once', async () => {
    const { inside } = await world()
    const root = await openRoot(inside(''))
    const hold = `await root.exclusive(() => { console.log('held'); return new Promise(() => setInterval(() => {}, 1000)) })`
    const child = spawn(process.execPath, script(inside(''), hold), { stdio: ['ignore', 'pipe', 'inherit'] })
    await once(child.stdout, 'data')
    child.kill('SIGKILL')
    await once(child, 'exit')
    assert.equal(await root.exclusive(async () => 'mine'), 'mine')
  })

  test('a lock that is a link is not followed', async () => {
    const { top, inside } = await world()
    const root = await openRoot(inside(''))
    await symlink(join(top, 'made-by-link'), inside('.ambit-lock'))
    await refused(() => root.exclusive(async () => 'mine'), 'file.unavailable', top)
    assert(!(await readdir(top)).includes('made-by-link'))
  })
})

import assert from 'node:assert/strict'
import { chmodSync, linkSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { onTestFinished, test } from 'vitest'
import { entry, folder, grow, makeTree, pipe, type Tree } from '../../../test/knowledge/tree.ts'
import { sha256 } from '../../base/hash.ts'
import { limits } from '../../base/limits.ts'
import { openPackFiles, type PackFiles } from './pack-files.ts'

const where = { id: 'w:p', path: 'p' }

/** A pack in the folder `p` of a root, and what lies around it. */
async function open(tree: Tree): Promise<{ top: string; files: PackFiles }> {
  const top = makeTree({ 'p/KNOWLEDGE.md': entry('p'), 'secret.md': 'outside', 'q/KNOWLEDGE.md': entry('q'), ...tree })
  return { top, files: await openPackFiles({ id: 'w', scope: 'workspace', path: top }, where) }
}

async function codeOf(reading: Promise<unknown>): Promise<unknown> {
  const result = await reading
  return typeof result === 'object' && result !== null && 'code' in result ? result.code : result
}

test('the files of a pack are listed by path, with what tells a change [K-13 K-69]', async () => {
  const { files } = await open({ 'p/documents/b.md': 'bb', 'p/documents/a.md': 'a', 'p/indexes/source-map.json': '{}' })
  const { files: found, diagnostics } = await files.list()
  assert.deepEqual(
    found.map(({ path, bytes }) => [path, bytes]),
    [
      ['KNOWLEDGE.md', entry('p').length],
      ['documents/a.md', 1],
      ['documents/b.md', 2],
      ['indexes/source-map.json', 2],
    ],
  )
  assert.deepEqual(diagnostics, [])
  assert.equal(new Set(found.map(({ fileId }) => fileId)).size, 4)
  assert(found.every(({ modifiedMs }) => Math.abs(Date.now() - modifiedMs) < 3_600_000))
})

test('packs inside, links, Skills, scripts, programs and special files are left out, told, and never opened [K-02 K-16 K-70]', async () => {
  const { top, files } = await open({
    'p/inner/KNOWLEDGE.md': entry('inner'),
    'p/inner/documents/a.md': 'inner',
    'p/link.md': ['../secret.md'],
    'p/folder': ['../q'],
    'p/SKILL.md': 'skill',
    'p/wiki/skill.md': 'skill',
    'p/scripts/a.md': 'script',
    'p/tool': 'program',
    'p/run.sh': 'program',
    'p/wiki/pipe': pipe,
    'p/wiki/page.md': 'page',
    'p/.git/config': 'hidden',
  })
  chmodSync(join(top, 'p/tool'), 0o755)
  chmodSync(join(top, 'p/wiki/page.md'), 0o755)
  const { files: found, diagnostics } = await files.list()
  assert.deepEqual(
    found.map(({ path }) => path),
    ['KNOWLEDGE.md', 'wiki/page.md'],
  )
  const told = diagnostics.map(({ code, path, pack }) => `${pack} ${code} ${path}`).toSorted()
  assert.deepEqual(told, [
    'w:p foreign-file SKILL.md',
    'w:p foreign-file run.sh',
    'w:p foreign-file scripts/a.md',
    'w:p foreign-file tool',
    'w:p foreign-file wiki/pipe',
    'w:p foreign-file wiki/skill.md',
    'w:p link-skipped folder',
    'w:p link-skipped link.md',
    'w:p nested-pack inner',
  ])
  for (const path of ['SKILL.md', 'wiki/skill.md', 'scripts/a.md', 'tool', 'run.sh', 'wiki/pipe', 'wiki'])
    assert.equal(await codeOf(files.read(path)), 'foreign-file', path)
  for (const path of ['inner/KNOWLEDGE.md', 'inner/documents/a.md'])
    assert.equal(await codeOf(files.read(path)), 'nested-pack', path)
})

test('a text comes without its byte order mark, and a digest is that of all bytes, text or not [K-17]', async () => {
  const { files } = await open({ 'p/a.md': '\ufeffümlaut\r\n', 'p/wiki/b.md': '', 'p/c.md': '\0' })
  assert.deepEqual(await files.read('a.md'), { text: 'ümlaut\r\n' })
  assert.equal(await files.digest('a.md'), sha256('\ufeffümlaut\r\n'))
  assert.deepEqual([await codeOf(files.read('c.md')), await files.digest('c.md')], ['encoding', sha256('\0')])
  assert.deepEqual(await files.read('wiki/../a.md'), await files.read('./a.md'))
  assert.deepEqual(await files.read('wiki/b.md'), { text: '' })
})

test('a range is a part of the text as it is read, with or without a byte order mark [K-17]', async () => {
  const text = 'plain ümlaut 漢字 😀 end'
  const { files } = await open({ 'p/a.md': text, 'p/b.md': `\ufeff${text}` })
  const cuts = [...text].map((_, at) => Buffer.byteLength([...text].slice(0, at).join('')))
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...cuts), fc.constantFrom(...cuts), async (one, two) => {
      const [from, to] = [Math.min(one, two), Math.max(one, two)]
      const expected = Buffer.from(text).subarray(from, to).toString()
      assert.deepEqual(
        [await files.readRange('a.md', from, to), await files.readRange('b.md', from, to)],
        [expected, expected],
      )
    }),
    { numRuns: 30 },
  )
  assert.equal(await codeOf(files.readRange('a.md', 0, 7)), 'encoding')
  for (const [from, to] of [
    [0, 99],
    [-1, 2],
    [3, 2],
    [Number.NaN, 2],
    [0, Number.POSITIVE_INFINITY],
  ] as const)
    assert.equal(await codeOf(files.readRange('a.md', from, to)), 'file-changed')
})

test('no path leads out of the pack: not by its spelling, not through a link [K-69 K-70]', async () => {
  const { top, files } = await open({
    'p/out.md': ['../secret.md'],
    'p/absolute.md': ['/etc/hostname'],
    'p/up': ['..'],
    'p/etc': ['/etc'],
    'p/inside.md': ['wiki/a.md'],
    'p/wiki/a.md': 'a',
    'p/wiki/self': ['self'],
    'p/again': ['wiki'],
    'p/beside/KNOWLEDGE.md': ['../../q/KNOWLEDGE.md'],
  })
  const spelled = [
    '../secret.md',
    'wiki/../../secret.md',
    '/etc/hostname',
    `${top}/secret.md`,
    '..',
    '',
    '.',
    'a\\b',
    'a\0b',
    'wiki/a.md/',
    '\ud800',
  ]
  const linked = [
    'out.md',
    'absolute.md',
    'up/secret.md',
    'up/q/KNOWLEDGE.md',
    'etc/hostname',
    'inside.md',
    'wiki/self',
    'wiki/self/a',
    'again/a.md',
    'beside/KNOWLEDGE.md',
  ]
  for (const path of [...spelled, ...linked]) {
    assert.equal(await codeOf(files.read(path)), 'path-escape', path)
    assert.equal(await codeOf(files.readRange(path, 0, 1)), 'path-escape', path)
  }
})

test('whatever the path is, no text from outside is read [K-70]', async () => {
  const { files } = await open({ 'p/up': ['..'], 'p/wiki/up': ['../..'], 'p/wiki/a.md': 'inside' })
  const segment = fc.constantFrom(
    '..',
    '.',
    '',
    'up',
    'wiki',
    'p',
    'q',
    'secret.md',
    'a.md',
    'KNOWLEDGE.md',
    '…',
    ' ',
    '//',
  )
  await fc.assert(
    fc.asyncProperty(fc.array(segment, { maxLength: 6 }), async (segments) => {
      const result = await files.read(segments.join('/'))
      if ('text' in result) assert(['inside', entry('p')].includes(result.text))
    }),
    { numRuns: 500 },
  )
})

test('paths start at the pack, wherever the process runs [K-69]', async () => {
  const { top, files } = await open({ 'p/wiki/a.md': 'a', 'elsewhere/wiki/a.md': 'wrong' })
  const before = process.cwd()
  onTestFinished(() => process.chdir(before))
  process.chdir(join(top, 'elsewhere'))
  assert.deepEqual(await files.read('wiki/a.md'), { text: 'a' })
})

test('what is not UTF-8, too large or gone is said instead of read [K-70]', async () => {
  const { top, files } = await open({
    'p/latin.md': Buffer.from([0xe4]),
    'p/nul.md': 'a\0',
    'p/large.md': '',
    'p/wiki': folder,
  })
  truncateSync(join(top, 'p/large.md'), limits.knowledgeFileBytesMax + 1)
  assert.deepEqual(
    await Promise.all(
      ['latin.md', 'nul.md', 'large.md', 'gone.md', 'gone/a.md', 'latin.md/a'].map((path) => codeOf(files.read(path))),
    ),
    ['encoding', 'encoding', 'size-limit', 'file-changed', 'file-changed', 'file-changed'],
  )
  const { files: found, diagnostics } = await files.list()
  assert(!found.some(({ path }) => path === 'large.md'))
  assert.deepEqual(
    diagnostics.map(({ code, path }) => [code, path]),
    [['size-limit', 'large.md']],
  )
})

test('a file or folder swapped for a link after it was listed is not followed [K-70]', async () => {
  const { top, files } = await open({ 'p/wiki/a.md': 'inside', 'q/a.md': 'outside' })
  assert.equal((await files.list()).files.length, 2)
  rmSync(join(top, 'p/wiki/a.md'))
  symlinkSync(join(top, 'q/a.md'), join(top, 'p/wiki/a.md'))
  assert.equal(await codeOf(files.read('wiki/a.md')), 'path-escape')
  rmSync(join(top, 'p/wiki'), { recursive: true })
  symlinkSync('../q', join(top, 'p/wiki'))
  assert.equal(await codeOf(files.read('wiki/a.md')), 'path-escape')
  renameSync(join(top, 'p'), join(top, 'moved'))
  symlinkSync('q', join(top, 'p'))
  assert.equal(await codeOf(files.read('a.md')), 'path-escape')
  assert.deepEqual((await files.list()).files, [])
})

test('a pack that is not there, or lies behind a link, has no files [K-15 K-70]', async () => {
  const top = makeTree({
    'root/real/p/KNOWLEDGE.md': entry('p'),
    'root/link': ['real'],
    'away/KNOWLEDGE.md': entry('x'),
  })
  grow(top, { 'root/out': ['../away'], 'root/empty': folder })
  const codeAt = async (path: string, links: 'none' | 'within-root'): Promise<unknown> => {
    const files = await openPackFiles(
      { id: 'w', scope: 'user', path: join(top, 'root'), links },
      { id: `w:${path}`, path },
    )
    return codeOf(files.read('KNOWLEDGE.md').then((read) => ('text' in read ? 'read' : read)))
  }
  for (const path of ['link/p', 'out', 'gone', 'empty', '..', '../away', '/etc', 'real/../real/p'])
    assert.equal(await codeAt(path, 'none'), 'path-escape', path)
  assert.equal(await codeAt('real/p', 'none'), 'read')
  assert.equal(await codeAt('link/p', 'within-root'), 'read')
  assert.equal(await codeAt('out', 'within-root'), 'path-escape')
})

test('one file under two names is one file, read under each [K-69]', async () => {
  const { top, files } = await open({ 'p/a.md': 'a' })
  linkSync(join(top, 'p/a.md'), join(top, 'p/b.md'))
  const [a, b] = (await files.list()).files.slice(1)
  assert.equal(a?.fileId, b?.fileId)
})

test('a list stops at its limit and counts the rest [K-12]', async () => {
  const { top, files } = await open({ 'p/wiki': folder })
  for (let n = 0; n < limits.knowledgeFilesMax + 2; n++) writeFileSync(join(top, `p/wiki/${n}.md`), '')
  const { files: found, diagnostics } = await files.list()
  assert.equal(found.length, limits.knowledgeFilesMax)
  assert.deepEqual(
    diagnostics.map(({ code, message }) => [code, message]),
    [['scan-limit', 'left out: 3 files too many']],
  )
})

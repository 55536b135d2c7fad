import assert from 'node:assert/strict'
import { appendFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'vitest'
import { entry, folder, grow, makeTree, type Tree } from '../../../test/knowledge/tree.ts'
import { conventionalRoots, type RootOptions } from './roots.ts'
import { makeScanner, type Scan, type ScanOptions } from './scan.ts'

const workspace = (path: string, more: Partial<RootOptions> = {}): RootOptions => ({
  id: 'w',
  scope: 'workspace',
  path,
  ...more,
})

const scanTree = (tree: Tree, options?: ScanOptions, more?: Partial<RootOptions>): Promise<Scan> =>
  makeScanner().scan([workspace(makeTree(tree), more)], options)

const ids = (scan: Scan): string[] => scan.packs.map(({ id }) => id)
const told = (scan: Scan): string[] => scan.diagnostics.map(({ code, path }) => `${code} ${path}`)

test('a pack is a folder with a file of exactly that name; the rest is said of it [K-08 K-13]', async () => {
  const { packs, quarantined, roots, diagnostics } = await scanTree(
    { 'guides/pumps/KNOWLEDGE.md': `${entry('pumps')}\0 a body that nobody reads yet`, 'notes/a.md': 'no pack' },
    {},
    { at: 'plant/7' },
  )
  assert.deepEqual(
    packs.map(({ digest, header, ...pack }) => ({ ...pack, name: header.name })),
    [
      {
        id: 'w:guides/pumps',
        root: 'w',
        scope: 'workspace',
        order: 0,
        path: 'guides/pumps',
        at: 'plant/7',
        trust: 'unreviewed',
        extra: {},
        diagnostics: [],
        name: 'pumps',
      },
    ],
  )
  assert.deepEqual([quarantined, diagnostics], [[], []])
  assert.deepEqual(roots, [
    {
      id: 'w',
      scope: 'workspace',
      ceiling: 'unreviewed',
      missing: false,
      folders: 4,
      packs: 1,
      depthMax: 6,
      foldersMax: 50_000,
      cut: [],
    },
  ])
})

test('another spelling is no pack, and is told [K-08]', async () => {
  const scan = await scanTree({ 'a/knowledge.md': entry('a'), 'b/Knowledge.MD': entry('b'), 'c/KNOWLEDGE.txt': 'c' })
  assert.deepEqual([ids(scan), told(scan)], [[], ['entry-name a/knowledge.md', 'entry-name b/Knowledge.MD']])
})

test('a root may be a pack itself, and the walk stops at a pack [K-08 K-16]', async () => {
  const scan = await scanTree({ 'KNOWLEDGE.md': entry('top'), 'inner/KNOWLEDGE.md': entry('inner') })
  assert.deepEqual([ids(scan), scan.roots[0]?.folders], [['w:'], 1])
})

test('caches, dependencies, build results, environments, version control and indexes are passed over [K-10 K-11]', async () => {
  const names = [
    '.git',
    '.cache',
    'node_modules',
    'dist',
    'build',
    'venv',
    '__pycache__',
    'indexes',
    'target',
    'vendor',
  ]
  const tree = Object.fromEntries(names.map((name) => [`${name}/p/KNOWLEDGE.md`, entry('p')]))
  assert.deepEqual(ids(await scanTree(tree)), [])
  const chosen = await scanTree(tree, { ignored: ['vendor'] })
  assert.deepEqual(ids(chosen), [
    'w:__pycache__/p',
    'w:build/p',
    'w:dist/p',
    'w:node_modules/p',
    'w:target/p',
    'w:venv/p',
  ])
})

test('the root itself may be hidden or bear an ignored name [K-10]', async () => {
  const top = makeTree({ '.agents/knowledge/p/KNOWLEDGE.md': entry('p'), 'dist/q/KNOWLEDGE.md': entry('q') })
  const roots = [workspace(join(top, '.agents')), { ...workspace(join(top, 'dist')), id: 'd' }]
  assert.deepEqual(ids(await makeScanner().scan(roots)), ['w:knowledge/p', 'd:q'])
})

test('`.gitignore` is honoured on request only, each file for what is below it [K-11]', async () => {
  const tree = {
    '.gitignore': 'drafts\n/only-here\n',
    'drafts/a/KNOWLEDGE.md': entry('a'),
    'only-here/b/KNOWLEDGE.md': entry('b'),
    'x/only-here/c/KNOWLEDGE.md': entry('c'),
    'x/.gitignore': '!drafts',
    'x/drafts/d/KNOWLEDGE.md': entry('d'),
  }
  assert.equal((await scanTree(tree)).packs.length, 4)
  assert.deepEqual(ids(await scanTree(tree, { gitignore: true })), ['w:x/drafts/d', 'w:x/only-here/c'])
})

test('depth and number of folders are bounded, the cut is the same everywhere, and it is told [K-12]', async () => {
  const deep = await scanTree({
    '1/2/3/4/5/6/KNOWLEDGE.md': entry('six'),
    '1/2/3/4/5/x/7/KNOWLEDGE.md': entry('seven'),
  })
  assert.deepEqual(ids(deep), ['w:1/2/3/4/5/6'])
  assert.deepEqual([deep.diagnostics[0]?.code, deep.roots[0]?.cut], ['scan-limit', ['1 folders that lie too deep']])
  const wide = await scanTree(
    Object.fromEntries(['d', 'b', 'a', 'c'].map((name) => [`${name}/KNOWLEDGE.md`, entry(name)])),
    { foldersMax: 3 },
  )
  assert.deepEqual(ids(wide), ['w:a', 'w:b'])
  assert.deepEqual(wide.roots[0]?.cut, ['2 folders, and what is below them, after too many'])
  assert.deepEqual(told(wide), ['scan-limit '])
})

test('four scopes are scanned in the order given, each with its ceiling [K-09 K-49]', async () => {
  const top = makeTree({ 'p/KNOWLEDGE.md': entry('p', 'trust: official\n') })
  const scopes = ['workspace', 'user', 'organisation', 'builtin'] as const
  const scan = await makeScanner().scan(scopes.map((scope) => ({ id: scope, scope, path: top })))
  assert.deepEqual(
    scan.packs.map(({ id, order, trust, diagnostics }) => [id, order, trust, diagnostics.map(({ code }) => code)]),
    [
      ['workspace:p', 0, 'unreviewed', ['trust-clipped']],
      ['user:p', 1, 'user-confirmed', ['trust-clipped']],
      ['organisation:p', 2, 'official', []],
      ['builtin:p', 3, 'official', []],
    ],
  )
  assert.deepEqual(
    scan.roots.map(({ ceiling }) => ceiling),
    ['unreviewed', 'user-confirmed', 'official', 'official'],
  )
})

test('the operator may set another ceiling; it lowers and never raises [K-49]', async () => {
  const tree = { 'a/KNOWLEDGE.md': entry('a', 'trust: official\n'), 'b/KNOWLEDGE.md': entry('b') }
  const scan = await scanTree(tree, {}, { ceiling: 'external' })
  assert.deepEqual(
    scan.packs.map(({ trust, header }) => [header.trust, trust]),
    [
      ['official', 'external'],
      ['unreviewed', 'unreviewed'],
    ],
  )
})

test('the conventional roots are those that exist; at home they are the user’s [K-09]', () => {
  const top = makeTree({
    'home/.agents/knowledge': folder,
    'home/.ambit/knowledge': 'a file',
    'home/work/.agents/knowledge': folder,
    'home/work/.ambit/knowledge': folder,
  })
  const found = (cwd: string): string[] => conventionalRoots(join(top, cwd), join(top, 'home')).map(({ id }) => id)
  assert.deepEqual(found('home/work'), ['workspace', 'workspace-ambit', 'user'])
  assert.deepEqual(found('home'), ['user'])
  assert.deepEqual(found('elsewhere'), ['user'])
})

test('a missing root is told, and the others are scanned [K-14]', async () => {
  const top = makeTree({ 'p/KNOWLEDGE.md': entry('p'), file: 'no folder' })
  const roots = ['none', 'file', ''].map((path, n) => ({ ...workspace(join(top, path)), id: `r${n}` }))
  const scan = await makeScanner().scan(roots)
  assert.deepEqual(told(scan), ['root-missing ', 'root-missing '])
  assert(!JSON.stringify(scan).includes(top), 'a path of the host is shown')
  assert.deepEqual([ids(scan), scan.roots.map(({ missing }) => missing)], [['r2:p'], [true, true, false]])
})

test('links are not followed and are told; within a root they may be, each folder once [K-14 K-15]', async () => {
  const tree: Tree = {
    'real/p/KNOWLEDGE.md': entry('p'),
    '.store/q/KNOWLEDGE.md': entry('q'),
    again: ['real'],
    q: ['.store/q'],
    'real/loop': ['../real'],
    'a/b/up': ['../..'],
    'a/self': ['self'],
    file: ['real/p/KNOWLEDGE.md'],
    inside: ['real/p/documents'],
    'real/p/documents/x/KNOWLEDGE.md': entry('x'),
    away: ['../'],
    gone: ['nowhere'],
  }
  const none = await scanTree(tree)
  assert.deepEqual(ids(none), ['w:real/p'])
  const links = ['again', 'file', 'gone', 'inside', 'away', 'q', 'a/self', 'real/loop', 'a/b/up']
  assert.deepEqual(told(none).toSorted(), links.map((path) => `link-skipped ${path}`).toSorted())
  const within = await scanTree(tree, {}, { links: 'within-root' })
  assert.deepEqual(ids(within), ['w:q', 'w:real/p'])
  const expected = [
    'link-loop a/b/up',
    'link-loop a/self',
    'link-loop real/loop',
    'link-skipped again',
    'link-skipped away',
  ]
  assert.deepEqual(told(within).toSorted(), expected)
})

test('one broken pack is quarantined with its name and the rest is found [K-24]', async () => {
  const { packs, quarantined } = await scanTree({
    'a/KNOWLEDGE.md': entry('a').replace('status: ready', 'status: [x]'),
    'b/KNOWLEDGE.md': entry('b'),
    'c/KNOWLEDGE.md': '',
  })
  assert.deepEqual(
    packs.map(({ id }) => id),
    ['w:b'],
  )
  assert.deepEqual(
    quarantined.map(({ id, name, diagnostics }) => [id, name, diagnostics[0]?.code]),
    [
      ['w:a', 'a', 'field-type'],
      ['w:c', undefined, 'frontmatter-missing'],
    ],
  )
})

test('frontmatter longer than the first bytes is read on, up to its limit [K-17]', async () => {
  const padded = (bytes: number): string => entry('a', `notes: ${'n'.repeat(bytes)}\n`)
  const scan = await scanTree({ 'a/KNOWLEDGE.md': padded(60_000), 'b/KNOWLEDGE.md': padded(70_000) })
  assert.deepEqual([ids(scan), scan.packs[0]?.header.name], [['w:a'], 'a'])
  assert.deepEqual(
    scan.quarantined.map(({ diagnostics }) => diagnostics.map(({ code }) => code)),
    [['frontmatter-limit']],
  )
})

/** A scanner for which everything was left alone long ago, and what it opens. */
function patient(skewMs = 60_000) {
  const read: string[] = []
  const scanner = makeScanner({ now: () => Date.now() + skewMs, onRead: (path) => read.push(path) })
  return { scanner, read: () => read.splice(0) }
}

test('what is unchanged is not read again, and the result is the same as when it is [K-13]', async () => {
  const top = makeTree({
    'a/KNOWLEDGE.md': entry('a', 'trust: official\n'),
    'b/KNOWLEDGE.md': 'broken',
    link: ['a'],
    'c/knowledge.md': 'c',
  })
  const { scanner, read } = patient()
  const cold = await scanner.scan([workspace(top)])
  assert.deepEqual(read(), ['a/KNOWLEDGE.md', 'b/KNOWLEDGE.md'])
  const cached = await scanner.scan([workspace(top)])
  assert.deepEqual(read(), [])
  assert.deepEqual(cached, cold)
  assert.deepEqual(await makeScanner().scan([workspace(top)]), cold)
})

test('every change shows in the next scan, as in one that remembers nothing [K-13]', async () => {
  const top = makeTree({ 'a/KNOWLEDGE.md': entry('a'), 'b/KNOWLEDGE.md': entry('b'), 'x/y': folder })
  const { scanner } = patient()
  const at = join(top, 'a/KNOWLEDGE.md')
  const changes = [
    () => writeFileSync(at, entry('a').replace('ready', 'stale')),
    () => {
      writeFileSync(at, entry('a').replace('ready', 'draft'))
      utimesSync(at, 1, 1)
    },
    () => rmSync(at),
    () => symlinkSync('../b/KNOWLEDGE.md', at),
    () => grow(top, { 'x/y/KNOWLEDGE.md': entry('y') }),
    () => rmSync(join(top, 'b'), { recursive: true }),
    () => appendFileSync(join(top, 'x/y/KNOWLEDGE.md'), 'more body'),
  ]
  for (const change of changes) {
    await scanner.scan([workspace(top)])
    change()
    assert.deepEqual(await scanner.scan([workspace(top)]), await makeScanner().scan([workspace(top)]))
  }
})

test('a file changed within two seconds of being read is read again [K-13]', async () => {
  const top = makeTree({ 'a/KNOWLEDGE.md': entry('a') })
  for (const [skewMs, times] of [
    [1_000, 2],
    [60_000, 1],
  ] as const) {
    const { scanner, read } = patient(skewMs)
    await scanner.scan([workspace(top)])
    await scanner.scan([workspace(top)])
    assert.equal(read().length, times)
  }
})

test('what other types or another root id make of a file is not taken from memory [K-25]', async () => {
  const top = makeTree({ 'a/KNOWLEDGE.md': entry('a').replace('domain-reference', 'recipe') })
  const { scanner } = patient()
  assert.deepEqual(ids(await scanner.scan([workspace(top)])), [])
  assert.deepEqual(ids(await scanner.scan([workspace(top)], { types: ['recipe'] })), ['w:a'])
  assert.deepEqual(ids(await scanner.scan([workspace(top)])), [])
})

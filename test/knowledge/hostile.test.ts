import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished, test } from 'vitest'
import { makeScanner } from '../../src/runtime/knowledge/scan.ts'
import { makeHostileTree } from './hostile-tree.ts'
import { entry, makeTree } from './tree.ts'

const project = join(import.meta.dirname, '../..')
const script = join(import.meta.dirname, 'scan-child.ts')

interface Seen {
  readonly packs: readonly string[]
  readonly quarantined: readonly string[]
  readonly told: readonly string[]
  readonly texts: readonly string[]
  /** What a model would have seen of each pack, of all, and of those that fit. */
  readonly resolved: readonly string[]
}

interface Apart {
  /** A program that runs it. */
  readonly before?: readonly string[]
  /** For Node. */
  readonly flags?: readonly string[]
  /** For the script. */
  readonly more?: readonly string[]
  readonly uid?: number | undefined
}

/** What a process of its own finds and reads. */
function scanApart(root: string, { before = [], flags = [], more = [], uid }: Apart = {}): Seen {
  const [program = '', ...args] = [...before, process.execPath, ...flags, script, root, ...more]
  const child = spawnSync(program, args, {
    encoding: 'utf8',
    cwd: tmpdir(),
    // What Node keeps of compiled code is nothing that a scan opens.
    env: { ...process.env, NODE_DISABLE_COMPILE_CACHE: '1' },
    ...(uid !== undefined && { uid, gid: uid }),
  })
  assert.equal(child.status, 0, child.stderr)
  return JSON.parse(child.stdout) as Seen
}

const long = 'n'.repeat(255)
const found = [
  'w:\\windows\\..\\path',
  'w: blank ',
  'w:$(touch marker)',
  'w:-rf',
  'w:bidi\u202egnp.exe',
  'w:good',
  'w:line\nbreak',
  `w:${long}`,
  'w:proto',
]

test('in a hostile tree the good packs are found, the bad ones quarantined, and everything is told [K-08 K-15 K-18 K-24]', () => {
  const { root } = makeHostileTree()
  const { packs, quarantined, told, texts } = scanApart(root)
  assert.deepEqual(packs, found.toSorted())
  assert.deepEqual(quarantined, [
    'w:behind-link entry-kind',
    'w:behind-loop entry-kind',
    'w:bomb yaml-refused',
    'w:bytes encoding',
    'w:empty frontmatter-missing',
    'w:endless frontmatter-limit',
    'w:foldered entry-kind',
    'w:nested yaml-refused',
    'w:piped entry-kind',
  ])
  const links = ['away', 'etc', 'everything', 'gone', 'loops/a/b', 'loops/one', 'loops/self', 'loops/two', 'loops/up']
  const expected = [
    ...links.map((path) => `link-skipped ${path}`),
    'entry-name cased/knowledge.md',
    'scan-limit ',
    'scan-limit raw-\ufffd\ufffd',
  ]
  assert.deepEqual(told.toSorted(), expected.toSorted())
  assert(texts.includes('inside') && !texts.some((text) => text.includes('outside')))
})

test('what a model sees of a hostile tree lies in it [K-70 K-77]', () => {
  for (const more of [[], ['within-root']]) {
    const { resolved } = scanApart(makeHostileTree().root, { more })
    assert(resolved.some((text) => /\ninside\n/.test(text)))
    assert(!resolved.some((text) => /\noutside\n|root:x:|run\.sh/.test(text)))
  }
})

test('with links followed inside the root, none leads out and no loop is endless [K-15 K-70]', () => {
  const { packs, told, texts } = scanApart(makeHostileTree().root, { more: ['within-root'] })
  assert.deepEqual(packs, found.toSorted())
  const outside = ['away', 'etc', 'everything'].map((path) => `link-skipped ${path}`)
  assert.deepEqual(told.filter((line) => line.startsWith('link-skipped')).toSorted(), outside)
  assert.deepEqual(told.filter((line) => line.startsWith('link-loop')).length, 5)
  assert(!texts.some((text) => text.includes('outside')))
})

test('nothing of a pack is run [K-02]', () => {
  const { root, marker } = makeHostileTree()
  scanApart(root)
  assert.equal(existsSync(marker), false)
})

test('a process that may read the root and the program alone finds, reads and resolves the same [K-02 K-70]', () => {
  const { root } = makeHostileTree()
  const readable = [root, project, realpathSync(join(project, 'node_modules'))].map((path) => `--allow-fs-read=${path}`)
  assert.deepEqual(scanApart(root, { flags: ['--permission', ...readable] }), scanApart(root))
})

const hasStrace = spawnSync('strace', ['-o', '/dev/null', 'true']).status === 0
if (!hasStrace)
  process.stderr.write('skipped: no `strace` that may be used here, so nobody watches what a scan opens\n')

/** What a scan opens, by the real paths of the files, and the programs and connections it starts. */
function watched(root: string): { readonly opened: readonly string[]; readonly started: readonly string[] } {
  const output = join(makeTree({}), 'trace')
  scanApart(root, {
    before: [
      'strace',
      '-f',
      '-y',
      '-s',
      '4096',
      '-o',
      output,
      '-e',
      'trace=open,openat,openat2,execve,execveat,connect',
    ],
  })
  const lines = readFileSync(output, 'utf8').split('\n')
  const opened = lines.flatMap((line) => / open(?:at2?)?\(.*\) += \d+<(.*)>$/.exec(line)?.[1] ?? [])
  return { opened, started: lines.filter((line) => / (?:execve|execveat|connect)\(/.test(line)) }
}

test.skipIf(!hasStrace)(
  'seen from outside, a scan and a resolution open only what lies below the root, and start nothing [K-02 K-15 K-70]',
  () => {
    const { root } = makeHostileTree()
    const own = watched(makeTree({ 'good/KNOWLEDGE.md': entry('good') }))
    const { opened, started } = watched(root)
    const known = new Set(own.opened)
    const others = opened.filter((path) => !known.has(path) && !path.startsWith('/proc/') && !path.startsWith('/sys/'))
    assert.deepEqual(
      others.filter((path) => path !== root && !path.startsWith(`${root}/`)),
      [],
    )
    assert(
      others.some((path) => path.endsWith('/good/documents/a.md')),
      'nobody watched',
    )
    assert.deepEqual(
      others.filter((path) =>
        /SKILL\.md$|\/scripts\/|\/tool$|piped\/K|pipe\.md|\/inner\/K|node_modules/.test(path.slice(root.length)),
      ),
      [],
    )
    assert.equal(started.length, own.started.length)
  },
)

// The superuser may read everything, so somebody else has to try.
const uid = process.getuid?.() === 0 ? 65_534 : undefined
const mayTry =
  uid === undefined ||
  spawnSync(process.execPath, [script, join(project, 'docs')], { uid, gid: uid, cwd: tmpdir(), stdio: 'ignore' })
    .status === 0
if (!mayTry) process.stderr.write('skipped: nobody but the superuser can run this, and that one may read everything\n')

test.skipIf(!mayTry)('what may not be read is told, and the rest is found [K-14 K-24]', () => {
  const top = makeTree({
    'closed/p/KNOWLEDGE.md': entry('p'),
    'mute/KNOWLEDGE.md': entry('mute'),
    'open/KNOWLEDGE.md': entry('open'),
  })
  const closed = [join(top, 'closed'), join(top, 'mute/KNOWLEDGE.md')]
  onTestFinished(() => {
    for (const path of closed) chmodSync(path, 0o700)
  })
  chmodSync(top, 0o755)
  for (const path of closed) chmodSync(path, 0)
  const { packs, quarantined, told } = scanApart(top, { uid })
  assert.deepEqual([packs, quarantined, told], [['w:open'], ['w:mute entry-kind'], ['scan-limit closed']])
})

test('findings of one kind are counted where they would be endless [K-12 K-15]', async () => {
  const links = Object.fromEntries(Array.from({ length: 1_200 }, (_, n) => [`l${n}`, ['nowhere'] as const]))
  const { diagnostics } = await makeScanner().scan([{ id: 'w', scope: 'workspace', path: makeTree(links) }])
  assert.deepEqual([diagnostics.length, diagnostics.at(-1)?.message], [1_001, '200 more of these are not listed'])
})

test('a folder that vanishes is no harm [K-24]', async () => {
  const top = makeTree({ 'a/KNOWLEDGE.md': entry('a') })
  const scanner = makeScanner({ now: () => Date.now() + 60_000 })
  await scanner.scan([{ id: 'w', scope: 'workspace', path: top }])
  rmSync(top, { recursive: true })
  const { packs, roots } = await scanner.scan([{ id: 'w', scope: 'workspace', path: top }])
  assert.deepEqual([packs, roots[0]?.missing], [[], true])
})

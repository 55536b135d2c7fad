import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { linkSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import fc from 'fast-check'
import { onTestFinished, test } from 'vitest'
import { folder, makeTree, pipe } from '../../test/knowledge/tree.ts'
import { callsOf, contextOf } from '../../test/support/resource-context.ts'
import { sweep } from '../../test/support/sweep.ts'
import { encodeName, labelOf } from './file-paths.ts'
import { files } from './files.ts'

/** What must not be seen has a text that says so, and beside it a name that no path names. */
async function world() {
  const top = makeTree({
    'outside/SECRET': 'TOPSECRET',
    'outside/HIDDEN': '',
    'outside/folder/SECRET': 'TOPSECRET',
    'data/acme/a/plain': 'plain',
    'data/acme/a/sub/plain': 'plain',
    'data/acme/a/up': ['../../..'],
    'data/acme/a/root': ['/'],
    'data/acme/a/self': ['self'],
    'data/acme/a/file-link': ['../../../outside/SECRET'],
    'data/acme/a/new-link': ['../../../outside/new'],
    'data/acme/a/zero': ['/dev/zero'],
    'data/acme/a/pipe': pipe,
    'data/acme/a/sub/away': ['../../../../outside'],
    'data/acme/a/sub/neighbour': ['../../b'],
    [`data/acme/a/${encodeName('Sub')}`]: ['../../../outside'],
    [`data/acme/a/${encodeName('..')}`]: ['../../../outside'],
    'data/acme/b/SECRET': 'TOPSECRET',
    'data/acme/b/HIDDEN': '',
    'data/acme/c': folder,
    'data/acme/linked': ['../../outside'],
    'data/other/a/SECRET': 'TOPSECRET',
    'data/other/a/HIDDEN': '',
    'data/evil': ['../outside'],
  })
  linkSync(join(top, 'outside/SECRET'), join(top, 'data/acme/a/hard'))
  const server = createServer().listen(join(top, 'data/acme/a/socket'))
  await new Promise((resolve) => server.on('listening', resolve))
  onTestFinished(() => void server.close())
  return { top, provider: files({ root: join(top, 'data') }) }
}

/** What lies outside the granted folders, down to when it was last changed, as another program sees it. */
function observe(top: string): string {
  const find = (...args: string[]) => String(execFileSync('find', args, { cwd: top }))
  const ours = ['-path', './data/acme/a', '-o', '-path', './data/acme/c', '-o', '-name', '.ambit-lock']
  const names = find('.', '(', ...ours, ')', '-prune', '-o', '-printf', '%p %y %l\n')
  const outside = ['outside', 'data/other', 'data/evil', 'data/acme/b', 'data/acme/linked']
  const states = find(...outside, '-printf', '%p %y %i %n %s %T@ %C@\n')
  return `${names}${states}`.split('\n').sort().join('\n')
}

const contexts = [
  contextOf(['a']),
  contextOf(['a', 'c']),
  contextOf(['linked']),
  contextOf(['linked', 'a']),
  contextOf(['a'], { tenantId: 'evil' }),
  contextOf(['folder'], { tenantId: 'evil' }),
]

const tools = ['read', 'list', 'search', 'write', 'delete']

/** Calls every tool with a path, also in runs whose grant or tenant lies behind a link; answers how often something came out. */
async function escapes({ top, provider }: Awaited<ReturnType<typeof world>>, path: string): Promise<number> {
  let count = 0
  for (const context of contexts)
    for (const tool of tools) {
      const input = { path, query: 'TOPSECRET', content: 'changed', depth: 5 }
      const { result } = await callsOf(provider, context)(tool, input)
      const told = JSON.stringify(result)
      assert.match(told, /^\{"ok":(?:true|false,"code":"file_[a-z_]+")/, `${tool} ${JSON.stringify(path)}`)
      if (/TOPSECRET|VE9QU0VDUkVU|HIDDEN/.test(told) || (told.includes(top) && !path.includes(top.slice(1)))) count++
    }
  return count
}

const forms = (top: string): readonly string[] => {
  const targets = ['outside/SECRET', 'data/acme/b/SECRET', 'data/other/a/SECRET', 'etc/passwd']
  const ups = ['..', '../..', '../../..', '../../../..', './..', 'sub/../..', 'sub/../../..', 'plain/..', 'sub//..']
  const dots = [
    '%2e%2e',
    '%2E%2E',
    '..%2f',
    '%252e%252e',
    '..\\',
    '\\..',
    '．．',
    '‥',
    '․․',
    '. .',
    '.. ',
    '..\u200b',
    '\u202e..',
    '..\0',
    '\0..',
    '..;',
    '.%00.',
    '\ud800',
  ]
  const links = [
    'up',
    'up/outside',
    'root',
    'self',
    'file-link',
    'new-link',
    'zero',
    'pipe',
    'socket',
    'hard',
    'sub/away',
    'sub/away/folder',
    'sub/neighbour',
    'Sub',
    encodeName('Sub'),
    encodeName('..'),
  ]
  const names = [
    '',
    '/',
    '.',
    '..',
    './',
    '/plain',
    './plain',
    'plain/',
    'sub//plain',
    'sub/',
    '~',
    '~root/x',
    'C:\\x',
    'C:/x',
    '\\\\host\\x',
    'file:///etc/passwd',
    'con',
    'NUL.txt',
    '.ambit-lock',
    '.AMBIT-LOCK',
    '.ambit-0-plain',
    '../.ambit-lock',
    'PLAIN',
    'Plain',
    'SUB/plain',
    'plaın',
    labelOf('a'),
    labelOf('b'),
    `${labelOf('b')}/SECRET`,
    `${labelOf('linked')}/SECRET`,
    'x'.repeat(256),
    'x/'.repeat(500),
    `${'x'.repeat(255)}/y`,
    `${'𝒳'.repeat(100)}/y`,
  ]
  const away = [...ups, ...dots, ...links]
  return [
    ...names,
    ...away,
    ...away.flatMap((start) => targets.map((target) => `${start}/${target}`)),
    ...links.flatMap((link) =>
      ['SECRET', 'new', 'folder/SECRET', '../SECRET', './SECRET'].map((rest) => `${link}/${rest}`),
    ),
    ...links.flatMap((link) => [labelOf('a'), labelOf('linked')].map((label) => `${label}/${link}/SECRET`)),
    ...targets.flatMap((target) => [`${top}/${target}`, `/${target}`, `${top}//${target}`.slice(1)]),
  ]
}

test('no path of the list leads out of the granted folders, as another program finds before and after [G-48]', async () => {
  const made = await world()
  const before = observe(made.top)
  let count = 0
  for (const path of forms(made.top)) count += await escapes(made, path)
  assert.equal(count, 0)
  assert.equal(observe(made.top), before)
})

test('no path of pieces put together at random leads out of the granted folders [G-48]', async () => {
  const made = await world()
  const before = observe(made.top)
  const pieces = forms(made.top)
    .flatMap((form) => form.split('/'))
    .filter((piece) => piece.length < 60)
  // Mostly what leads somewhere, so that a way out would be found.
  const ways = fc.constantFrom('up', 'root', 'sub', 'away', 'neighbour', 'outside', 'folder', 'SECRET', 'data', '..')
  const piece = fc.oneof(
    { weight: 4, arbitrary: ways },
    { weight: 2, arbitrary: fc.constantFrom(...pieces) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 4 }) },
  )
  const between = fc.oneof(
    { weight: 6, arbitrary: fc.constant('/') },
    { weight: 1, arbitrary: fc.constantFrom('//', '\\', '%2f', '') },
  )
  const path = fc
    .tuple(piece, fc.array(fc.tuple(between, piece), { maxLength: 5 }))
    .map(([first, rest]) => [first, ...rest.flat()].join(''))
  let count = 0
  await fc.assert(
    fc.asyncProperty(path, async (one) => {
      count += await escapes(made, one)
    }),
    { numRuns: sweep(400, 20_000) },
  )
  assert.equal(count, 0)
  assert.equal(observe(made.top), before)
})

test('the test notices what it is for: a path that is not looked at gets out [G-48]', async () => {
  const made = await world()
  const before = observe(made.top)
  execFileSync('sh', ['-c', 'echo changed > data/acme/a/new-link'], { cwd: made.top })
  assert.notEqual(observe(made.top), before)
})

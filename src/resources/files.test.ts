import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'vitest'
import { folder, grow, makeTree } from '../../test/knowledge/tree.ts'
import { assertRefused, callsOf, contextOf, resultOf } from '../../test/support/resource-context.ts'
import { sha256 } from '../base/hash.ts'
import { limits } from '../base/limits.ts'
import { labelOf } from './file-paths.ts'
import { files } from './files.ts'
import type { Touched } from './provider.ts'

const world = (tree: Parameters<typeof grow>[1] = {}) => {
  const root = makeTree({ data: folder })
  grow(join(root, 'data'), tree)
  const spec = files({ root: join(root, 'data') })
  const calls = (grants: readonly string[], more: Parameters<typeof contextOf>[1] = {}) =>
    callsOf(spec, contextOf(grants, more))
  return { spec, calls, at: (path: string) => join(root, 'data', path) }
}

const refused = (touched: Promise<Touched>, code: string, path: string) =>
  assertRefused(touched, code, `file \`${path}\`: ${code.slice('file_'.length).replace('_', ' ')}`)

test('what is written is read, listed, searched and deleted, and every result names its scopes [G-48]', async () => {
  const { calls, at } = world()
  const call = calls(['shop/Berlin'])
  const content = 'one\nTwo lines\n'
  const hash = sha256(content)
  assert.deepEqual(await call('write', { path: 'Notes/day.md', content }), {
    result: { ok: true, path: 'Notes/day.md', bytes: 14, hash, previousHash: null },
    scopes: ['shop/Berlin'],
  })
  assert.deepEqual(await call('read', { path: 'Notes/day.md' }), {
    result: { ok: true, content, encoding: 'utf8', bytes: 14, hash, truncated: false },
    scopes: ['shop/Berlin'],
  })
  const listed = await call('list', { depth: 2 })
  const [above, below] = (listed.result as { items: { modifiedAt: string }[] }).items
  assert.match(above?.modifiedAt ?? '', /^\d{4}-\d\d-\d\dT.*Z$/)
  assert.deepEqual(
    { ...above, modifiedAt: '' },
    { path: 'Notes', kind: 'folder', bytes: null, hash: null, modifiedAt: '' },
  )
  assert.deepEqual(
    { ...below, modifiedAt: '' },
    { path: 'Notes/day.md', kind: 'file', bytes: 14, hash, modifiedAt: '' },
  )
  assert.deepEqual(await resultOf(call('search', { query: 'two' })), {
    matches: [{ path: 'Notes/day.md', line: 2, text: 'Two lines' }],
    truncated: false,
  })
  assert.deepEqual(await resultOf(call('delete', { path: 'Notes/day.md', ifHash: hash })), {
    path: 'Notes/day.md',
    previousHash: hash,
  })
  await refused(call('read', { path: 'Notes/day.md' }), 'file_not_found', 'Notes/day.md')
  assert.deepEqual(readdirSync(at('acme/shop')).length, 1)
})

test('without a live grant every tool is refused, and nothing is made on the disk [G-43 G-48]', async () => {
  const { calls, spec, at } = world({ 'acme/shop/a': 'a' })
  const call = calls([])
  for (const tool of Object.keys(spec.tools))
    await assert.rejects(call(tool, { path: 'a', query: 'a', content: 'x' }), { code: 'grant.missing' })
  assert.deepEqual([readdirSync(at('')), readFileSync(at('acme/shop/a'), 'utf8')], [['acme'], 'a'])
})

test('a grant reaches its node and what lies below, in its tenant, and nothing else [G-48]', async () => {
  const { calls } = world({
    'acme/shop/a': 'of the shop',
    'acme/shop/berlin/b': 'of Berlin',
    'acme/shops/c': 'of a neighbour',
    'other/shop/a': 'of another tenant',
  })
  const found = async (grants: readonly string[], tenantId = 'acme') =>
    (await resultOf(calls(grants, { tenantId })('search', { query: 'of' }))).matches.map(
      (one: { text: string }) => one.text,
    )
  assert.deepEqual(await found(['shop']), ['of the shop', 'of Berlin'])
  assert.deepEqual(await found(['shop/berlin']), ['of Berlin'])
  assert.deepEqual(await found(['shop'], 'other'), ['of another tenant'])
  assert.deepEqual(await found(['shop/berlin/mitte']), [])
  assert.deepEqual(await found(['Shop']), [])
})

test('the root is made when the provider opens; where it is none, nothing is found [G-48]', async () => {
  const root = join(makeTree({}), 'a/b')
  const spec = files({ root })
  await refused(callsOf(spec, contextOf(['x']))('read', { path: 'y' }), 'file_not_found', 'y')
  assert.deepEqual(await spec.erase?.({ tenantId: 'acme', scope: 'x', recursive: true }), { files: 0 })
  await spec.open?.()
  assert.equal((await resultOf(callsOf(spec, contextOf(['x']))('write', { path: 'y', content: '' }))).bytes, 0)
  assert.deepEqual(readdirSync(join(root, 'acme/x')), ['y'])
})

test('a folder in a granted one is the scope of that name, whatever its letters [G-48]', async () => {
  const { calls } = world()
  await calls(['users'])('write', { path: 'Ada Ö/notes.md', content: 'hers' })
  await calls(['users/Ada'])('write', { path: 'notes.md', content: 'of Ada' })
  assert.equal((await resultOf(calls(['users'])('read', { path: 'Ada/notes.md' }))).content, 'of Ada')
  const { items } = await resultOf(calls(['users'])('list', { depth: 2 }))
  assert.deepEqual(
    items.map(({ path }: { path: string }) => path),
    ['Ada', 'Ada Ö', 'Ada Ö/notes.md', 'Ada/notes.md'],
  )
})

test('with several grants each is a folder, and a path outside of them is refused [G-48]', async () => {
  const { calls } = world({ 'acme/a/x': '1', 'acme/b/x': '22', 'acme/b/sub/y': '3' })
  const [one, two] = [labelOf('a'), labelOf('b')]
  const call = calls(['a', 'b'])
  const { items } = await resultOf(call('list', { depth: 2 }))
  assert.deepEqual(
    items.map(({ path }: { path: string }) => path),
    [one, `${one}/x`, two, `${two}/sub`, `${two}/x`].sort(),
  )
  const read = await call('read', { path: `${two}/x` })
  assert.deepEqual([(read.result as { content: string }).content, read.scopes], ['22', ['b']])
  assert.deepEqual((await call('list', {})).scopes, ['a', 'b'])
  assert.deepEqual((await call('list', { path: `${two}/sub` })).scopes, ['b'])
  for (const path of ['x', 'a/x', `${labelOf('c')}/x`, `${one.toUpperCase()}/x`, one, ''])
    await refused(call('read', { path }), 'file_outside_root', path)
  await refused(call('write', { path: 'x', content: '' }), 'file_outside_root', 'x')
})

test('a write or delete that expects another content changes nothing [G-48]', async () => {
  const { calls, at } = world({ 'acme/a/x': 'old' })
  const call = calls(['a'])
  const wrong = [{ ifHash: 'absent' }, { ifHash: sha256('other') }, { ifHash: sha256('old').toUpperCase() }]
  for (const more of wrong) {
    await refused(call('write', { path: 'x', content: 'new', ...more }), 'file_conflict', 'x')
    await refused(call('delete', { path: 'x', ...more }), 'file_conflict', 'x')
  }
  await refused(call('write', { path: 'y/z', content: '', ifHash: sha256('') }), 'file_conflict', 'y/z')
  await refused(call('delete', { path: 'y/z' }), 'file_not_found', 'y/z')
  assert.deepEqual([readFileSync(at('acme/a/x'), 'utf8'), existsSync(at('acme/a/y'))], ['old', false])
  assert.equal(
    (await resultOf(call('write', { path: 'x', content: 'new', ifHash: sha256('old') }))).previousHash,
    sha256('old'),
  )
  assert.equal((await resultOf(call('write', { path: 'y/z', content: '', ifHash: 'absent' }))).previousHash, null)
})

test('of writers in several processes that all expect the same content exactly one succeeds [G-48]', async () => {
  const { at } = world()
  const script = `
    import { files } from ${JSON.stringify(join(import.meta.dirname, 'files.ts'))}
    const { write } = files({ root: ${JSON.stringify(at(''))} }).tools
    const context = { grants: ['a'], resourceName: 'files', run: { tenantId: 'acme' }, signal: new AbortController().signal }
    let won = 0
    for (let n = 0; n < 20; n++) {
      const { result } = await write.run({ path: 'f/' + n, content: String(process.pid), ifHash: 'absent' }, context)
      if (!result.ok && result.code !== 'file_conflict') throw new Error(result.code)
      won += Number(result.ok)
    }
    process.stdout.write(String(won))`
  const won = await Promise.all(
    [1, 2, 3].map(async () => {
      const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      const [data] = await once(child.stdout, 'data')
      return Number(data)
    }),
  )
  assert.equal(
    won.reduce((sum, count) => sum + count, 0),
    20,
  )
})

test('reading is bounded and says so; text is cut between characters, and what is no text is base64 [G-48]', async () => {
  const big = 'é'.repeat(limits.fileReadBytesMax)
  const { calls } = world({
    'acme/a/big': big,
    'acme/a/bytes': Buffer.from([0xff, 0, 1]),
    'acme/a/control': 'a\u0000b',
    'acme/a/mark': '\ufeffx',
    'acme/a/cut': Buffer.from([0x61, 0xc3]),
  })
  const read = (path: string, more = {}) => resultOf(calls(['a'])('read', { path, ...more }))
  const first = await read('big')
  assert.deepEqual(
    [first.content.length, first.truncated, first.bytes],
    [limits.fileReadBytesMax / 2, true, big.length * 2],
  )
  assert.equal(first.hash, sha256(big))
  assert.deepEqual(await read('big', { length: 5 }).then(({ content, encoding }) => [content, encoding]), [
    'éé',
    'utf8',
  ])
  assert.equal((await read('big', { offset: 1, length: 3 })).encoding, 'base64')
  assert.equal((await read('big', { length: 1 })).encoding, 'base64')
  assert.deepEqual(await read('big', { offset: big.length * 2 }).then((one) => [one.content, one.truncated]), [
    '',
    false,
  ])
  for (const path of ['bytes', 'control', 'cut']) assert.equal((await read(path)).encoding, 'base64')
  assert.equal((await read('mark')).content, '\ufeffx')
  assert.deepEqual(
    await calls(['a'])('write', { path: 'out', content: '/wAB', encoding: 'base64' }).then(() => read('out')),
    { ...(await read('bytes')) },
  )
  for (const content of ['/wA', 'a b=', '-_8='])
    await assert.rejects(calls(['a'])('write', { path: 'out', content, encoding: 'base64' }), { code: 'args.invalid' })
  await assert.rejects(calls(['a'])('write', { path: 'out', content: '\ud800' }), { code: 'args.invalid' })
})

test('pages of a list are whole and in order, whatever is deleted between them [G-48]', async () => {
  const names = Array.from({ length: 25 }, (_, n) => `f${n}/x.md`)
  const { calls } = world(Object.fromEntries(names.map((path) => [`acme/a/${path}`, path])))
  const call = calls(['a'])
  const seen: string[] = []
  let cursor: string | undefined
  do {
    const page = await resultOf(call('list', { depth: 2, limit: 7, ...(cursor && { cursor }) }))
    seen.push(...page.items.map(({ path }: { path: string }) => path))
    cursor = page.nextCursor
    if (cursor?.endsWith('.md')) await call('delete', { path: cursor })
  } while (cursor !== undefined)
  assert.deepEqual(seen, names.flatMap((path) => [path.split('/')[0] ?? '', path]).sort())
})

test('a search is bounded in matches and bytes and says when it is cut [G-48]', async () => {
  const { calls, at } = world({
    'acme/a/many': 'x\n'.repeat(60),
    'acme/a/z/one': 'needle\r\n',
    'acme/a/bin': Buffer.from([0, 0x78]),
  })
  const call = calls(['a'])
  const many = await resultOf(call('search', { query: 'X' }))
  assert.deepEqual([many.matches.length, many.truncated], [50, true])
  assert.deepEqual(await resultOf(call('search', { query: 'NEEDLE', path: 'z' })), {
    matches: [{ path: 'z/one', line: 1, text: 'needle' }],
    truncated: false,
  })
  writeFileSync(at('acme/a/large'), Buffer.alloc(limits.fileSearchBytesMax + 1, 'a'))
  const after = await resultOf(call('search', { query: 'needle' }))
  assert.deepEqual([after.matches.length, after.truncated], [1, true])
  const aborted = calls(['a'], { signal: AbortSignal.abort(new Error('cancelled')) })
  await assert.rejects(aborted('search', { query: 'needle' }), /cancelled/)
})

test('erasing a scope removes its files and no others, with those below if told, and again counts zero [G-48]', async () => {
  const { spec, calls, at } = world({
    'acme/a/one': '1',
    'acme/a/.ambit-0-one': 'half',
    'acme/a/sub/two': '2',
    'acme/ab/three': '3',
    'other/a/four': '4',
  })
  await calls(['a'])('write', { path: 'Sub/five', content: '5' })
  const erase = (scope: string, recursive: boolean) => spec.erase?.({ tenantId: 'acme', scope, recursive })
  assert.deepEqual(await erase('a', false), { files: 2 })
  assert.deepEqual(await erase('a/Sub', false), { files: 1 })
  assert.deepEqual(
    [await erase('a', true), await erase('a', true), await erase('none', true)],
    [{ files: 1 }, { files: 0 }, { files: 0 }],
  )
  assert.deepEqual([readFileSync(at('acme/ab/three'), 'utf8'), readFileSync(at('other/a/four'), 'utf8')], ['3', '4'])
})

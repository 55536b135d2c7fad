import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'vitest'
import { folder, makeTree } from '../../test/knowledge/tree.ts'
import { placeOf } from './contained.ts'
import { type WalkEnd, type WalkOptions, walkFolders } from './walk.ts'

async function walkTree(top: string, options: Partial<WalkOptions> = {}): Promise<[string[], WalkEnd]> {
  const seen: string[] = []
  const into: WalkOptions['into'] = ({ path, entries }) => {
    seen.push(path)
    return entries.filter(({ kind }) => kind === 'folder' || kind === 'link')
  }
  return [seen, await walkFolders(placeOf(top), { depthMax: 9, foldersMax: 999, into, ...options })]
}

test('folders come breadth first and by name, real ones before those behind links [K-12 K-15 K-19]', async () => {
  const top = makeTree({ 'b/d': folder, 'a/c': folder, '.x/y/z': folder, aa: ['.x/y'], e: folder })
  const [seen, end] = await walkTree(top)
  assert.deepEqual(seen, ['', '.x', 'a', 'b', 'e', '.x/y', 'a/c', 'b/d', '.x/y/z'])
  assert.deepEqual([end.folders, end.links], [9, [{ path: 'aa', why: 'known' }]])
  const into: WalkOptions['into'] = ({ path, entries }) => {
    later.push(path)
    return entries.filter(({ name }) => name !== '.x')
  }
  const later: string[] = []
  await walkTree(top, { into })
  assert.deepEqual(later, ['', 'a', 'b', 'e', 'a/c', 'b/d', 'aa', 'aa/z'])
})

test('every link that is not gone into says why [K-15]', async () => {
  const top = makeTree({
    'r/a/up': ['..'],
    'r/a/top': ['../..'],
    'r/f': ['x'],
    'r/x': 'file',
    'r/gone': ['no'],
    'r/s': ['s'],
  })
  const [seen, { links }] = await walkTree(join(top, 'r'))
  assert.deepEqual(seen, ['', 'a'])
  assert.deepEqual(links.map(({ path, why }) => `${path} ${why}`).toSorted(), [
    'a/top outside',
    'a/up loop',
    'f no-folder',
    'gone no-folder',
    's loop',
  ])
})

test('what lies too deep or comes too late is counted [K-12]', async () => {
  const top = makeTree({ 'a/b/c/d': folder, 'a/b/e': folder, f: folder })
  const [deep, { tooDeep }] = await walkTree(top, { depthMax: 2 })
  assert.deepEqual([deep, tooDeep], [['', 'a', 'f', 'a/b'], 2])
  const [few, { tooMany }] = await walkTree(top, { foldersMax: 2 })
  assert.deepEqual([few, tooMany], [['', 'a'], 2])
})

test('others get a turn during a long walk [K-12]', async () => {
  const top = makeTree({})
  for (let n = 0; n < 900; n++) mkdirSync(join(top, `${n}`))
  let turns = 0
  let isOver = false
  const tick = (): void => {
    turns++
    if (!isOver) setImmediate(tick)
  }
  setImmediate(tick)
  await walkTree(top)
  isOver = true
  assert(turns >= 4, `only ${turns} turns`)
})

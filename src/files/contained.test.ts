import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, renameSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { folder, makeTree, pipe } from '../../test/knowledge/tree.ts'
import { placeOf, readBytes, realPathIn, withOpen } from './contained.ts'
import type { Place } from './folder.ts'

const codeOf = (work: () => unknown): unknown => {
  try {
    work()
    return 'done'
  } catch (error) {
    return (error as { code?: unknown }).code
  }
}

describe.each([true, false])('what lies at a path below a place, open folders as paths: %s [K-15 K-70]', (pins) => {
  const world = (): { top: string; place: Place } => {
    const top = makeTree({
      'root/a/file': 'inside',
      'root/pipe': pipe,
      'root/folder': ['a'],
      'root/up': ['..'],
      'root/file': ['a/file'],
      'root-twin/file': 'outside',
      'twin/file': 'outside',
    })
    return { top, place: placeOf(join(top, 'root'), { pins }) }
  }

  test('is opened and read', () => {
    const { place } = world()
    const text = withOpen(place, 'a/file', 'file', ({ descriptor }) => readBytes(descriptor, 2, 99).toString())
    assert.equal(text, 'side')
    assert.deepEqual(
      withOpen(place, 'a', 'folder', ({ host }) => readdirSync(host)),
      ['file'],
    )
  })

  test('is refused behind a link, even one that stays inside', () => {
    const { place } = world()
    const files = ['folder/file', 'up/twin/file', 'up/root-twin/file', 'up/root/a/file', 'file']
    for (const path of files) {
      const code = codeOf(() => withOpen(place, path, 'file', () => assert.fail(path)))
      assert(code === 'file.outside_root' || code === 'ELOOP', `${path}: ${code}`)
    }
    for (const path of ['folder', 'up', 'up/twin'])
      assert.notEqual(
        codeOf(() => withOpen(place, path, 'folder', () => assert.fail(path))),
        'done',
      )
  })

  test('is refused when it is something else, without waiting', () => {
    const { place } = world()
    assert.equal(
      codeOf(() => withOpen(place, 'pipe', 'file', () => assert.fail())),
      'file.invalid',
    )
    assert.equal(
      codeOf(() => withOpen(place, 'a', 'file', () => assert.fail())),
      'file.invalid',
    )
    assert.equal(
      codeOf(() => withOpen(place, 'a/file', 'folder', () => assert.fail())),
      'ENOTDIR',
    )
  })

  test('is refused when the place itself was moved away and a link left there', () => {
    const { top, place } = world()
    renameSync(join(top, 'root'), join(top, 'moved'))
    mkdirSync(join(top, 'other/a'), { recursive: true })
    symlinkSync('moved', join(top, 'root'))
    assert.equal(
      codeOf(() => withOpen(place, 'a/file', 'file', () => assert.fail())),
      'file.outside_root',
    )
  })
})

test('a real path is inside its place or undefined, and a name that begins alike is not inside [K-70]', () => {
  const top = makeTree({
    'root/a/b': folder,
    'root/x': ['../root-twin'],
    'root-twin': folder,
    'root/y': ['a/b'],
    'root/z': ['.'],
  })
  const place = placeOf(join(top, 'root'))
  const found = ['x', 'y', 'z', '..', 'a', '../root-twin'].map((path) => realPathIn(place, `${place.real}/${path}`))
  assert.deepEqual(found, [undefined, 'a/b', '', undefined, 'a', undefined])
  assert.equal(realPathIn({ ...place, real: '/' }, place.real), place.real.slice(1))
})

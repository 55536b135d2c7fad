import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test, vi } from 'vitest'
import { entry, makeTree } from '../../../test/knowledge/tree.ts'
import { openPackFiles } from './pack-files.ts'
import { makeScanner } from './scan.ts'

// Something is done just before or after a file or folder is opened, as by another process at that moment.
const others = vi.hoisted(() => ({ before: (_path: string): void => {}, act: (_path: string): void => {} }))

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>()
  const openSync = (path: string, flags: number): number => {
    others.before(path)
    const descriptor = fs.openSync(path, flags)
    others.act(path)
    return descriptor
  }
  return { ...fs, openSync }
})

const { appendFileSync, renameSync, symlinkSync } = await vi.importActual<typeof import('node:fs')>('node:fs')

async function open() {
  const top = makeTree({ 'p/KNOWLEDGE.md': entry('p'), 'p/wiki/a.md': 'a', 'q/a.md': 'outside' })
  const files = await openPackFiles({ id: 'w', scope: 'workspace', path: top }, { id: 'w:p', path: 'p' })
  return { top, files }
}

/** Acts the first so many times that the file is opened. */
function whenOpened(file: string, times: number, act: () => void): void {
  let left = times
  others.act = (path) => {
    if (path.endsWith(file) && left-- > 0) act()
  }
}

test('a file that changes while it is read is read once more, and then given up [K-70]', async () => {
  const { top, files } = await open()
  whenOpened('a.md', 1, () => appendFileSync(join(top, 'p/wiki/a.md'), '!'))
  assert.equal(((await files.read('wiki/a.md')) as { text?: string }).text, 'a!')
  whenOpened('a.md', 2, () => appendFileSync(join(top, 'p/wiki/a.md'), '!'))
  assert.equal(((await files.read('wiki/a.md')) as { code?: string }).code, 'file-changed')
})

test('a folder swapped for a link while a file is read does not lead out [K-70]', async () => {
  const { top, files } = await open()
  whenOpened('a.md', 1, () => {
    renameSync(join(top, 'p/wiki'), join(top, 'p/old'))
    symlinkSync('../q', join(top, 'p/wiki'))
  })
  const result = await files.read('wiki/a.md')
  assert.equal('code' in result && result.code, 'path-escape')
})

test.each(['a', 'a/b', 'a/b/KNOWLEDGE.md'])(
  '%s swapped for a link during a scan does not lead out [K-15 K-70]',
  async (path) => {
    const top = makeTree({
      'root/a/b/KNOWLEDGE.md': entry('b'),
      'away/b/KNOWLEDGE.md': entry('away'),
      'root/z/KNOWLEDGE.md': entry('z'),
    })
    const target = path.replace(/^a/, 'away')
    let swapped = false
    others.before = (opened) => {
      if (swapped || !opened.startsWith(join(top, 'root', path))) return
      swapped = true
      renameSync(join(top, 'root', path), join(top, 'old'))
      symlinkSync(join(top, target), join(top, 'root', path))
    }
    const { packs } = await makeScanner().scan([{ id: 'w', scope: 'workspace', path: join(top, 'root') }])
    others.before = () => {}
    assert(swapped)
    assert.deepEqual(
      packs.map(({ header }) => header.name),
      ['z'],
    )
  },
)

test('a folder above swapped for a link during a scan does not lead out [K-15 K-70]', async () => {
  const top = makeTree({ 'root/a/b/KNOWLEDGE.md': entry('b'), 'away/b/KNOWLEDGE.md': entry('away') })
  others.before = (opened) => {
    if (opened !== join(top, 'root/a/b')) return
    renameSync(join(top, 'root/a'), join(top, 'old'))
    symlinkSync(join(top, 'away'), join(top, 'root/a'))
  }
  const scan = await makeScanner().scan([{ id: 'w', scope: 'workspace', path: join(top, 'root') }])
  others.before = () => {}
  assert.deepEqual([scan.packs, scan.diagnostics.map(({ code, path }) => `${code} ${path}`)], [[], ['scan-limit a/b']])
})

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'vitest'
import { inFolder } from './folder.ts'

const pins = existsSync('/proc/self/fd')

test.skipIf(!pins)('a folder swapped for a link after it was checked is not followed [F-21]', async () => {
  const top = await realpath(await mkdtemp(join(tmpdir(), 'ambit-folder-')))
  const real = join(top, 'root')
  await mkdir(join(real, 'sub'), { recursive: true })
  await mkdir(join(top, 'outside'))
  await inFolder({ real, pins }, ['sub'], async (folder) => {
    await rename(join(real, 'sub'), join(real, 'moved'))
    await symlink(join(top, 'outside'), join(real, 'sub'))
    await writeFile(folder.entry('a'), 'a')
  })
  assert.deepEqual([await readdir(join(top, 'outside')), await readdir(join(real, 'moved'))], [[], ['a']])
  await rm(top, { recursive: true })
})

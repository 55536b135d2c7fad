import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'vitest'
import { tempFolder } from '../../../test/cli/given.ts'
import { writePackIn } from '../../../test/support/knowledge.ts'
import { examine } from './doctor.ts'

const foundIn = async (folder: string): Promise<readonly string[]> => {
  const said: string[] = []
  for await (const { check, verdict, message } of examine({ folder, env: {} }))
    if (check === 'knowledge') said.push(`${verdict}: ${message}`)
  return said
}

test('doctor counts the packs of configured roots, and tells of roots that are gone and packs that are broken [F-20 K-14]', async () => {
  const folder = tempFolder()
  assert.deepEqual(await foundIn(folder), [])
  const roots = [{ path: 'packs' }, { id: 'company', path: 'company' }]
  writeFileSync(join(folder, 'ambit.config.json'), JSON.stringify({ knowledge: { roots: roots.slice(0, 1) } }))
  writePackIn(join(folder, 'packs'), 'pumps')
  assert.deepEqual(await foundIn(folder), ['ok: 1 pack in 1 root'])
  writePackIn(join(folder, 'packs'), 'broken', { name: 'No Name' })
  writeFileSync(join(folder, 'ambit.config.json'), JSON.stringify({ knowledge: { roots } }))
  assert.deepEqual(await foundIn(folder), [
    'fail: the root `company` is not there, or cannot be read',
    'warn: 1 of 2 packs cannot be used',
  ])
})

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { test } from 'vitest'
import { bundle } from '../scripts/support/bundle.ts'
import { tempFolder } from './cli/given.ts'
import { projectRoot } from './support/source.ts'

test('a failure of the built package that nobody catches is printed in a few lines that can be read [F-05]', async () => {
  const folder = tempFolder()
  symlinkSync(join(projectRoot, 'node_modules'), join(folder, 'node_modules'))
  await bundle(join(folder, 'dist'))
  const door = pathToFileURL(join(folder, 'dist/index.js')).href
  const program = `import { tenantId } from ${JSON.stringify(door)}\ntenantId('No Tenant')`
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' })
  assert.equal(status, 1)
  assert(stderr.length < 2_000, `${stderr.length} characters`)
  assert.match(stderr, /^Failure: tenant id `No Tenant` is not valid\n {4}at tenantId \(/m)
  assert.match(stderr, /code: 'id\.invalid'/)
  assert.match(stderr, /help: 'use 1 to 63 lower-case letters/)
})

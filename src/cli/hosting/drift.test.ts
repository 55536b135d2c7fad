import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'vitest'
import { administering, givenShell } from '../../../test/cli/harness.ts'
import { projectRoot } from '../../../test/support/source.ts'

test('a file that is broken is reported by `capabilities drift` beside the servers that are not [H-90]', async () => {
  const shell = await administering(givenShell(), 'local')
  writeFileSync(join(shell.cwd, 'ambit.config.json'), '{"upstreams":["upstreams"]}')
  const server = [process.execPath, join(projectRoot, 'test/mcp/stdio.ts'), 'both']
  await shell.good('capabilities', 'import', 'mcp', 'sums', '--include', 'add', '--', ...server)
  writeFileSync(join(shell.cwd, 'upstreams/broken.json'), '{"adapter":"mcp"')
  const drift = await shell.run('capabilities', 'drift')
  assert.equal(drift.code, 1)
  assert.doesNotMatch(drift.out, /does not keep/)
  assert.match(drift.out, /^sums +– +– +\d+ tools +–\n– +.*`upstreams\/broken\.json`: .* line 1/m)
  const [sums, broken] = (await shell.run('capabilities', 'drift', '--json')).json<Record<string, unknown>[]>()
  assert.deepEqual([sums?.upstream, broken?.upstream, broken?.file], ['sums', null, 'upstreams/broken.json'])
  assert.equal((await shell.run('capabilities', 'drift', 'sums')).code, 0)
  const named = await shell.run('capabilities', 'drift', 'broken')
  assert.match(
    named.err,
    /\(capability_not_found\)\n {2}there are `sums`; a file cannot be used: `upstreams\/broken\.json`: /,
  )
})

test('a change that the file cannot show is told as such [H-90]', async () => {
  const shell = await administering(givenShell(), 'local')
  writeFileSync(join(shell.cwd, 'ambit.config.json'), '{"upstreams":["upstreams"]}')
  const server = [process.execPath, join(projectRoot, 'test/mcp/stdio.ts'), 'both']
  await shell.good('capabilities', 'import', 'mcp', 'sums', '--include', 'add', '--', ...server)
  const file = join(shell.cwd, 'upstreams/sums.json')
  writeFileSync(file, readFileSync(file, 'utf8').replace(/sha256:[0-9a-f]{64}/, `sha256:${'0'.repeat(64)}`))
  const { out } = await shell.run('capabilities', 'drift')
  assert.match(out, /^`add` of `sums`: before .*\n {2}in what the file does not keep: .*\n {2}to accept it: /m)
})

import assert from 'node:assert/strict'
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'vitest'
import { givenShell, type Shell } from '../../../test/cli/harness.ts'

const storage = `# Storing batches

## Temperature

A batch is kept between 2 and 8 °C.

## Freezing

A batch that froze is destroyed.
`

/** A pack imported from a document, in which the temperature has been changed since. */
async function givenChanged(): Promise<Shell> {
  const shell = givenShell()
  mkdirSync(join(shell.cwd, 'docs'))
  writeFileSync(join(shell.cwd, 'docs/storage.md'), storage)
  await shell.good('knowledge', 'import', 'docs', '--name', 'cold-chain', '--output', 'packs/cold-chain')
  const changed = storage
    .replace('2 and 8 °C', '3 and 6 °C')
    .replace('# Storing batches\n', '# Storing batches\n\nNew.\n')
  writeFileSync(join(shell.cwd, 'packs/cold-chain/documents/storage.md'), changed)
  return shell
}

const pack = 'packs/cold-chain'

const contextOf = async (shell: Shell, query: string) => {
  const words = ['knowledge', 'resolve', 'packs', '--confirm', 'cold-chain', '--pack', 'cold-chain', '--query', query]
  return (await shell.good(...words, '--json')).json<{ context: string }>().context
}

/** Every file with its text and when it was changed. */
const filesIn = (shell: Shell): ReadonlyMap<string, string> =>
  new Map(
    readdirSync(join(shell.cwd, pack), { recursive: true, encoding: 'utf8' })
      .map((path) => ({ path, full: join(shell.cwd, pack, path) }))
      .filter(({ full }) => statSync(full).isFile())
      .map(({ path, full }) => [path, `${statSync(full).mtimeMs} ${readFileSync(full, 'utf8')}`]),
  )

test('a value changed in a document is what a model is given, at the line where it stands now [K-52 K-58 K-88]', async () => {
  const shell = await givenChanged()
  for (const query of [
    'Between which °C is a batch kept?',
    'cold-chain storage temperature',
    'Temperature of storing, and freezing?',
  ]) {
    const text = await contextOf(shell, query)
    assert.match(text, /anchors="documents\/storage\.md#L5">\n.*\n\nA batch is kept between 3 and 6 °C/)
    assert.doesNotMatch(text, /2 and 8/)
  }
})

test('validate tells of outdated splits, and refresh makes them again and touches nothing else [K-88 K-89]', async () => {
  const shell = await givenChanged()
  const outdated = await shell.good('knowledge', 'validate', pack)
  assert.match(outdated.out, /temperature\.md +warning +split-outdated +differs from `documents\/storage\.md`/)
  const before = filesIn(shell)
  const planned = await shell.good('knowledge', 'refresh', pack, '--dry-run')
  const changed = ['splits/storage/storing-batches.md', 'splits/storage/temperature.md']
  for (const path of changed) assert.match(planned.out, new RegExp(`^would write compiled/${path}$`, 'm'))
  assert.deepEqual(filesIn(shell), before)
  const { out } = await shell.good('knowledge', 'refresh', pack)
  assert.match(
    out,
    /^wrote compiled\/splits\/storage\/storing-batches\.md\nwrote compiled\/splits\/storage\/temperature\.md\nwrote indexes\/source-map\.json\n/,
  )
  assert.match(out, /an approval lapses with the change: `ambit knowledge approve packs\/cold-chain`\n$/)
  const after = filesIn(shell)
  const touched = [...after].filter(([path, text]) => before.get(path) !== text).map(([path]) => path)
  assert.deepEqual(touched.sort(), [...changed.map((path) => `compiled/${path}`), 'indexes/source-map.json'])
  assert.deepEqual(
    [...before.keys()].filter((path) => !after.has(path)),
    [],
  )
  assert.doesNotMatch((await shell.good('knowledge', 'validate', pack)).out, /split-outdated/)
  assert.match((await shell.good('knowledge', 'refresh', pack)).out, /every split that can be made says what/)
  assert.deepEqual(filesIn(shell), after)
})

test('refresh answers programs with what it wrote, and tells of splits whose section is gone [K-89]', async () => {
  const shell = await givenChanged()
  writeFileSync(join(shell.cwd, pack, 'documents/storage.md'), storage.replace(/## Freezing[\s\S]*/, ''))
  const answer = (await shell.good('knowledge', 'refresh', pack, '--json')).json<{
    status: string
    findings: readonly { code: string; path: string }[]
    packs: readonly { written: readonly string[] }[]
  }>()
  assert.deepEqual([answer.status, answer.packs[0]?.written], ['refreshed', ['indexes/source-map.json']])
  assert.deepEqual(
    answer.findings.map(({ code, path }) => `${code} ${path}`),
    ['split-outdated compiled/splits/storage/freezing.md'],
  )
  assert.match((await shell.good('knowledge', 'refresh', '--help')).out, /nothing is deleted/)
})

test('refresh writes through no link, and only into a pack [K-15 K-70 K-89]', async () => {
  const shell = await givenChanged()
  const split = join(shell.cwd, pack, 'compiled/splits/storage/temperature.md')
  writeFileSync(join(shell.cwd, 'outside.md'), 'mine')
  unlinkSync(split)
  symlinkSync('../../../../../outside.md', split)
  assert.notEqual((await shell.run('knowledge', 'refresh', pack)).code, 0)
  assert.equal(readFileSync(join(shell.cwd, 'outside.md'), 'utf8'), 'mine')
  assert.equal((await shell.run('knowledge', 'refresh', 'docs')).code, 1)
  assert.equal((await shell.run('knowledge', 'refresh', 'nowhere')).code, 2)
})

test('a document that is renamed speaks for itself, and its old splits are not sent but told of [K-52 K-58 K-88 K-89]', async () => {
  const shell = await givenChanged()
  const at = (path: string) => join(shell.cwd, pack, path)
  const newer = storage.replace('## Temperature', '## How warm').replace('2 and 8 °C', '4 and 5 °C')
  writeFileSync(at('documents/storage.md'), newer)
  await shell.good('knowledge', 'refresh', pack)
  renameSync(at('documents/storage.md'), at('documents/storage-v2.md'))
  for (const query of ['Between which °C is a batch kept?', 'storage temperature', 'How warm is a batch kept?']) {
    const text = await contextOf(shell, query)
    assert.match(text, /path="documents\/storage-v2\.md" section="how-warm"/)
    assert.deepEqual([/4 and 5/.test(text), /2 and 8|splits\/storage\//.test(text)], [true, false], query)
    assert.match(text, /code="split-orphaned" severity="warning">.*`documents\/storage\.md` is not in the pack/)
  }
  for (const command of ['validate', 'lint', 'refresh']) {
    const { out } = await shell.good('knowledge', command, pack)
    for (const split of ['freezing', 'how-warm', 'temperature'])
      assert.match(out, new RegExp(`splits/storage/${split}\\.md +warning +split-orphaned`), command)
    assert.doesNotMatch(out, /nothing found/)
  }
})

import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'vitest'
import { givenAgentDesk, inPlace, places } from '../../../test/cli/agents.ts'
import { givenShell } from '../../../test/cli/harness.ts'

test('a new manifest loads as it is, stands where the message says, and is not replaced unasked [F-18]', async () => {
  const shell = givenShell()
  const { out } = await shell.good('agent', 'new', 'desk')
  assert.match(
    out,
    /^wrote agents\/desk\.yaml\nnext: .*`agents: \['agents'\]`.*\n {2}ambit agent validate agents\/desk\.yaml /,
  )
  assert.equal((await shell.good('agent', 'validate', 'agents')).out, 'GOOD  agents/desk.yaml  desk@1.0.0\n')
  writeFileSync(join(shell.cwd, 'agents/desk.yaml'), '# mine')
  const again = await shell.run('agent', 'new', 'desk')
  assert.deepEqual([again.code, again.err], [2, again.err])
  assert.match(again.err, /^error: `agents\/desk\.yaml` is here already \(file_exists\)\n {2}use --force/)
  assert.equal(readFileSync(join(shell.cwd, 'agents/desk.yaml'), 'utf8'), '# mine')
  assert.deepEqual((await shell.good('agent', 'new', 'desk', '--force', '--json')).json(), { file: 'agents/desk.yaml' })
  for (const id of ['Desk', '../desk', 'a b', ''])
    assert.match((await shell.run('agent', 'new', id)).err, /^error: `.*` is no id of an agent \(field_invalid\)\n/)
})

test('what is wrong with a manifest is told with its place, and with what was meant [F-18 G-75]', async () => {
  const shell = givenShell()
  mkdirSync(join(shell.cwd, 'agents'))
  const write = (name: string, text: string): void => writeFileSync(join(shell.cwd, 'agents', name), text)
  const llm = 'version: 1.0.0\nkind: llm\ninstruction: Help.\n'
  write('a.yaml', `id: a\n${llm}resource: {}\n`)
  write('b.yml', `id: b\n${llm}`)
  write('c.json', '{"id":"c","version":"1","kind":"llm","instruction":""}')
  write('d.yaml', `id: d\n${llm}resources:\n  memory:\n    mode: write\n`)
  write('e.yaml', 'id: e\nversion: 1.0.0\nkind: parallel\nresources: {}\nsteps: [{ id: s, ref: a }]\n')
  write('f.yaml', 'id: [\n')
  write('notes.txt', 'not one of them')
  const { code, out } = await shell.run('agent', 'validate', 'agents')
  assert.equal(code, 1)
  const lines = out.split('\n')
  for (const [index, pattern] of [
    /^NOT GOOD {2}agents\/a\.yaml: `\/resource`: is not a known member$/,
    /^ +did you mean `resources`\?$/,
    /^GOOD {2}agents\/b\.yml {2}b@1\.0\.0$/,
    /^NOT GOOD {2}agents\/c\.json: `\/version`: /,
    /^NOT GOOD {2}agents\/d\.yaml: `\/resources\/memory\/mode`: /,
    /^NOT GOOD {2}agents\/e\.yaml: `\/resources`: /,
    /^NOT GOOD {2}agents\/f\.yaml: the file is not YAML \(\w+\) in line 2$/,
  ].entries())
    assert.match(lines[index] ?? '', pattern)
  assert.equal(lines.length, 8)
  const { manifests } = (await shell.run('agent', 'validate', 'agents/a.yaml', 'agents/b.yml', '--json')).json<{
    manifests: { file: string; agent: string | null; problem: { code: string; data: { pointer: string } } | null }[]
  }>()
  assert.deepEqual(
    manifests.map(({ file, agent, problem }) => [file, agent, problem?.code, problem?.data.pointer]),
    [
      ['agents/a.yaml', null, 'manifest.invalid', '/resource'],
      ['agents/b.yml', 'b@1.0.0', undefined, undefined],
    ],
  )
})

test.each(places)('the agents of a configuration are listed with what they work with, %s [F-18]', async (place) => {
  const desk = await givenAgentDesk()
  await inPlace(place, desk, async (at) => {
    const rows = (await desk.dev.good('agent', 'list', ...at)).out.split('\n').map((line) => line.split(/ {2,}/))
    assert.deepEqual(rows.slice(0, -1), [
      ['AGENT', 'KIND', 'TOOLS', 'RESOURCES'],
      ['clerk@1.0.0', 'llm', 'desk.refund, agent.helper', 'memory (read-write)'],
      ['helper@1.0.0', 'llm', '–', '–'],
      ['two-looks@1.0.0', 'sequential', '–', '–'],
    ])
  })
})

test('where no agents are named, the list says where to name them [F-18]', async () => {
  const { admin } = await givenAgentDesk()
  writeFileSync(join(admin.cwd, 'other.json'), '{ "tenant": "acme" }')
  const { out } = await admin.good('agent', 'list', '--config', 'other.json')
  assert.match(out, /^none: .*`agents` in the configuration\n$/)
})

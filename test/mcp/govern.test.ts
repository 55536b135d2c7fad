import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { McpUpstream } from '../../src/model/config/upstream.ts'
import { administering, givenKey, givenShell, type Shell } from '../cli/harness.ts'
import { serving } from '../cli/serving.ts'
import { httpClient, revisions, stdioClient, textOf } from '../support/mcp-client.ts'
import { projectRoot } from '../support/source.ts'

const bin = (name: string) => join(projectRoot, 'node_modules/.bin', name)

/** A tenant whose configuration puts two servers from npm, as they are, behind the gateway. */
async function givenGoverned(): Promise<Shell & { agent: string; lead: string; folder: string }> {
  const shell = await administering(givenShell(), 'local')
  const folder = join(shell.cwd, 'documents')
  mkdirSync(folder)
  writeFileSync(join(folder, 'plan.txt'), 'Water the plants.\n')
  writeFileSync(join(shell.cwd, 'ambit.config.json'), JSON.stringify({ tenant: 'local', upstreams: ['upstreams'] }))
  await shell.good('principal', 'create', 'helper', '--kind', 'agent')
  await shell.good('principal', 'create', 'ida')
  await shell.good('approver', 'add', 'ida', '--role', 'lead')
  const agent = (await givenKey(shell, 'helper')).secret
  const lead = (await givenKey(shell, 'ida')).secret
  const node = process.execPath
  const files = ['--reads', 'read_*', '--reads', 'list_*', '--', node, bin('mcp-server-filesystem'), folder]
  await shell.good('capabilities', 'import', 'mcp', 'files', ...files)
  const memory = ['--env', `MEMORY_FILE_PATH=${join(shell.cwd, 'memory.json')}`, '--', node, bin('mcp-server-memory')]
  await shell.good('capabilities', 'import', 'mcp', 'memory', ...memory)
  return { ...shell, agent, lead, folder }
}

test('two servers from npm are governed as they are: one tool is allowed, one denied, one approved [H-90]', async () => {
  const { agent, lead, folder, cwd, ...shell } = await givenGoverned()
  const { config } = { config: join(cwd, 'ambit.config.json') }
  const rules = {
    name: 'no_moves',
    version: '1',
    applies_to: ['mcp.*'],
    rules: [
      { id: 'moves', when: { '==': [{ var: 'capability.id' }, 'mcp.files.move_file'] }, decision: 'deny' },
      { id: 'others', when: true, decision: 'allow' },
    ],
  }
  writeFileSync(config, JSON.stringify({ tenant: 'local', upstreams: ['upstreams'], policies: [rules] }))
  const started = { command: process.execPath, args: [join(projectRoot, 'src/cli/main.ts'), 'mcp'], cwd }
  const client = await stdioClient({ ...started, env: { AMBIT_KEY: agent } }, '2026-07-28')
  const { tools } = await client.listTools()
  const names = tools.map(({ name }) => name)
  assert.deepEqual(names, names.toSorted())
  assert(names.includes('mcp_files_read_text_file') && names.includes('mcp_memory_create_entities'))

  const path = join(folder, 'plan.txt')
  const read = await client.callTool({ name: 'mcp_files_read_text_file', arguments: { path } })
  expect(textOf(read)).toMatch(/^<ambit_data origin="tool" name="mcp\.files\.read_text_file"[\s\S]*Water the plants\./)
  const moved = await client.callTool({
    name: 'mcp_files_move_file',
    arguments: { source: path, destination: join(folder, 'gone.txt') },
  })
  expect(textOf(moved)).toMatch(/policy_blocked/)
  assert(existsSync(path))

  const written = join(folder, 'note.txt')
  const older = await stdioClient({ ...started, env: { AMBIT_KEY: agent } }, '2025-11-25')
  const write = () =>
    older.callTool({ name: 'mcp_files_write_file', arguments: { path: written, content: 'Bring the plants in.' } })
  const [id = ''] = /apr_[0-9a-z]+/.exec(textOf(await write())) ?? []
  assert(!existsSync(written))
  await shell.with({ env: { AMBIT_KEY: lead } }).good('approvals', 'approve', id)
  assert.notEqual((await write()).isError, true)
  assert.equal(readFileSync(written, 'utf8'), 'Bring the plants in.')

  const correlation = String(read._meta?.['ambit/correlation_id'])
  await shell.good('evidence', 'export', correlation, '--out', join(cwd, 'bundle.json'))
  await shell.good('verify', join(cwd, 'bundle.json'))
}, 120_000)

test.each(revisions)(
  '%s: the same tools are at `/mcp` of a host, for those with a key [H-90]',
  async (revision) => {
    const { agent, folder, ...shell } = await givenGoverned()
    await serving(shell, [], async (url) => {
      const client = await httpClient(url, revision, { key: agent })
      const path = join(folder, 'plan.txt')
      const read = await client.callTool({ name: 'mcp_files_read_text_file', arguments: { path } })
      expect(textOf(read)).toMatch(/Water the plants/)
      await expect(httpClient(url, revision, { key: 'wrong' })).rejects.toThrow()
    })
  },
  120_000,
)

test('a tool that has changed since it was accepted is held until somebody accepts it again [H-90]', async () => {
  const { agent, folder, cwd, ...shell } = await givenGoverned()
  const file = join(cwd, 'upstreams/files.json')
  const change = (edit: (tool: McpUpstream['capabilities'][number]) => unknown) => {
    const upstream = JSON.parse(readFileSync(file, 'utf8')) as McpUpstream
    const capabilities = upstream.capabilities.map((each) => (each.tool === 'read_text_file' ? edit(each) : each))
    writeFileSync(file, JSON.stringify({ ...upstream, capabilities }))
  }
  const [nothing, description] = [`sha256:${'0'.repeat(64)}`, 'Reads \u{202e}once.']
  change((tool) => ({ ...tool, definition: nothing, descriptor: { ...tool.descriptor, description } }))
  const caller = shell.with({ env: { AMBIT_KEY: agent } })
  const payload = JSON.stringify({ path: join(folder, 'plan.txt') })
  const call = () => caller.run('call', 'mcp.files.read_text_file', '--payload', payload)
  assert.match((await call()).out, /capability_disabled|declared|changed/)
  const drift = await shell.run('capabilities', 'drift')
  assert.equal(drift.code, 1)
  assert.match(drift.out, /^files +read_text_file/m)
  assert.match(drift.out, /^ {2}\/description\n {4}- "Reads \\u\{202e\}once\."\n {4}\+ "Read the complete/m)
  assert.doesNotMatch(drift.out, /annotations/)
  const [, looked = ''] = /accept files (read_text_file@sha256:[0-9a-f]{64})$/m.exec(drift.out) ?? []
  const accept = (tool: string) => shell.run('capabilities', 'accept', 'files', tool)
  const elsewhere = await shell.run('capabilities', 'accept', 'fiels', 'read_text_file')
  assert.match(elsewhere.err, /describes the MCP server `fiels` .*\n {2}there are `files`, `memory`\n/)
  assert.match((await accept('read_text_file')).err, /does not name the digest of what is accepted/)
  assert.match((await accept(`read_text_file@${nothing}`)).err, /is not what was looked at/)
  assert.match((await call()).out, /capability_disabled|declared|changed/)
  assert.match((await accept(looked)).out, /^accepted: read_text_file, now version 1\.0\.1$/m)
  assert.match((await accept(looked)).out, /^nothing has changed$/m)
  assert.match((await call()).out, /Water the plants/)
  assert.match((await shell.good('capabilities', 'show', 'mcp.files.read_text_file')).out, /1\.0\.1/)
  change((tool) => ({ ...tool, tool: 'read_no_more' }))
  const gone = await shell.run('capabilities', 'drift', 'files')
  assert.match(gone.out, /^`read_no_more` of `files` is gone .*\n {2}take it out of `upstreams\/files\.json`$/m)
}, 120_000)

test('what is broken is told by file and place, and the rest works on [H-90]', async () => {
  const { agent, folder, ...shell } = await givenGoverned()
  const { cwd } = shell
  writeFileSync(join(cwd, 'upstreams/broken.json'), '{"adapter": "mcp", "name": 7}')
  writeFileSync(join(cwd, 'upstreams/not.json'), 'not JSON')
  const twice = JSON.parse(readFileSync(join(cwd, 'upstreams/memory.json'), 'utf8'))
  writeFileSync(join(cwd, 'upstreams/zwei.json'), JSON.stringify({ ...twice, name: 'zwei' }))
  const dead = { ...twice, name: 'dead', server: { command: 'no-such-program-anywhere' } }
  const capabilities = twice.capabilities.slice(0, 1).map((each: { descriptor: object }) => ({
    ...each,
    descriptor: { ...each.descriptor, id: 'mcp.dead.tool', policy: { auth_required: true } },
  }))
  writeFileSync(join(cwd, 'upstreams/dead.json'), JSON.stringify({ ...dead, capabilities }))
  const ran = await serving(shell, [], async (url) => {
    const call = async (capability_id: string, payload: object) => {
      const headers = { 'content-type': 'application/json', 'x-chp-key': agent }
      const answer = await fetch(`${url}/invoke`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ capability_id, payload }),
      })
      return (await answer.json()) as { outcome: string; error?: { effect: string } }
    }
    assert.equal((await call('mcp.files.read_text_file', { path: join(folder, 'plan.txt') })).outcome, 'success')
    const lost = await call('mcp.dead.tool', { entities: [] })
    assert(['failure', 'skipped'].includes(lost.outcome), JSON.stringify(lost))
  })
  assert.match(ran.err, /`upstreams\/broken\.json`: .*`\/name`/)
  assert.match(ran.err, /`upstreams\/not\.json`: /)
  assert.match(ran.err, /left out: `.*zwei\.json`: its capability `mcp\.memory\.\w+` is offered by `.*\.json` already/)
}, 120_000)

import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { McpUpstream } from '../../src/model/config/upstream.ts'
import { administering, givenKey, givenShell, type Shell } from '../cli/harness.ts'
import { stdioClient, textOf } from '../support/mcp-client.ts'
import { projectRoot } from '../support/source.ts'
import { givenHttp } from './http.ts'

const bin = (name: string) => join(projectRoot, 'node_modules/.bin', name)

interface Given extends Shell {
  readonly documents: string
  readonly server: readonly string[]
  /** Imports the filesystem server with these words before its command. */
  bring(...words: readonly string[]): ReturnType<Shell['good']>
  file(): McpUpstream
  tool(name: string): McpUpstream['capabilities'][number]
  edit(change: (upstream: McpUpstream) => unknown): void
  as(key: string): Shell
}

async function givenFiles(config: object = {}): Promise<Given> {
  const shell = await administering(givenShell(), 'local')
  const documents = join(shell.cwd, 'documents')
  mkdirSync(documents)
  writeFileSync(join(documents, 'plan.txt'), 'Water the plants.\n')
  const settings = { tenant: 'local', upstreams: ['upstreams'], ...config }
  writeFileSync(join(shell.cwd, 'ambit.config.json'), JSON.stringify(settings))
  const path = join(shell.cwd, 'upstreams/files.json')
  const file = () => JSON.parse(readFileSync(path, 'utf8')) as McpUpstream
  const server = ['--', process.execPath, bin('mcp-server-filesystem'), documents]
  return {
    ...shell,
    documents,
    server,
    bring: (...words) => shell.good('capabilities', 'import', 'mcp', 'files', ...words, ...server),
    file,
    tool: (name) => {
      const found = file().capabilities.find(({ tool }) => tool === name)
      assert(found, `no tool ${name}`)
      return found
    },
    edit: (change) => writeFileSync(path, JSON.stringify(change(file()))),
    as: (key) => shell.with({ env: { AMBIT_KEY: key } }),
  }
}

const agentOf = async (shell: Shell): Promise<string> => {
  await shell.good('principal', 'create', 'helper', '--kind', 'agent')
  return (await givenKey(shell, 'helper')).secret
}

test('nothing that a server claims of a tool opens it: a person says what only reads [H-90]', async () => {
  const given = await givenFiles()
  const { out } = await given.bring('--include', 'read_text_file', '--include', 'write_file')
  assert.match(out, /^mcp\.files\.read_text_file +high +approval required/m)
  assert.match(out, /^`read_text_file`: said by the server to only read: .* --reads$/m)
  const path = join(given.documents, 'plan.txt')
  const call = (shell: Shell, file = path) =>
    shell.run('call', 'mcp.files.read_text_file', '--payload', JSON.stringify({ path: file }), '--json')
  assert.equal((await call(given.with({ env: {} }))).json<{ outcome: string }>().outcome, 'denied')

  const again = await given.bring('--include', 'read_text_file', '--reads', 'read_text_file', '--force')
  assert.match(again.out, /^mcp\.files\.read_text_file +low +restricted +–/m)
  const { descriptor } = given.tool('read_text_file')
  assert.deepEqual([descriptor.side_effects, descriptor.policy], [[], { auth_required: true }])
  assert.equal(given.tool('write_file').descriptor.policy?.approval_required, true)
  assert.equal((await call(given.with({ env: {} }))).json<{ outcome: string }>().outcome, 'denied')
  const agent = given.as(await agentOf(given))
  assert.match((await call(agent)).out, /Water the plants/)
  const { error } = (await call(agent, join(given.documents, 'gone.txt'))).json<{ error: { effect: string } }>()
  assert.equal(error.effect, 'none')
}, 120_000)

test('a read that fails tells a model that nothing was changed [H-90 H-100]', async () => {
  const given = await givenFiles()
  await given.bring('--include', 'read_text_file', '--reads', 'read_*')
  const started = { command: process.execPath, args: [join(projectRoot, 'src/cli/main.ts'), 'mcp'], cwd: given.cwd }
  const client = await stdioClient({ ...started, env: { AMBIT_KEY: await agentOf(given) } }, '2026-07-28')
  const path = join(given.documents, 'gone.txt')
  const text = textOf(await client.callTool({ name: 'mcp_files_read_text_file', arguments: { path } }))
  assert.match(text, /failed \(tool_error\); nothing was changed\./)
  assert.doesNotMatch(text, /find out what it changed/)
}, 120_000)

test('what a tool is called with is read by rules, shown to approvers and kept in evidence [H-03 H-47 H-50 H-59 H-90 H-92]', async () => {
  const outside = { '!=': [{ var: 'context.path' }, 'note.txt'] }
  const rules = [
    { id: 'one_file', when: outside, decision: 'deny' },
    { id: 'else', when: true, decision: 'allow' },
  ]
  const policy = { name: 'one_file', version: '1', applies_to: ['mcp.files.write_file'], rules }
  const given = await givenFiles({ policies: [policy] })
  const { out } = await given.bring('--include', 'write_file')
  assert.match(out, /^CAPABILITY +RISK +POLICY +CHANGES +RECORDS +/m)
  assert.match(out, /^mcp\.files\.write_file +high +approval required +mcp\.call +path content /m)
  const helper = given.as(await agentOf(given))
  await given.good('principal', 'create', 'ida')
  await given.good('approver', 'add', 'ida', '--role', 'lead')
  const ida = given.as((await givenKey(given, 'ida')).secret)
  const content = 'Bring the plants in. '.repeat(20)
  const call = (path: string) => {
    const words = ['--payload', JSON.stringify({ path, content }), '--id', `w-${path}`, '--correlation', 'task-1']
    return helper.run('call', 'mcp.files.write_file', ...words, '--json')
  }
  assert.match((await call('other.txt')).out, /policy_blocked/)
  const [id = ''] = /apr_[0-9a-z]+/.exec((await call('note.txt')).out) ?? []
  assert.match((await ida.good('approvals', 'show', id)).out, /payload:\/path +"note\.txt"/)
  await ida.good('approvals', 'approve', id)
  assert.match((await call('note.txt')).out, /"outcome": "success"/)
  const { out: trace } = await given.good('evidence', 'trace', 'task-1')
  assert.match(trace, /path: "note\.txt"/)
  assert.match(trace, /one_file: deny, read path/)
  assert.match(trace, /content: hmac/)
  await given.good('evidence', 'export', 'task-1', '--out', join(given.cwd, 'bundle.json'))
  await given.good('verify', join(given.cwd, 'bundle.json'))
  const bundle = readFileSync(join(given.cwd, 'bundle.json'), 'utf8')
  assert.deepEqual([bundle.includes('note.txt'), bundle.includes('plants')], [true, false])
}, 120_000)

test('importing again merges: what people wrote and what was not asked for stays [H-90]', async () => {
  const given = await givenFiles()
  await given.bring('--include', 'read_text_file', '--include', 'write_file')
  const stranger = { ...given.tool('write_file'), tool: 'no_more' }
  given.edit((upstream) => ({
    ...upstream,
    server: { ...upstream.server, env: { LANG: 'en' } },
    capabilities: [
      ...upstream.capabilities.map((each) => ({
        ...each,
        descriptor: { ...each.descriptor, risk: 'critical', policy: { auth_required: true, allowed_actors: ['ida'] } },
      })),
      { ...stranger, descriptor: { ...stranger.descriptor, id: 'mcp.files.no_more' } },
    ],
  }))
  const before = given.file()
  const refused = await given.run('capabilities', 'import', 'mcp', 'files', ...given.server)
  assert.match(refused.err, /`files\.json` is there already \(file_exists\)\n {2}use `--force` to merge/)
  assert.deepEqual(given.file(), before)
  const { out } = await given.good('capabilities', 'import', 'mcp', 'files', '--include', 'move_file', '--force')
  assert.match(out, /^What changes in the file, .*\n {2}\/mcp\.files\.move_file\n {4}\+ "added"\n(?! )/m)
  assert.deepEqual(given.file(), { ...before, capabilities: [...before.capabilities, given.tool('move_file')] })
  await given.bring('--force')
  const all = given.file()
  assert.deepEqual(all.capabilities.slice(0, 3), before.capabilities)
  assert.deepEqual(all.server, before.server)
  assert(all.capabilities.length > 8)
}, 120_000)

test('of a tool that did not change, what people wrote over its words stays, though it is named [H-90]', async () => {
  const given = await givenFiles()
  await given.bring('--include', 'write_file', '--include', 'read_text_file')
  given.edit((upstream) => ({
    ...upstream,
    capabilities: upstream.capabilities.map(({ descriptor, ...each }) => {
      const path = { type: 'string', pattern: '^[a-z.]+$' }
      const properties = { ...(descriptor.input_schema?.['properties'] as object), path }
      const input_schema = { ...descriptor.input_schema, properties }
      return { ...each, descriptor: { ...descriptor, description: 'Ours.', input_schema } }
    }),
  }))
  const before = given.file()
  const { out } = await given.bring('--force', '--include', 'write_file')
  assert.match(out, /^The file stays as it is\.$/m)
  assert.deepEqual(given.file(), before)
  const reads = await given.bring('--force', '--reads', 'read_text_file', '--reads', 'write_file')
  assert.match(reads.out, /^`write_file`: said by the server to change something, so that --reads does not count$/m)
  assert.deepEqual(
    given.file().capabilities.map(({ tool }) => tool),
    before.capabilities.map(({ tool }) => tool),
  )
  const { descriptor } = given.tool('read_text_file')
  assert.deepEqual([descriptor.description, descriptor.side_effects], ['Ours.', []])
}, 120_000)

test('a tool that changed is refreshed when it is named, as it is accepted, and otherwise left as it was [H-90]', async () => {
  const given = await givenFiles()
  await given.bring('--include', 'read_text_file', '--include', 'write_file')
  const nothing = `sha256:${'0'.repeat(64)}`
  given.edit((upstream) => ({
    ...upstream,
    capabilities: upstream.capabilities.map((each) => {
      const { path, content } = each.descriptor.metadata?.context?.fields ?? {}
      const context = { ...each.descriptor.metadata?.context, fields: { path: { ...path, evidence: 'omit' } } }
      const input_schema = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] }
      const policy = { auth_required: true }
      const descriptor = { ...each.descriptor, description: 'Old.', policy, ...(content && { input_schema }) }
      return { ...each, definition: nothing, descriptor: { ...descriptor, metadata: { context } } }
    }),
  }))
  const before = given.file()
  const shown = await given.bring('--force', '--dry-run')
  assert.match(
    shown.out,
    /^`read_text_file` `write_file`: changed since accepted: look with `ambit capabilities drift files`/m,
  )
  assert.deepEqual(given.file(), before)
  const { out } = await given.bring('--force', '--include', 'write_file')
  assert.match(out, /^ {2}\/mcp\.files\.write_file\/descriptor\/description\n {4}- "Old\."\n {4}\+ "Create a new file/m)
  assert.match(out, /\/context\/fields\/content\/evidence\n {4}\+ "value"$/m)
  const { descriptor, definition } = given.tool('write_file')
  assert.notEqual(definition, nothing)
  assert.deepEqual([descriptor.version, descriptor.policy], ['1.0.1', { auth_required: true }])
  const { path, content } = descriptor.metadata?.context?.fields ?? {}
  assert.deepEqual([path?.evidence, content?.evidence], ['omit', 'value'])
  assert.equal(given.tool('read_text_file').definition, nothing)
}, 120_000)

test('credentials on the command line become secrets, and the file names their handles [H-90]', async () => {
  const web = await givenHttp('both')
  const given = await givenFiles({ egress: { allow: [new URL(web.url).origin] } })
  const headers = ['--header', 'Authorization: Bearer tok-0a1b2c3d', '--header', 'X-Team: plants']
  const words = ['capabilities', 'import', 'mcp', 'sums', '--url', web.url, ...headers]
  await given.good(...words, '--dry-run')
  assert.deepEqual((await given.good('secret', 'list', '--json')).json(), { secrets: [] })
  const { out } = await given.good(...words)
  assert.match(out, /^a credential becomes `secret:sums.Authorization`: the file names only that$/m)
  assert.equal(web.seen.at(0)?.headers.get('authorization'), 'Bearer tok-0a1b2c3d')
  const written = readFileSync(join(given.cwd, 'upstreams/sums.json'), 'utf8')
  assert.deepEqual(JSON.parse(written).server.headers, {
    Authorization: 'Bearer {secret:sums.Authorization}',
    'X-Team': 'plants',
  })
  const env = [
    '--env',
    'API_KEY=tok-4e5f6a7b',
    '--env',
    'LOG_LEVEL=debug',
    '--env',
    'DB=postgres://ida:pw-9@db.example/x',
  ]
  await given.bring('--include', 'write_file', ...env)
  assert.deepEqual((given.file().server as { env?: object }).env, {
    API_KEY: '{secret:files.API_KEY}',
    LOG_LEVEL: 'debug',
    DB: '{secret:files.DB}',
  })
  await given.good(...words.map((word) => word.replace('3d', '4d')), '--force')
  assert.match(web.seen.at(-1)?.headers.get('authorization') ?? '', /4d$/)
  const listed = (await given.good('secret', 'list', '--json')).json<{ secrets: { name: string }[] }>()
  const handles = listed.secrets.map(({ name }) => name)
  assert.deepEqual(handles, ['files.API_KEY', 'files.DB', 'sums.Authorization'])
  assert.doesNotMatch(out + written + (await given.good('evidence', 'list', '--json')).out, /tok-|pw-9/)
  expect((await given.good('capabilities', 'drift', 'sums', '--json')).json<object[]>()[0]).not.toHaveProperty(
    'problem',
  )
}, 120_000)

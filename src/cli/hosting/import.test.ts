import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { onTestFinished, test, vi } from 'vitest'
import { filesIn } from '../../../test/cli/given.ts'
import { administering, givenShell } from '../../../test/cli/harness.ts'
import { givenHttp } from '../../../test/mcp/http.ts'
import { projectRoot } from '../../../test/support/source.ts'

test.each<[string, readonly string[], RegExp]>([
  [
    'an address that may not be reached',
    ['openapi', 'http://127.0.0.1:9/x', '--name', 'a'],
    /`http:\/\/127\.0\.0\.1:9\/x`: .*not allowed \(host_unreachable\)\n {2}.*`egress`/,
  ],
  ['a name that leads nowhere', ['openapi', 'https://nowhere.invalid/x', '--name', 'a'], /\(host_unreachable\)/],
  [
    'a file that is not there',
    ['openapi', 'gone.json', '--name', 'a'],
    /`gone\.json`: the file cannot be read: ENOENT \(upstream_invalid\)/,
  ],
  [
    'a document that is no JSON',
    ['openapi', 'api.yaml', '--name', 'a'],
    /`api\.yaml`: .* \(upstream_invalid\)\n {2}give the document as JSON: YAML is not read/,
  ],
  [
    'a document with a member twice',
    ['openapi', 'twice.json', '--name', 'a'],
    /`twice\.json`: a member name that occurs twice at line 2, column 2 \(upstream_invalid\)\n$/,
  ],
  ['JSON that is no document', ['openapi', 'ambit.config.json', '--name', 'a'], /upstream_invalid/],
  [
    'a document that does not say where its server is',
    ['openapi', 'api.json', '--name', 'a'],
    /`\/servers.* \(upstream_invalid\)\n {2}give its address with `--server`\n$/,
  ],
  [
    'a server of another protocol',
    ['openapi', 'api.json', '--name', 'a', '--server', 'ftp://x'],
    /--server must be an address such as https:/,
  ],
  [
    'a name that nothing has',
    ['openapi', 'api.json', '--name', 'a', '--server', 'https://x.example', '--include', 'red', '--include', 'nope*'],
    /nothing is called `red` or `nope\*` \(capability_not_found\)\n {2}did you mean `read`\? run it with --dry-run/,
  ],
  [
    'a name to leave out that nothing has',
    ['openapi', 'api.json', '--name', 'a', '--server', 'https://x.example', '--exclude', 'reed'],
    /nothing is called `reed` \(capability_not_found\)\n {2}did you mean `read`\? run it with --dry-run/,
  ],
  [
    'a tool to leave out that nothing has',
    ['mcp', 'sums', '--exclude', 'ad', '--', process.execPath, join(projectRoot, 'test/mcp/stdio.ts'), 'both'],
    /nothing is called `ad` \(capability_not_found\)\n {2}did you mean `add`\? run it with --dry-run/,
  ],
  [
    'a name that no capability can begin with',
    ['mcp', 'My Server', '--', 'no-such-program'],
    /the name of the upstream must be a name: /,
  ],
  [
    'a program that is not there',
    ['mcp', 'files', '--', 'no-such-program'],
    /`no-such-program` could not be started \(ENOENT\) \(host_unreachable\)/,
  ],
  [
    'a folder that is not there',
    ['mcp', 'files', '--cwd', 'gone', '--', process.execPath],
    /the folder `gone` to run the command in is not there .*\n {2}name it from the folder of the configuration/,
  ],
  [
    'a file in place of a folder',
    ['mcp', 'files', '--cwd', 'api.json', '--', process.execPath],
    /the folder `api\.json` to run the command in is not there/,
  ],
  ['neither a program nor an address', ['mcp', 'files'], /an MCP server is a command or an address/],
  [
    'a document of another version',
    ['openapi', 'old.json', '--name', 'api'],
    /`old\.json`: `\/openapi` must be 3\.0 or 3\.1/,
  ],
  [
    'what is no address',
    ['mcp', 'files', '--url', 'a.example/mcp'],
    /the server: `\/url` must be an address that begins with http/,
  ],
  [
    'an address that leads nowhere',
    ['mcp', 'files', '--url', 'http://a:99999/mcp'],
    /upstream `files`: its address cannot be used/,
  ],
  [
    'an address without a server',
    ['mcp', 'files', '--url', 'https://nowhere.invalid/mcp'],
    /`https:\/\/nowhere\.invalid\/mcp`: the server `files` is not available: .* \(host_unreachable\)/,
  ],
  [
    'an address with a query in it',
    ['mcp', 'files', '--url', 'https://a.example/mcp?key=SECRET'],
    /the address is given without `\?` \(field_invalid\)\n {2}give what is behind it as `--query name=value`/,
  ],
  [
    'a query parameter without a value',
    ['mcp', 'files', '--url', 'https://a.example/mcp', '--query', 'SECRET'],
    /write a name, `=` and a value/,
  ],
  [
    'an address with a password in it',
    ['mcp', 'files', '--url', 'http://ida:SECRET@a.example/mcp'],
    /its address holds a name or a password: give them as a header/,
  ],
  [
    'a header that cannot be sent',
    ['mcp', 'files', '--url', 'https://a.example/mcp', '--header', 'a b: c'],
    /it cannot set the header `a b`/,
  ],
  [
    'a header for a program',
    ['mcp', 'files', '--header', 'a: SECRET', '--', 'no-such-program'],
    /--header is for an address/,
  ],
  [
    'an environment for an address',
    ['mcp', 'files', '--url', 'https://a.example/mcp', '--env', 'a=SECRET'],
    /--env is for a command/,
  ],
  [
    'a header without a value',
    ['mcp', 'files', '--url', 'https://a.example/mcp', '--header', 'SECRET'],
    /write a name, `:` and a value/,
  ],
])('%s is told in one sentence, and nothing is written [H-90]', async (_, words, expected) => {
  const shell = await administering(givenShell(), 'local')
  writeFileSync(join(shell.cwd, 'ambit.config.json'), '{"tenant":"local","upstreams":["upstreams"]}')
  writeFileSync(join(shell.cwd, 'api.yaml'), 'openapi: 3.1.0\n')
  writeFileSync(join(shell.cwd, 'twice.json'), '{"openapi":"3.1.0",\n "openapi":"3.1.0"}')
  writeFileSync(join(shell.cwd, 'old.json'), '{"swagger":"2.0"}')
  const paths = { '/read': { get: { operationId: 'read', responses: {} } } }
  writeFileSync(
    join(shell.cwd, 'api.json'),
    JSON.stringify({ openapi: '3.1.0', info: { title: 'a', version: '1' }, paths }),
  )
  const { code, err } = await shell.run('capabilities', 'import', ...words)
  assert.match(err, expected)
  assert.doesNotMatch(err, /internal|SECRET/)
  assert.notEqual(code, 0)
  assert.deepEqual(
    [...filesIn(shell.cwd).keys()].filter((path) => path.startsWith('upstreams')),
    [],
  )
})

test('what is to be added to the configuration is said in its form [H-90]', async () => {
  const paths = { '/read': { get: { operationId: 'read', responses: {} } } }
  const document = JSON.stringify({ openapi: '3.1.0', info: { title: 'a', version: '1' }, paths })
  const words = ['capabilities', 'import', 'openapi', 'api.json', '--name', 'a', '--server', 'https://x.example']
  for (const [config, text, expected] of [
    ['ambit.config.json', '{}', 'Add it to the configuration: `"upstreams": ["upstreams"]`'],
    ['ambit.config.mjs', 'export default {}', 'Add it to the configuration: `upstreams: ["upstreams"]`'],
    ['other.txt', '', 'Add it to a configuration, such as `ambit.config.json`: `"upstreams": ["upstreams"]`'],
  ] as const) {
    const shell = await administering(givenShell(), 'local')
    writeFileSync(join(shell.cwd, 'api.json'), document)
    writeFileSync(join(shell.cwd, config), text)
    assert((await shell.good(...words, '--include', 're*')).out.endsWith(`${expected}\n`))
  }
})

test('nothing is proposed as open; where a person opened it, it is said that callers without a key use a secret [H-90]', async () => {
  const shell = await administering(givenShell(), 'local')
  const securitySchemes = { key: { type: 'apiKey', in: 'header', name: 'X-Key' } }
  const read = (security: readonly object[]) => ({ get: { operationId: 'read', responses: {}, security } })
  const told = async (security: readonly object[]) => {
    const document = { openapi: '3.1.0', info: {}, servers: [{ url: 'https://x.example' }] }
    const whole = { ...document, components: { securitySchemes }, paths: { '/read': read(security) } }
    writeFileSync(join(shell.cwd, 'api.json'), JSON.stringify(whole))
    const words = ['capabilities', 'import', 'openapi', 'api.json', '--name', 'a', '--force']
    await shell.good(...words)
    const file = join(shell.cwd, 'upstreams/a.json')
    const opened = readFileSync(file, 'utf8').replace('"auth_required": true', '"auth_required": false')
    writeFileSync(file, opened)
    const { out } = await shell.good(...words, '--dry-run')
    rmSync(file)
    return out
  }
  const note = /open capabilities use your secrets for callers without a key too/
  assert.match(await told([{ key: [] }]), note)
  assert.doesNotMatch(await told([]), note)
})

test('a document that is imported again is merged: the policy that people wrote and other operations stay [H-90]', async () => {
  const shell = await administering(givenShell(), 'local')
  const words = ['capabilities', 'import', 'openapi', 'api.json', '--name', 'a']
  const bring = (names: readonly string[], summary: string, ...more: string[]) => {
    const paths = Object.fromEntries(
      names.map((name) => [`/${name}`, { get: { operationId: name, summary, responses: {} } }]),
    )
    const document = { openapi: '3.1.0', info: {}, servers: [{ url: 'https://x.example' }], paths }
    writeFileSync(join(shell.cwd, 'api.json'), JSON.stringify(document))
    return shell.good(...words, ...more)
  }
  const file = join(shell.cwd, 'upstreams/a.json')
  const read = () => JSON.parse(readFileSync(file, 'utf8'))
  await bring(['one', 'two'], 'Old.')
  const before = read()
  for (const { descriptor } of before.capabilities) descriptor.policy = { auth_required: true }
  writeFileSync(file, JSON.stringify({ ...before, server: { ...before.server, headers: { 'x-team': 'plants' } } }))
  const { out } = await bring(['two', 'three'], 'New.', '--force')
  assert.match(out, /\/a\.two\/descriptor\/description\n {4}- "Old\."\n {4}\+ "New\."\n/)
  const after = read()
  assert.deepEqual(after.server.headers, { 'x-team': 'plants' })
  assert.deepEqual(after.capabilities[0], before.capabilities[0])
  assert.deepEqual(after.capabilities[1].descriptor.policy, { auth_required: true })
  assert.deepEqual(
    after.capabilities.map(({ descriptor }: { descriptor: { id: string; version: string } }) => descriptor.id),
    ['a.one', 'a.two', 'a.three'],
  )
  const moved = readFileSync(join(shell.cwd, 'api.json'), 'utf8').replace('https://x.example', 'https://evil.example')
  writeFileSync(join(shell.cwd, 'api.json'), moved)
  await shell.good(...words, '--force')
  assert.equal(read().server.url, 'https://x.example')
  await shell.good(...words, '--force', '--server', 'https://y.example')
  assert.deepEqual([read().server.url, read().server.headers], ['https://y.example', undefined])
  const other = ['capabilities', 'import', 'openapi', 'api.json', '--name', 'b', '--out', 'upstreams/a.json', '--force']
  assert.match((await shell.run(...other)).err, /`a\.json` describes another upstream, `a`/)
})

test('what is left out may be something that was not asked for, or cannot be offered [H-90]', async () => {
  const shell = await administering(givenShell(), 'local')
  const paths = {
    '/read': { get: { operationId: 'read', responses: {} } },
    '/write': { post: { operationId: 'write', parameters: [{ $ref: '#/gone' }], responses: {} } },
  }
  writeFileSync(
    join(shell.cwd, 'api.json'),
    JSON.stringify({
      openapi: '3.1.0',
      info: { title: 'a', version: '1' },
      servers: [{ url: 'https://x.example' }],
      paths,
    }),
  )
  const words = ['capabilities', 'import', 'openapi', 'api.json', '--name', 'a', '--dry-run']
  const { out } = await shell.good(...words, '--include', 'write')
  assert.match(out, /^POST \/write +a parameter: the reference `#\/gone` leads to nothing$/m)
  await shell.good(...words, '--include', 'read', '--exclude', 'wri*')
})

test('a server that is reached with a query is imported with it, and its secret stays a handle [H-90]', async () => {
  const server = await givenHttp('both')
  const shell = await administering(givenShell({ stdin: async () => 'tok-0a1b2c3d' }), 'local')
  writeFileSync(
    join(shell.cwd, 'ambit.config.json'),
    JSON.stringify({ upstreams: ['upstreams'], egress: { allow: [new URL(server.url).origin] } }),
  )
  await shell.good('secret', 'set', 'key')
  const query = ['--query', 'key={secret:key}', '--query', 'q=a=b']
  await shell.good('capabilities', 'import', 'mcp', 'sums', '--url', server.url, ...query)
  const [first] = server.seen
  assert.deepEqual(
    [...new URL(first?.url ?? '').searchParams],
    [
      ['key', 'tok-0a1b2c3d'],
      ['q', 'a=b'],
    ],
  )
  const written = filesIn(shell.cwd).get('upstreams/sums.json')?.toString() ?? ''
  assert.deepEqual(JSON.parse(written).server, { url: server.url, query: { key: '{secret:key}', q: 'a=b' } })
})

test('a bare command is kept with the whole path of its program, which another process may not find [H-90]', async () => {
  const shell = await administering(givenShell(), 'local')
  const folder = join(shell.cwd, 'programs')
  mkdirSync(folder)
  symlinkSync(process.execPath, join(folder, 'some-runtime'))
  writeFileSync(join(folder, 'some-server'), `#!/bin/sh\nexec some-runtime "$@"\n`, { mode: 0o755 })
  vi.stubEnv('PATH', `${folder}${delimiter}${process.env['PATH']}`)
  onTestFinished(() => void vi.unstubAllEnvs())
  const commandOf = async (name: string, ...words: readonly string[]) => {
    const script = [join(projectRoot, 'test/mcp/stdio.ts'), 'both']
    await shell.good('capabilities', 'import', 'mcp', name, '--include', 'add', '--', ...words, ...script)
    return JSON.parse(filesIn(shell.cwd).get(`upstreams/${name}.json`)?.toString() ?? '{}').server.command
  }
  assert.equal(await commandOf('bare', 'some-server'), join(folder, 'some-server'))
  assert.equal(await commandOf('whole', process.execPath), process.execPath)
  assert.equal(await commandOf('beside', './programs/some-server'), './programs/some-server')
})

test('who wants the structure of answers passed on says so, and is told that it is not fenced [H-90 H-100]', async () => {
  const shell = await administering(givenShell(), 'local')
  const server = ['--', process.execPath, join(projectRoot, 'test/mcp/stdio.ts'), 'both']
  const imported = async (name: string, ...flags: readonly string[]) => {
    const { out } = await shell.good('capabilities', 'import', 'mcp', name, '--include', 'add', ...flags, ...server)
    const written = JSON.parse(filesIn(shell.cwd).get(`upstreams/${name}.json`)?.toString() ?? '{}')
    return [/text in it stands in no fence/.test(out), written.structured_content]
  }
  assert.deepEqual(await imported('plain'), [false, undefined])
  assert.deepEqual(await imported('told', '--structured-content'), [true, 'unfenced'])
})

test('a document is looked for where the command is run, wherever its configuration is [H-90]', async () => {
  const shell = await administering(givenShell(), 'local')
  writeFileSync(join(shell.cwd, 'ambit.config.json'), '{"upstreams":["upstreams"]}')
  const below = join(shell.cwd, 'below')
  mkdirSync(below)
  const paths = { '/read': { get: { operationId: 'read', responses: {} } } }
  writeFileSync(
    join(below, 'api.json'),
    JSON.stringify({ openapi: '3.1.0', servers: [{ url: 'https://x.example' }], paths }),
  )
  const words = ['capabilities', 'import', 'openapi', 'api.json', '--name', 'a', '--config', '../ambit.config.json']
  await shell.with({ cwd: below }).good(...words, '--out', 'here.json')
  assert.deepEqual(readdirSync(below), ['api.json', 'here.json'])
})

test('a terminal shows that a server is asked, until it answers or fails [H-90]', async () => {
  const shell = await administering(givenShell({ live: true }), 'local')
  const words = ['capabilities', 'import', 'mcp', 'sums', '--', 'no-such-program']
  const { err } = await shell.run(...words)
  assert(err.startsWith('\rasking the server what it has, for up to half a minute\u001b[K\r\u001b[Kerror: '), err)
  assert.doesNotMatch((await shell.with({ live: false }).run(...words)).err, /asking/)
})

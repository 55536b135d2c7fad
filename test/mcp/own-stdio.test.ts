import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { givenEmptyDepot } from '../cli/depot.ts'
import { givenKey } from '../cli/harness.ts'
import { revisions, stdioClient, textOf } from '../support/mcp-client.ts'
import { projectRoot } from '../support/source.ts'

/** A tenant with an agent, and what starts `ambit mcp` for it. */
async function given() {
  const shell = await givenEmptyDepot()
  await shell.good('principal', 'create', 'planner', '--kind', 'agent')
  const { key_id, secret } = await givenKey(shell, 'planner')
  const args = [join(projectRoot, 'src/cli/main.ts'), 'mcp']
  return {
    shell,
    keyId: key_id,
    started: { command: process.execPath, args, cwd: shell.cwd, env: { AMBIT_KEY: secret } },
  }
}

test.each(revisions)(
  '%s: a key that is taken back opens nothing from then on, in a process that runs already [H-75]',
  async (revision) => {
    const { shell, keyId, started } = await given()
    const client = await stdioClient(started, revision)
    const read = () => client.callTool({ name: 'depot_temperature', arguments: { room: 'north' } })
    assert.notEqual((await read()).isError, true)
    await shell.good('key', 'revoke', keyId)
    const refused = /the key is not accepted/
    await expect(read()).rejects.toThrow(refused)
    await expect(client.listTools()).rejects.toThrow(refused)
    await expect(client.listResources()).rejects.toThrow(refused)
    await expect(client.readResource({ uri: 'ambit://capabilities/depot.temperature' })).rejects.toThrow(refused)
    await expect(client.getPrompt({ name: 'explain_refusal', arguments: { invocation_id: 'x' } })).rejects.toThrow(
      refused,
    )
  },
  60_000,
)

const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}

test('the process ends when it is told to, with calls behind it and its client still there [F-18]', async () => {
  const { started } = await given()
  const { command, args, cwd, env } = started
  const child = spawn(command, args, { cwd, env: { PATH: process.env['PATH'] ?? '', ...env } })
  onTestFinished(() => void child.kill('SIGKILL'))
  const params = { name: 'depot_temperature', arguments: { room: 'north' }, _meta: meta }
  for (const id of [1, 2]) {
    const answered = once(child.stdout, 'data')
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params })}\n`)
    await answered
  }
  child.kill('SIGTERM')
  assert.deepEqual(await once(child, 'exit'), [0, null])
}, 60_000)

test('told to end while a call hangs, the process takes the call of its client back and waits for nothing [F-18]', async () => {
  const { shell, started } = await given()
  const config = join(shell.cwd, 'ambit.config.ts')
  const hanging = 'await new Promise(() => undefined)'
  writeFileSync(
    config,
    readFileSync(config, 'utf8').replace('for (const celsius of [4, 5, 4]) yield', `${hanging}; yield`),
  )
  const { command, args, cwd, env } = started
  const child = spawn(command, args, { cwd, env: { PATH: process.env['PATH'] ?? '', ...env } })
  onTestFinished(() => void child.kill('SIGKILL'))
  let said = ''
  child.stderr.on('data', (chunk) => {
    said += String(chunk)
  })
  const params = { name: 'depot_temperature', arguments: { room: 'north' }, _meta: meta }
  child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })}\n`)
  const isUnderWay = async () => assert.match((await shell.good('evidence', 'list', '--json')).out, /execution_started/)
  await vi.waitFor(isUnderWay, { timeout: 30_000 })
  child.kill('SIGTERM')
  assert.deepEqual(await once(child, 'exit'), [0, null])
  assert.equal(said, '')
}, 60_000)

test.each(revisions)(
  '%s: a policy that is changed counts for a process that runs already, and its client is told [F-18]',
  async (revision) => {
    const { shell, started } = await given()
    let told = 0
    const onChanged = () => void told++
    const client = await stdioClient(started, revision, {
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged } },
    })
    const read = () => client.callTool({ name: 'depot_temperature', arguments: { room: 'north' } })
    assert.notEqual((await read()).isError, true)
    const config = join(shell.cwd, 'ambit.config.ts')
    const closed = `{ name: 'closed', version: '1', applies_to: ['depot.*'], rules: [{ id: 'all', when: true, decision: 'deny' }] }`
    writeFileSync(config, readFileSync(config, 'utf8').replace('policies: [', `policies: [${closed}, `))
    await vi.waitFor(async () => expect(textOf(await read())).toMatch(/policy_blocked/), { timeout: 30_000 })
    await vi.waitFor(() => assert(told > 0), { timeout: 30_000 })
  },
  60_000,
)

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { test } from 'vitest'
import { tempFolder } from '../cli/given.ts'
import { administering, givenKey, givenShell } from '../cli/harness.ts'
import { serving } from '../cli/serving.ts'
import { projectRoot } from '../support/source.ts'

const inspector = join(projectRoot, 'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js')
const ambit = join(projectRoot, 'src/cli/main.ts')

/** What the command line of the MCP Inspector prints, as JSON. It keeps nothing outside of a folder that is gone later. */
async function inspect(cwd: string, target: readonly string[], ...words: string[]) {
  const { AMBIT_KEY: _, ...rest } = process.env
  const env = { ...rest, HOME: tempFolder() }
  const { stdout } = await promisify(execFile)(process.execPath, [inspector, '--cli', ...target, ...words], {
    cwd,
    env,
  })
  return JSON.parse(stdout)
}

const list = ['--method', 'tools/list']
const call = ['--method', 'tools/call', '--tool-name', 'depot_greet', '--tool-arg', 'name=Ida']

test('the MCP Inspector lists and calls tools through `ambit mcp` and over HTTP [H-90]', async () => {
  const shell = await administering(givenShell(), 'local')
  const source = pathToFileURL(join(projectRoot, 'src/index.ts')).href
  const config = `import { defineCapability } from '${source}'
    const input = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }
    const output = { type: 'object', properties: { said: { type: 'string' } } }
    const spec = { id: 'depot.greet', version: '1.0.0', description: 'Greets.', policy: {}, effects: [], input, output }
    export default { capabilities: [defineCapability(spec, ({ name }) => ({ said: 'hello ' + name }))] }`
  writeFileSync(join(shell.cwd, 'ambit.config.ts'), config)
  await shell.good('principal', 'create', 'planner', '--kind', 'agent')
  const { secret } = await givenKey(shell, 'planner')
  const local = [process.execPath, ambit, 'mcp']
  const [listed, called] = await Promise.all([inspect(shell.cwd, local, ...list), inspect(shell.cwd, local, ...call)])
  assert.deepEqual(
    listed.tools.map(({ name }: { name: string }) => name),
    ['depot_greet'],
  )
  assert.deepEqual(called.structuredContent, { said: 'hello Ida' })
  await serving(shell, [], async (url) => {
    const remote = [`${url}/mcp`, '--transport', 'http', '--header', `Authorization: Bearer ${secret}`]
    assert.deepEqual((await inspect(shell.cwd, remote, ...call)).structuredContent, { said: 'hello Ida' })
  })
})

import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'vitest'
import { parse } from 'yaml'
import { connect } from '../../src/client/connect.ts'
import type { DecisionRecord } from '../../src/model/contract/decision.ts'
import type { InvokeAnswer } from '../../src/model/requests.ts'
import type { RunEvent } from '../../src/model/run.ts'
import { stdioClient, textOf } from '../support/mcp-client.ts'
import { comparable } from '../support/records.ts'
import { projectRoot } from '../support/source.ts'
import { givenKey } from './harness.ts'
import { serving } from './serving.ts'
import { givenStock } from './stock.ts'

test('a request is decided at once, or waits for people and goes on; its steps, decision and proof are shown [F-18]', async () => {
  const { shell, cora, ask } = await givenStock()
  const low = await shell.good('invoke', '--request', ask('low', 4_000))
  assert.match(low.out, /^DECIDED {2}stock\.write_off\.post@1\.0\.0: posted {2}run_/)
  assert.match(
    low.out,
    /steps +s1 adp_stock\.lookup ok .*\n +s2 adp_count\.verify ok .*\n +s3 \S+ completed \{"posting":"led_1"\}/,
  )
  const file = ask('high', 640_000)
  const waiting = await shell.run('invoke', '--request', file)
  assert.equal(waiting.code, 1)
  assert.match(waiting.out, /^IN_FLIGHT .*\n(.*\n)* +waits for {2}(apr_\w+): ambit approvals show \2\n +then/)
  const [approval = ''] = /apr_\w+/.exec(waiting.out) ?? []
  const [run = ''] = /run_[0-9a-f]{16}/.exec(waiting.out) ?? []
  await cora.good('approvals', 'approve', approval)
  await shell.good('runs', 'resume', run)
  const decided = await shell.good('invoke', '--request', file)
  assert.match(decided.out, /^DECIDED .*posted/)
  assert.match(
    decided.out,
    /controls +approval_gates_active: GATE_CONTROLLER\n +approved by {2}cora for GATE_CONTROLLER, destructive/,
  )
  assert.match(decided.out, / s3 adp_ledger\.post_write_off completed /)
  const answer = (await shell.good('invoke', '--request', file, '--json')).json<InvokeAnswer>()
  assert.deepEqual([answer.run_id, answer.status, answer.decision_record?.status], [run, 'completed', 'DECIDED'])
})

test('its steps are printed as they happen, the same here as at a host [F-18]', async () => {
  const { shell, ask } = await givenStock()
  const typesOf = (out: string) => out.split('\n').flatMap((line) => / {2}([a-z]+\.[a-z]+) +/.exec(line)?.[1] ?? [])
  const here = await shell.good('invoke', '--request', ask('here', 4_000), '--stream')
  assert.match(
    here.out,
    /\n +3 .* plan\.proposed +adp_stock\.lookup, adp_count\.verify, adp_ledger\.post_write_off\n +4 .* critic\.verify +ok\n/,
  )
  const lines = (await shell.good('invoke', '--request', ask('json', 4_000), '--stream', '--json')).out
    .trim()
    .split('\n')
  const events = lines.map((line) => JSON.parse(line) as RunEvent)
  assert.equal(events.at(-2)?.type, 'run.finished')
  assert.equal((events.at(-1) as unknown as InvokeAnswer).mode, 'stream')
  await serving(shell, [], async (url) => {
    const there = await shell.good('invoke', '--request', ask('there', 4_000), '--stream', '--url', url)
    assert.deepEqual(typesOf(there.out), typesOf(here.out))
    assert.match(there.out, /^DECIDED/m)
    const batch = await shell.good('invoke', '--request', ask('batch', 4_000), '--url', url)
    assert.match(batch.out, /^DECIDED/)
  })
})

test('the same request gives the same record here, at a host and through the client [R-01]', async () => {
  const { shell, ask } = await givenStock()
  const recordOf = async (file: string, ...more: string[]) =>
    (await shell.good('invoke', '--request', ask(file, 4_000), '--json', ...more)).json<InvokeAnswer>().decision_record
  const records = [await recordOf('a')]
  await serving(shell, [], async (url) => {
    records.push(await recordOf('b', '--url', url))
    const { request, run_context } = parse(readFileSync(join(shell.cwd, ask('c', 4_000)), 'utf8'))
    records.push((await connect(url, shell.env['AMBIT_KEY']).invokeAgent(request, { run_context })).decision_record)
  })
  const [first, ...others] = records.map((record) => comparable(record ?? assert.fail()))
  assert.equal(records[0]?.status, 'DECIDED')
  for (const other of others) assert.deepEqual(other, first)
})

test('a client of `ambit mcp` puts a request to an agent as a tool [H-100]', async () => {
  const { shell, ask } = await givenStock()
  await shell.good('principal', 'create', 'bot', '--kind', 'agent', '--role', 'grantor')
  const { secret } = await givenKey(shell, 'bot')
  const args = [join(projectRoot, 'src/cli/main.ts'), 'mcp']
  const started = { command: process.execPath, args, cwd: shell.cwd, env: { AMBIT_KEY: secret } }
  const client = await stdioClient(started, '2025-11-25')
  const tool = (await client.listTools()).tools.find(({ name }) => name === 'invoke_agent')
  assert.deepEqual(tool?.inputSchema.required, ['request'])
  const asked = parse(readFileSync(join(shell.cwd, ask('d', 4_000)), 'utf8'))
  const told = textOf(await client.callTool({ name: 'invoke_agent', arguments: asked }))
  assert.match(told, /^<ambit_data origin="tool" name="invoke_agent"[\s\S]*"status":"DECIDED"/)
})

test('what it refuses is said with its place, and is on record [H-96]', async () => {
  const { shell, ask } = await givenStock()
  const refused = async (...words: string[]) => {
    const { code, err } = await shell.run('invoke', '--request', ...words)
    return [code, /\((\w+)\)/.exec(err)?.[1]]
  }
  const bad = ask('bad', 4_000, (text) => text.replace('stock@3.1.0', 'stock@latest'))
  assert.deepEqual(await refused(bad), [1, 'pack_ref_unpinned'])
  assert.deepEqual(await refused(ask('mode', 1, (text) => text.replace('batch\n', 'quickly\n'))), [2, 'field_invalid'])
  assert.deepEqual(await refused(ask('legal', 1, (text) => text.replace('stock.write_off', 'stock.burn'))), [
    1,
    'intent_unknown',
  ])
  assert.deepEqual(await refused('none.yaml'), [2, 'file_not_found'])
  const { out } = await shell.good('evidence', 'list', '--type', 'ambit.entry.refused')
  assert.equal(out.split('\n').filter((line) => / admin +ambit\.entry\.refused/.test(line)).length, 3)
  const held = ask('held', 4_000, (text) => text.replace('amount_minor', 'legal_hold: true, amount_minor'))
  const escalated = await shell.run('invoke', '--request', held)
  assert.equal(escalated.code, 1)
  assert.match(escalated.out, /^ESCALATED .*escalated .*\n(.*\n)* +controls +must_escalate: G_LEGAL_HOLD/)
})

test('the builder sends what it builds, each time as a request of its own [F-18]', async () => {
  const { shell } = await givenStock()
  const words = ['--tenant', 'tenant_fjordvik', '--pack', 'ctxpack.none@1.0.0', '--send']
  assert.match((await shell.run('envelope', ...words)).err, /\(pack_not_found\)/)
  const pack = (await shell.good('pack', 'new', 'desk', '--tenant', 'tenant_fjordvik')).out
  assert.match(pack, /desk\.pack\.yaml/)
  writeFileSync(join(shell.cwd, 'desk.json'), (await shell.good('pack', 'sign', 'desk.pack.yaml')).out)
  await shell.good('pack', 'publish', 'desk.json')
  const send = async (...more: string[]) => {
    const { out } = await shell.run('envelope', '--tenant', 'tenant_fjordvik', '--send', ...more)
    return /run_[0-9a-f]{16}/.exec(out)?.[0] ?? assert.fail(out)
  }
  const runs = [await send(), await send(), await send('--stream')]
  await serving(shell, [], async (url) => void runs.push(await send('--url', url)))
  assert.equal(new Set(runs).size, 4)
})

test('decisions are listed, shown and verified, and the export of one is proved in one file [F-18 R-122]', async () => {
  const { shell, ask } = await givenStock()
  const { run_id } = (await shell.good('invoke', '--request', ask('one', 4_000), '--json')).json<InvokeAnswer>()
  const record = run_id.replace('run_', 'dr_')
  assert.match(
    (await shell.good('decisions', 'list', '--status', 'DECIDED')).out,
    new RegExp(`^RECORD.*\\n${record} +1 +DECIDED .* posted `),
  )
  assert.match(
    (await shell.good('decisions', 'show', run_id)).out,
    new RegExp(`^DECIDED .*${record}\\n(.*\\n)* +acting +usr_214 → agent:contextos/stock-keeper@2.0.1\\n`),
  )
  const { versions } = (await shell.good('decisions', 'history', record, '--json')).json<{
    versions: DecisionRecord[]
  }>()
  assert.deepEqual(
    versions.map(({ status }) => status),
    ['IN_FLIGHT', 'DECIDED'],
  )
  assert.match(
    (await shell.good('decisions', 'verify', record)).out,
    /^GOOD {2}2 versions of the decision of `run_\w+`, now DECIDED/,
  )
  await shell.good('evidence', 'export', run_id, '--records', '--out', 'run.json')
  const good = await shell.good('verify', 'run.json')
  assert.match(good.out, /^GOOD {2}2 versions(.*\n)*GOOD {2}\d+ records of `run_/)
  const text = readFileSync(join(shell.cwd, 'run.json'), 'utf8')
  writeFileSync(join(shell.cwd, 'bad.json'), text.replace('"posted"', '"declined"'))
  const bad = await shell.run('verify', 'bad.json')
  assert.equal(bad.code, 1)
  assert.match(bad.out, /^NOT GOOD {2}the hash is not that of the record \(hashes, at \/records\/1\/record_hash\)/)
  assert.equal((await shell.run('verify', 'bad.json', '--json')).json<{ valid: boolean }>().valid, false)
  assert.match((await shell.run('decisions', 'verify', 'dr_0')).err, /\(run_not_found\)/)
  const plain = (await shell.good('evidence', 'export', run_id)).json()
  assert.deepEqual(plain['records'], undefined)
  assert.equal((await shell.run('evidence', 'export', run_id, '--records', '--csv')).code, 2)
})

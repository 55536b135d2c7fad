import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { givenDepot, release } from '../../../test/cli/depot.ts'
import type { Json } from '../../base/canonical.ts'
import { objectHash } from '../../base/hash.ts'
import type { CapabilityDescriptor } from '../../model/capability.ts'
import type { CallRecord, EvidenceEvent } from '../../model/evidence.ts'
import type { InvocationResult } from '../../model/wire/result.ts'

const temperature = ['call', 'depot.temperature', '--payload', '{"room":"north"}']

describe('call: one call through the gateway, and what came of it [F-18 H-92]', () => {
  test('a success shows the result, its ids and its evidence, and ends with 0', async () => {
    const { planner } = await givenDepot()
    const { out } = await planner.good(...release(0, '--id', 'inv_a'))
    assert.match(out, /^DONE {2}depot\.release_batch 2\.1\.0 on `northlight`\n {2}\{\n {4}"batch_id": "B-204417",\n/)
    assert.match(out, /\n {2}call +inv_a\n {2}task +run-5521\n {2}evidence +evt_\S+ evt_\S+\n$/)
  })

  test('the same id again shows what is on record, and another call under it is refused', async () => {
    const { planner } = await givenDepot()
    await planner.good(...release(0, '--id', 'inv_a'))
    assert.match(
      (await planner.good(...release(0, '--id', 'inv_a'))).out,
      /^DONE .* \(as recorded: nothing ran again\)\n/,
    )
    const { code, out } = await planner.run(
      'call',
      'depot.temperature',
      '--id',
      'inv_a',
      '--payload',
      '{"room":"south"}',
    )
    assert.equal(code, 1)
    assert.match(
      out,
      /^DENIED .*\n {2}why +this invocation_id was used for another call \(policy_blocked\)\n {2}reason +inv/,
    )
    assert.match(out, /evidence +none new/)
  })

  test('a denial shows why, the rule and its version, and ends with 1', async () => {
    const { planner } = await givenDepot()
    const { code, out, err } = await planner.run(...release(14).with(3, 'routine'))
    assert.deepEqual([code, err], [1, ''])
    assert.match(out, /^DENIED {2}depot\.release_batch 2\.1\.0 on `northlight`\n/)
    assert.match(out, /\n {2}why +quality_release does not allow this call \(policy_blocked\)\n/)
    assert.match(out, /\n {2}rule +quality_release\/routine, version 3\n/)
  })

  test('a capability that is not there: the one that was meant, by its MCP name too', async () => {
    const { planner } = await givenDepot()
    for (const asked of ['depot_temperature', 'depot.temprature']) {
      const { out } = await planner.run('call', asked)
      assert.match(out, new RegExp(`^DENIED {2}${asked} on \`northlight\`\n`))
      assert.match(out, /\n {2}next +did you mean `depot\.temperature`\? see `ambit capabilities list`\n$/)
    }
    const { out } = await planner.run('call', 'elsewhere.entirely')
    assert.match(out, /\n {2}next +see `ambit capabilities list`\n$/)
    assert.match(
      (await planner.run('capabilities', 'show', 'depot.temprature')).err,
      /did you mean `depot\.temperature`/,
    )
  })

  test('a call denied for want of a key says how to get one', async () => {
    const { anyone } = await givenDepot()
    assert.match((await anyone.run(...release(0))).out, /\n {2}next +put the key .* AMBIT_KEY: `ambit key create </)
  })

  test('a call that waits for people says for whom, and what to do next', async () => {
    const { planner } = await givenDepot()
    const { code, out } = await planner.run(...release(14, '--id', 'inv_7'))
    assert.equal(code, 1)
    const [, id] = /\n {2}approval +(apr_\S+)\n/.exec(out) ?? assert.fail(out)
    assert.match(out, /\n {2}next +wait for 1 approval by responsible_pharmacist, then repeat this invocation_id\n/)
    assert(out.includes(`\n            ambit approvals show ${id}\n`))
    assert.match(out, /\n +then the same call again, with --id inv_7\n$/)
  })

  test.each<[string, string[], RegExp]>([
    ['without a key', [], /why +the capability needs an authenticated caller|entitlement_denied/],
    [
      'with a payload that does not fit',
      ['--payload', '{"room":"attic"}'],
      / schema: `\/room` must be one of `north`, `south` \(input_schema_validation_failed\)\n {2}call/,
    ],
    ['of what does not exist', [], /why +capability `depot\.nothing` not found \(capability_not_found\)/],
  ])('refused: %s', async (name, more, expected) => {
    const { shell } = await givenDepot()
    const words =
      name === 'without a key'
        ? release(0)
        : name.startsWith('of')
          ? ['call', 'depot.nothing']
          : ['call', 'depot.temperature', ...more]
    const { code, out } = await shell.run(...words)
    assert.equal(code, 1, out)
    assert.match(out, expected)
  })

  test('facts that are missing are named', async () => {
    const { planner } = await givenDepot()
    const { code, out } = await planner.run('call', 'depot.release_batch', '--payload', '{}')
    assert.equal(code, 1)
    assert.match(out, /\(evidence_required\)\n {2}missing +batch_id, excursion_minutes, purpose\n/)
    assert.match(out, /\n {2}next +\S/)
  })

  test('for programs: the result as the wire has it', async () => {
    const { planner } = await givenDepot()
    const done = (await planner.good(...release(0, '--environment', 'prod', '--json'))).json<InvocationResult>()
    assert.deepEqual([done.outcome, done.correlation.environment, done.evidence_ids.length], ['success', 'prod', 2])
    const denied = await planner.run(...release(14, '--json'))
    assert.equal(denied.code, 1)
    assert.equal(denied.json<InvocationResult>().denial?.code, 'approval_required')
  })

  test('a stream shows its chunks, then the result; called without, the result alone', async () => {
    const { shell } = await givenDepot()
    const { out } = await shell.good(...temperature, '--stream')
    assert.match(out, /^\{"celsius":4\}\n\{"celsius":5\}\n\{"celsius":4\}\nDONE /)
    assert.match((await shell.good(...temperature)).out, /"celsius": 4/)
    const { chunks } = (await shell.good(...temperature, '--stream', '--json')).json<{ chunks: unknown[] }>()
    assert.equal(chunks.length, 3)
  })

  test('a payload may come from a file or from standard input', async () => {
    const { shell } = await givenDepot()
    writeFileSync(join(shell.cwd, 'p.json'), '{"room":"south"}')
    assert.match((await shell.good('call', 'depot.temperature', '--payload', '@p.json')).out, /"south"/)
    const piped = shell.with({ stdin: async () => '{"room":"north"}' })
    assert.match((await piped.good('call', 'depot.temperature', '--payload', '-')).out, /"north"/)
  })

  test.each([
    [['--payload', '{'], /^error: --payload: .*\(json_invalid\)/],
    [['--payload', '@gone.json'], /^error: `gone\.json` cannot be read: ENOENT \(file_not_found\)/],
    [['--payload', '[]'], /^error: --payload must be an object \(field_invalid\)/],
    [['--context', '7'], /^error: --context must be an object \(field_invalid\)/],
    [['--environment', 'moon'], /^error: option '--environment/],
    [['--id', ''], /^error: `--id` must be/],
  ])('what is no call at all is usage: %j', async (words, message) => {
    const { shell } = await givenDepot()
    const { code, err } = await shell.run('call', 'depot.temperature', ...words)
    assert.equal(code, 2, err)
    assert.match(err, message)
  })
})

test('what is published is what the call was checked against, by digest [H-08]', async () => {
  const { planner, shell } = await givenDepot()
  await planner.good(...release(0))
  const shown = (await planner.good('capabilities', 'show', 'depot.release_batch', '--json')).json<{
    capabilities: [CapabilityDescriptor]
  }>()
  // What the host adds when it serves a descriptor is its own to say.
  const { capability_uri: _, metadata, ...declared } = shown.capabilities[0]
  const { lifecycle: __, policy, ...ours } = metadata ?? {}
  const { state: ___, ...boundary } = policy ?? {}
  const events = (await shell.good('evidence', 'trace', 'run-5521', '--json')).json<EvidenceEvent[]>()
  assert.equal(events.length, 2)
  for (const { payload } of events) {
    const { descriptor, context } = (payload as { decision: CallRecord }).decision
    assert.equal(descriptor, objectHash({ ...declared, metadata: { ...ours, policy: boundary } } as Json))
    assert.deepEqual(
      context?.map(({ name, source }) => [name, source]),
      Object.entries(ours.context?.fields ?? {}).map(([name, { source }]) => [name, source]),
    )
  }
})

describe('preview, invocations and explain: before a call and after it [F-18 H-92]', () => {
  test('a preview says what would be decided, and by what; nothing is recorded', async () => {
    const { planner, shell } = await givenDepot()
    const allowed = await planner.good('preview', 'depot.temperature', '--payload', '{"room":"north"}')
    assert.match(allowed.out, /^WOULD BE ALLOWED {2}depot\.temperature\n/)
    const { code, out } = await planner.run('preview', ...release(14).slice(1))
    assert.equal(code, 1)
    assert.match(out, /^WOULD BE DENIED {2}depot\.release_batch\n {2}gate +\S+\n {2}why +.*\(approval_required\)\n/)
    assert.match((await shell.run('evidence', 'trace', 'run-5521')).err, /correlation_not_found/)
  })

  test('an id finds the recorded result, for its caller only', async () => {
    const { planner, kai } = await givenDepot()
    await planner.good(...release(0, '--id', 'inv_a'))
    assert.match(
      (await planner.good('invocations', 'show', 'inv_a')).out,
      /^DONE {2}depot\.release_batch 2\.1\.0 on `north/,
    )
    assert.match((await kai.run('invocations', 'show', 'inv_a')).err, /\(invocation_not_found\)/)
  })

  test('a denied call and an approved one are explained by rule, policy, facts and people', async () => {
    const { planner, shell, ida } = await givenDepot()
    const asked = (await planner.run(...release(14, '--id', 'inv_b', '--json'))).json<InvocationResult>()
    const denied = (await shell.good('explain', asked.evidence_ids.at(-1) ?? '')).out
    assert.match(
      denied,
      /^`depot\.release_batch` was refused by `quality_release\/\S+` at gate \S+ under `quality_release` version 3: .*\(approval_required\)\n/,
    )
    for (const part of [
      /\n {2}call +inv_b of task run-5521\n {2}by +planner\n/,
      /\n {2}policy +quality_release, version 3, approval_required\n {2}rules +quality_release\/\S+: \S+ at gate/,
      /\n {2}facts +batch_id: "B-204417"\n/,
      /\n {2}next +wait for 1 approval by responsible_pharmacist/,
    ])
      assert.match(denied, part)
    await ida.good('approvals', 'approve', String(asked.denial?.details?.['approval_id']))
    await planner.good(...release(14, '--id', 'inv_b'))
    const allowed = (await shell.good('explain', 'inv_b')).out
    assert.match(allowed, /^`depot\.release_batch` was allowed .* and ended as success\n/)
    assert.match(allowed, /\n {2}approved by +ida as responsible_pharmacist\n/)
    const table = (await shell.good('evidence', 'export', 'run-5521', '--csv')).out
    assert.match(table, /execution_denied,.*,quality_release\/\S+,approval_required,\r\n/)
    assert.match(table, /execution_completed,.*,quality_release\/\S+,,ida\r\n/)
  })
})

describe('evidence trace: every call as people ask about it [H-92 H-48]', () => {
  test('actor, capability, host, policy, context, result', async () => {
    const { shell, planner } = await givenDepot()
    await planner.good(...release(0, '--id', 'inv_a'))
    await planner.run(...release(14, '--id', 'inv_b').with(3, 'routine'))
    const { out } = await shell.good('evidence', 'trace', 'run-5521')
    const [first = '', second = ''] = out.split('\n\n')
    assert.match(
      first,
      /^inv_a {2}success\n {2}subject +planner\n {2}capability +depot\.release_batch 2\.1\.0\n {2}host +north/,
    )
    assert.match(
      first,
      /\n {2}policy +quality_release, version 3, restricted\n {2}rules +quality_release\/cold: allow, read exc/,
    )
    assert.match(first, /\n {2}context +batch_id: "B-204417"\n +excursion_minutes: 0\n +purpose: "shortage"\n/)
    assert.match(first, /\d {2}\S+Z {2}execution_started\n.*execution_completed\n {2}result +success$/)
    assert.match(
      second,
      /^inv_b {2}denied\n[\s\S]*\n {2}result +denied: quality_release does not allow .*\(policy_blocked\)\n$/,
    )
    assert(!out.includes('Troms'))
    assert.equal((await shell.good('evidence', 'trace', 'run-5521', '--json')).json<unknown[]>().length, 3)
  })

  test('of a task that is not there', async () => {
    const { code, err } = await (await givenDepot()).shell.run('evidence', 'trace', 'nothing')
    assert.equal(code, 1)
    assert.match(err, /^error: no task and no call `nothing` is on record/)
  })
})

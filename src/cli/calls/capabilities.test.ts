import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { givenDepot } from '../../../test/cli/depot.ts'
import { givenDesk, givenKey } from '../../../test/cli/harness.ts'
import type { CapabilityDescriptor } from '../../model/capability.ts'

interface Listed {
  readonly capabilities: readonly CapabilityDescriptor[]
}

describe('capabilities, as people meet them before they call [H-06 H-07 H-68]', () => {
  test('list: capability, version, lifecycle, policy state and name, host, description', async () => {
    const { planner } = await givenDepot()
    const { out } = await planner.good('capabilities', 'list')
    assert.match(out, /^CAPABILITY +VERSION +LIFECYCLE +POLICY +HOST +DESCRIPTION\n/)
    assert.match(
      out,
      /^depot\.temperature +1\.0\.0 +invokable +open +northlight +Reads the temperature of a cold room\.$/m,
    )
    assert.match(out, /^depot\.release_batch +2\.1\.0 +invokable +restricted: quality_release +northlight +Moves a /m)
  })

  test('show: the boundary with its sentence, and every context field with its source', async () => {
    const { planner } = await givenDepot()
    const { out } = await planner.good('capabilities', 'show', 'depot.release_batch')
    for (const part of [
      /^depot\.release_batch 2\.1\.0\n {2}Moves a quarantined batch to saleable stock\.\n/,
      /^ {2}lifecycle +invokable: can be called$/m,
      /^ {2}host +northlight$/m,
      /^ {2}policy +restricted: quality_release\n +A responsible pharmacist releases .*\n +may require approval$/m,
      /^ {2}risk +high$/m,
      /^ {2}needs +permission stock:release$/m,
      /^ {2}payload +batch_id, consignee, excursion_minutes$/m,
      /^Context `batch_context` 1\.0\.0: the batch, how long it was warm, and why it is needed$/m,
      /^purpose +metadata:\/purpose +yes +quality_release +value$/m,
      /^such as \{"batch_id":"B-000001"/m,
    ])
      assert.match(out, part)
  })

  test('for programs: what the manifest serves', async () => {
    const { planner } = await givenDepot()
    const { capabilities } = (await planner.good('capabilities', 'list', '--json')).json<Listed>()
    assert.deepEqual(
      capabilities.map(({ metadata }) => [metadata?.lifecycle, metadata?.policy?.state]),
      [
        ['invokable', 'open'],
        ['invokable', 'restricted'],
      ],
    )
    const one = (await planner.good('capabilities', 'show', 'depot.temperature', '--json')).json<Listed>()
    assert.deepEqual(one.capabilities, [capabilities[0]])
  })

  test('a key for some capabilities sees those alone', async () => {
    const { shell } = await givenDepot()
    const { secret } = (await shell.good('key', 'create', 'kai', '--scope', 'depot.temp*', '--json')).json<{
      secret: string
    }>()
    const kai = shell.with({ env: { AMBIT_KEY: secret } })
    const { capabilities } = (await kai.good('capabilities', 'list', '--json')).json<Listed>()
    assert.deepEqual(
      capabilities.map(({ id }) => id),
      ['depot.temperature'],
    )
    const { code, err } = await kai.run('capabilities', 'show', 'depot.release_batch')
    assert.equal(code, 1)
    assert.match(
      err,
      /^error: capability `depot\.release_batch` not found \(capability_not_found\)\n {2}see `ambit cap/,
    )
  })

  test('where none are listed it says what to do', async () => {
    const { out } = await (await givenDesk()).with({ env: {} }).good('capabilities', 'list')
    assert.equal(out, 'none: list them as `capabilities` in the configuration, see `ambit init`\n')
  })

  test('an upstream that is broken, and a folder that is not there, are told beside the output [H-90]', async () => {
    const desk = await givenDesk()
    writeFileSync(join(desk.cwd, 'broken.json'), '{"adapter":')
    writeFileSync(join(desk.cwd, 'ambit.config.json'), JSON.stringify({ upstreams: ['broken.json', 'nope'] }))
    const told = /^the folder `nope` that `upstreams` lists is not there\nleft out: `broken\.json`: .*\n/
    for (const words of [
      ['capabilities', 'list'],
      ['call', 'mcp.files.read'],
      ['approvals', 'list'],
    ])
      assert.match((await desk.run(...words)).err, told, words.join(' '))
    assert.equal((await desk.run('doctor')).code, 1)
  })

  test('where a key may call none of what is offered it says so', async () => {
    const { shell } = await givenDepot()
    const { secret } = await givenKey(shell, 'kai', '--scope', 'elsewhere.*')
    const kai = shell.with({ env: { AMBIT_KEY: secret } })
    assert.equal((await kai.good('capabilities', 'list')).out, 'none that this key may call\n')
  })
})

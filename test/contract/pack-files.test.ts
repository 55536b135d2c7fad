import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'vitest'
import { administering, givenShell } from '../cli/harness.ts'
import { scenario, stockPack } from '../support/contract.ts'
import { givenInvoked } from '../support/invoked.ts'

/** A shell with these files. */
async function givenFiles(files: Readonly<Record<string, string>>) {
  const shell = await administering(givenShell(), 'local')
  for (const [name, text] of Object.entries(files)) writeFileSync(join(shell.cwd, name), text)
  return shell
}

test('a pack in YAML may be as deep and long as its rules are [R-63]', async () => {
  const sample = scenario('pack.yaml').replaceAll('tenant_fjordvik', 'local')
  const one = (id: number) =>
    `          - { rule_id: R_${id}, if: { and: [{ '>': [{ var: args.n }, ${id}] }, { '!!': [{ var: run.intent }] }] }, then: { allow: true } }\n`
  const many = Array.from({ length: 1_000 }, (_, id) => one(id)).join('')
  const long = sample.replace(/(\n {8}rules:\n)/, `$1${many}`)
  const shell = await givenFiles({ 'sample.yaml': sample, 'long.yaml': long })
  for (const name of ['sample.yaml', 'long.yaml']) {
    const { code, out } = await shell.run('pack', 'validate', name, '--json')
    assert.equal(code, 1)
    const { problems } = JSON.parse(out) as { problems: { pointer: string; message: string }[] }
    assert(problems.length > 0 && problems.every(({ message }) => /is not there|is not offered/.test(message)), out)
  }
})

test.each([
  ['broken.yaml', 'a: [1\nb: 2', /`broken.yaml`: the file is not YAML \(BAD_INDENT\) in line 2/],
  ['text.yaml', 'hello', /`text.yaml`: the file is not a map of keys and values/],
  ['twice.yaml', 'a: 1\na: 2', /`twice.yaml`: a key that occurs twice \(line 2\) is not accepted in file/],
  ['broken.json', '[1,2', /`broken.json`: a `,` or the end was expected at line 1/],
])('a file that is no document says so: %s [R-63]', async (name, text, says) => {
  const shell = await givenFiles({ [name]: text })
  const { code, err } = await shell.run('pack', 'validate', name)
  assert.equal(code, 2)
  assert.match(err, says)
})

test('a file that is no pack is told every layer that it lacks; a request, what it does not know [R-60 R-63]', async () => {
  const shell = await givenFiles({ 'other.yaml': 'hello: 1' })
  const { code, out } = await shell.run('pack', 'validate', 'other.yaml')
  assert.equal(code, 1)
  assert.match(out, /NOT GOOD[\s\S]*\/hello {2}is not a known member[\s\S]*\/tone_and_comms {2}is missing/)
  const compiled = await shell.run('compile', '--request', 'other.yaml')
  assert.match(compiled.err, /`\/request\/hello` is not a known member/)
})

test('a pack names the adapter that stands behind its capabilities here, and no other [R-64 R-69]', async () => {
  const { ambit } = await givenInvoked()
  const pack = stockPack()
  const [first, ...others] = pack.tooling_layer.adapter_registry
  const elsewhere = { ...pack.tooling_layer, adapter_registry: [{ ...first, endpoint_ref: 'elsewhere' }, ...others] }
  const { problems } = await ambit.packs.validate(
    { ...pack, tooling_layer: elsewhere },
    { beside: ['decision-catalog.stock@1.4.0'] },
  )
  assert.deepEqual(
    problems.map(({ pointer }) => pointer),
    ['/tooling_layer/adapter_registry/0/endpoint_ref'],
  )
})

import assert from 'node:assert/strict'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { type FailureCode, statusOf, wireCode } from '../../src/base/failure-codes.ts'
import { givenDesk, type Ran, type Shell } from './harness.ts'

const usage = 2
const refusal = 1

/** What is typed, and what the parser says to it. */
const typed: readonly (readonly [line: string, said: RegExp])[] = [
  ['nope', /unknown command 'nope'/],
  ['tenat', /Did you mean tenant\?/],
  ['tenant nope', /unknown command 'nope'/],
  ['--nope', /unknown option '--nope'/],
  ['tenant list --nope', /unknown option '--nope'/],
  ['tenant list more', /too many arguments/],
  ['tenant create', /missing required argument 'id'/],
  ['tenant create x --root', /argument missing/],
  ['principal create kim --kind robot', /Allowed choices are user, service, agent, automation/],
  ['evidence list --limit 0', /from 1 to 1000/],
  ['evidence list --limit 1001', /from 1 to 1000/],
  ['evidence list --limit ten', /from 1 to 1000/],
  ['evidence list --outcome great', /Allowed choices are success/],
  ['policy check', /missing required argument 'file'/],
  ['policy explain p.json --facts {}', /required option '--capability <id>'/],
  ['policy explain p.json --capability x', /required option '--facts <json>'/],
  ['policy shadow p.json --since yesterday', /write a time such as/],
  ['verify', /missing required argument 'bundle'/],
  ['verify b.json --tier gold', /Allowed choices are signed, hash-chain/],
  ['verify b.json --pin 0123456789abcdef', /write the whole public key/],
  ['call', /missing required argument 'capability'/],
  ['call x --environment moon', /Allowed choices are dev, test, pilot, prod/],
  ['approvals list --state maybe', /Allowed choices are pending/],
  ['approvals approve', /missing required argument 'approval-id'/],
  ['host serve --port x', /write a number from 0 to 65535/],
  ['init --format yaml', /Allowed choices are ts, json/],
]

/** What is typed, how it ends, and the code of the refusal. */
const answered: readonly (readonly [line: string, exit: number, code: FailureCode])[] = [
  ['tenant create Acme', usage, 'id.invalid'],
  ['tenant create acme --root a//b', usage, 'field.invalid'],
  ['tenant create local', refusal, 'tenant.exists'],
  ['tenant create acme --host local', refusal, 'tenant.exists'],
  ['tenant identity nobody', refusal, 'tenant.not_found'],
  ['tenant identity NOBODY', usage, 'id.invalid'],
  ['tenant rotate nobody', refusal, 'tenant.mismatch'],
  ['tenant revoke nobody', refusal, 'tenant.not_found'],
  ['principal list --tenant nobody', refusal, 'tenant.not_found'],
  ['principal create ida', refusal, 'principal.exists'],
  ['principal create two+words=no', usage, 'field.invalid'],
  ['principal rotate nobody', refusal, 'principal.not_found'],
  ['principal revoke nobody', refusal, 'principal.not_found'],
  ['key create nobody', refusal, 'principal.not_found'],
  ['key create ida --scope a*b', usage, 'field.invalid'],
  ['key create ida --expires soon', usage, 'field.invalid'],
  ['key create ida --expires 0d', usage, 'field.invalid'],
  ['key create ida --expires 1w', usage, 'field.invalid'],
  ['key rotate key_1 --grace -1h', usage, 'field.invalid'],
  ['key rotate key_0', refusal, 'key.not_found'],
  ['key revoke key_0', refusal, 'key.not_found'],
  ['key list --tenant nobody', refusal, 'tenant.not_found'],
  ['capabilities show nothing', refusal, 'capability.not_found'],
  ['capabilities list --url nowhere', usage, 'field.invalid'],
  ['approvals show apr_0', refusal, 'approval.not_found'],
  ['approver revoke nobody', refusal, 'approver.not_found'],
  ['evidence trace nothing', refusal, 'correlation.not_found'],
  ['secret set mail', usage, 'secret.invalid'],
  ['secret set 1mail', usage, 'secret.invalid'],
  ['secret list --tenant nobody', refusal, 'tenant.not_found'],
  ['secret remove mail', refusal, 'secret.not_found'],
  ['evidence show evt_0', refusal, 'event.not_found'],
  ['evidence export nothing', refusal, 'correlation.not_found'],
  ['evidence export ambit-admin-local --out nowhere/b.json', usage, 'file.unavailable'],
  ['evidence export ambit-admin-local --out folder', usage, 'file.unavailable'],
  ['evidence list --cursor zz', usage, 'cursor.invalid'],
  ['evidence list --since yesterday', usage, 'field.invalid'],
  ['evidence list --until 2027-02-30T00:00:00Z', usage, 'field.invalid'],
  ['evidence list --tenant nobody', refusal, 'tenant.not_found'],
  ['policy check nothing.json', usage, 'file.not_found'],
  ['policy check broken.json --descriptor broken.json', usage, 'json.invalid'],
  ['policy test nothing.json', usage, 'file.not_found'],
  ['policy test wrong.json', usage, 'field.unknown'],
  ['policy explain broken.json --capability x --facts {}', usage, 'json.invalid'],
  ['policy explain rule.json --capability x --facts {}', usage, 'policy.invalid'],
  ['policy explain good.json --capability x --facts []', usage, 'field.invalid'],
  ['policy explain good.json --capability x --facts {', usage, 'json.invalid'],
  ['policy explain good.json --capability x --facts @nothing.json', usage, 'file.not_found'],
  ['policy explain good.json good.json --capability x --facts {}', usage, 'policy.invalid'],
  ['policy shadow good.json --tenant nobody', refusal, 'tenant.not_found'],
  ['policy shadow rule.json', usage, 'policy.invalid'],
  ['verify nothing.json', usage, 'file.not_found'],
  ['verify folder', usage, 'file.not_found'],
  ['verify broken.json --identity broken.json', usage, 'json.invalid'],
  ['verify broken.json --head broken.json', usage, 'json.invalid'],
  ['verify broken.json --head nothing.json', usage, 'file.not_found'],
  ['store backup nowhere/b', usage, 'file.not_found'],
  ['store backup broken.json', usage, 'file.exists'],
  ['store restore nothing', usage, 'file.not_found'],
  ['store restore folder', usage, 'file.not_found'],
  ['store restore broken.json', refusal, 'backup.invalid'],
  ['store accept-loss nobody', refusal, 'tenant.not_found'],
  ['schema show nothing', refusal, 'schema.not_found'],
  ['demo --keep nowhere/b.json', usage, 'file.unavailable'],
  ['tenant list --config nothing.ts', usage, 'config.not_found'],
  ['tenant list --config broken.json', usage, 'config.invalid'],
  ['tenant list --config folder', usage, 'config.invalid'],
  ['tenant list --config wrong.json', usage, 'field.unknown'],
  ['tenant list --config throws.mjs', usage, 'config.invalid'],
  ['tenant list --config misplaced.json', usage, 'file.unavailable'],
  ['tenant list --config unreachable.json', usage, 'store.unavailable'],
  ['tenant list --config elsewhere.json', usage, 'store.unavailable'],
]

/** A desk with files that are no good. */
async function givenTrouble(): Promise<Shell> {
  const shell = await givenDesk()
  const put = (name: string, text: string) => writeFileSync(join(shell.cwd, name), text)
  mkdirSync(join(shell.cwd, 'folder'))
  cpSync(join(shell.cwd, '.ambit', 'ambit.db'), join(shell.cwd, 'copy.db'))
  put('broken.json', '{"a":')
  put('wrong.json', '{"tenat":"x"}')
  put('good.json', '{"name":"p","version":"1","applies_to":["x"],"rules":[]}')
  put(
    'rule.json',
    '{"name":"p","version":"1","applies_to":["x"],"rules":[{"id":"a","when":{"no":1},"decision":"deny"}]}',
  )
  put('throws.mjs', "import { readFileSync } from 'node:fs'\nreadFileSync(import.meta.dirname + '/gone')\n")
  put('misplaced.json', '{"store":{"driver":"sqlite","path":"copy.db"},"keys":{"dir":"broken.json"}}')
  put('unreachable.json', '{"store":{"driver":"postgres","url":"postgres://me:hunter2@127.0.0.1:1/x"}}')
  put('elsewhere.json', '{"dataDir":"elsewhere"}')
  return shell
}

describe('what cannot be done is refused in one sentence [F-18 F-05]', () => {
  test('typed wrong: exit 2, and where to look', async () => {
    const shell = await givenTrouble()
    for (const [line, said] of typed) {
      const ran = await shell.run(...line.split(' '))
      assert.equal(ran.code, usage, line)
      assert.match(ran.err, said, line)
      assert.match(ran.err, /--help/, line)
      discreet(ran, shell, line)
    }
  })

  test('refused: exit 1 for an answer, 2 for the surroundings, with a code either way', async () => {
    const shell = await givenTrouble()
    for (const [line, exit, code] of answered) {
      const ran = await asked(shell, line).run(...line.split(' '))
      assert.match(ran.err, new RegExp(`^error: .*\\(${wireCode(code)}\\)\n`), line)
      assert.equal(ran.code, exit, line)
      discreet(ran, shell, line)
    }
  })

  test('for programs: the same as one JSON object', async () => {
    const shell = await givenTrouble()
    for (const [line, exit, code] of answered) {
      const ran = await asked(shell, line).run(...line.split(' '), '--json')
      assert.deepEqual([ran.code, ran.err], [exit, ''], line)
      const body = ran.json()
      assert.deepEqual([body['code'], body['status']], [wireCode(code), statusOf[code]], line)
      discreet(ran, shell, line)
    }
  })

  test('without a store: where to make one, and none is left behind', async () => {
    const { with: given, cwd } = await givenDesk()
    const shell = given({ cwd: join(cwd, 'empty') })
    mkdirSync(shell.cwd)
    for (const line of ['tenant list', 'principal list', 'evidence list', 'secret list', 'store backup b']) {
      const ran = await shell.run(...line.split(' '))
      assert.deepEqual([ran.code, /there is no store here yet/.test(ran.err)], [2, true], line)
      discreet(ran, shell, line)
    }
    const { err } = await shell.run('doctor')
    assert.equal(err, '')
    assert.match((await shell.run('tenant', 'list')).err, /ambit tenant create local/)
  })
})

/** A key is of one tenant: what is asked about another one is asked without it. */
const asked = (shell: Shell, line: string): Shell =>
  /--tenant nobody|identity|--config/.test(line) ? shell.with({ env: {} }) : shell

/** Nothing in an answer shows where on the machine it came from, or from which line of code. */
function discreet({ out, err }: Ran, { cwd }: Shell, line: string): void {
  for (const text of [out, err]) {
    for (const secret of [cwd, '/tmp', 'node:internal', 'node_modules', 'file://', 'hunter2', '.ts:'])
      assert(!text.includes(secret), `\`${line}\` shows ${secret}: ${text}`)
    assert.doesNotMatch(text, /^\s+at /m, line)
  }
}

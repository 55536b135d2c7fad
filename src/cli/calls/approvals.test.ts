import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { type Depot, givenDepot, release } from '../../../test/cli/depot.ts'
import { givenKey, type Shell } from '../../../test/cli/harness.ts'
import { signGrant } from '../../../test/support/evidence-statements.ts'
import { signerOf } from '../../keys/signer.ts'
import type { ApprovalRequest } from '../../model/approval.ts'
import type { InvocationResult } from '../../model/wire/result.ts'
import type { Signal } from '../terminal/io.ts'

async function ask({ planner }: Depot, id = 'inv_7', minutes = 14): Promise<string> {
  const { denial } = (await planner.run(...release(minutes, '--id', id, '--json'))).json<InvocationResult>()
  return String(denial?.details?.['approval_id'])
}

const listed = async (shell: Shell, ...words: string[]) =>
  (await shell.good('approvals', 'list', '--json', ...words))
    .json<{ approvals: ApprovalRequest[] }>()
    .approvals.map(({ approval_id }) => approval_id)

describe('approvals: one exact call, decided by people [H-51 H-53 H-59]', () => {
  test('list: what waits, only for administrators and for those who may decide', async () => {
    const depot = await givenDepot()
    assert.equal((await depot.anyone.good('approvals', 'list')).out, 'none\n')
    const id = await ask(depot)
    for (const shell of [depot.shell, depot.ida]) assert.deepEqual(await listed(shell), [id])
    for (const shell of [depot.kai, depot.planner]) assert.deepEqual(await listed(shell), [])
    assert.match((await depot.planner.good('approvals', 'list')).out, /^none that you may decide about; .* show <appr/)
    const { out } = await depot.ida.good('approvals', 'list')
    assert.match(out, /^APPROVAL +STATE +CAPABILITY +ASKED BY +AGE +ARGUMENTS +POLICY +UNTIL\n/)
    assert.match(
      out,
      /pending, 0 of 1 +depot\.release_batch 2\.1\.0 +planner +new +batch_id="B-204417" excursion_minutes=14 consignee="\[redact… +quality_release +\d{4}-/,
    )
    assert(!out.includes('Troms'))
    assert.deepEqual(await listed(depot.shell, '--state', 'denied'), [])
    assert.deepEqual(await listed(depot.shell, '--state', 'all'), [id])
  })

  test('show: exactly one call, without what is sensitive', async () => {
    const depot = await givenDepot()
    const { out } = await depot.ida.good('approvals', 'show', await ask(depot))
    for (const part of [
      /^apr_\S+ {2}pending, 0 of 1\n/,
      /^ {2}call +depot\.release_batch 2\.1\.0, inv_7 of task run-5521$/m,
      /^ {2}asked by +planner \(api_key\)$/m,
      /^ {2}purpose +shortage$/m,
      /^ {2}policy +quality_release, version 3\n +A responsible pharmacist releases a batch that was ever too warm\.$/m,
      /^ {2}needs +1 person: responsible_pharmacist$/m,
      /^ {2}votes +none yet$/m,
      /^ {2}until +\S+Z \(1 h 59 min left\)$/m,
      /^ {2}input +valid$/m,
      /^ {2}digest +sha256:[0-9a-f]{64}$/m,
      /^excursion_minutes +14$/m,
      /^payload:\/batch_id +"B-204417"$/m,
    ])
      assert.match(out, part)
    assert(!out.includes('Troms'))
  })

  test('approve: the call then takes effect, once, and the yes is on record with its reason', async () => {
    const depot = await givenDepot()
    const id = await ask(depot)
    const { out } = await depot.ida.good('approvals', 'approve', id, '--rationale', 'the logger was wrong')
    assert.equal(out, `${id}: approved\nthe caller may now repeat the call with the id inv_7; it counts once\n`)
    assert.match(
      (await depot.ida.good('approvals', 'show', id)).out,
      /votes +ida \(responsible_pharmacist\): approve, \S+, “the logger was wrong”/,
    )
    assert.match((await depot.planner.good(...release(14, '--id', 'inv_7'))).out, /^DONE /)
    assert.match((await depot.shell.good('approvals', 'show', id)).out, /^apr_\S+ {2}redeemed\n/)
    assert.match(
      (await depot.shell.good('evidence', 'trace', 'run-5521')).out,
      /approved by +ida as responsible_pharmacist\n/,
    )
  })

  test('edit: the call takes effect with the arguments that were agreed to, and with no others', async () => {
    const depot = await givenDepot()
    const id = await ask(depot)
    const missing = await depot.ida.run('approvals', 'edit', id)
    assert.equal(missing.code, 2)
    const payload = { batch_id: 'B-204417', consignee: 'Clinic 88', excursion_minutes: 3 }
    const { out } = await depot.ida.good('approvals', 'edit', id, '--payload', JSON.stringify(payload))
    assert.match(out, new RegExp(`^${id}: replaced by apr_\\w+, which has the edited arguments\n`))
    assert.match(out, /repeat the call with the id inv_7; it counts once/)
    const done = (await depot.planner.good(...release(14, '--id', 'inv_7', '--json'))).json<InvocationResult>()
    assert.equal(done.outcome, 'success')
    const traced = await depot.shell.good('evidence', 'trace', 'run-5521')
    assert.match(traced.out, /\n {2}edited +people agreed to other arguments than were asked for\n/)
  })

  test('deny: that ends it', async () => {
    const depot = await givenDepot()
    const id = await ask(depot)
    const request = (
      await depot.ida.good('approvals', 'deny', id, '--rationale', 'too warm', '--json')
    ).json<ApprovalRequest>()
    assert.equal(request.state, 'denied')
    const { code, out } = await depot.planner.run(...release(14, '--id', 'inv_7'))
    assert.equal(code, 1)
    assert.match(
      out,
      /\n {2}why +the call was not approved: `too warm` \(policy_blocked\)\n {2}reason +approval_denied\n/,
    )
    // By the id of the call as by that of its task.
    for (const of of ['run-5521', 'inv_7'])
      assert.match((await depot.shell.good('evidence', 'trace', of)).out, /\n {2}denied by +ida, “too warm”\n/)
    const again = await depot.ida.run('approvals', 'approve', id)
    assert.equal(again.code, 1)
    assert.match(again.err, /\(approval_used\)/)
  })

  test.each<[string, keyof Omit<Depot, 'keys'>, RegExp]>([
    ['without a key', 'anyone', /only an approver with an API key may decide \(approver_not_permitted\)/],
    ['with another role', 'kai', /you may not decide about this call \(role\) \(approver_not_permitted\)/],
    ['by the caller', 'planner', /\((approver_not_permitted|approval_self)\)/],
  ])('no decision %s', async (_, who, message) => {
    const depot = await givenDepot()
    const id = await ask(depot)
    const { code, err } = await depot[who].run('approvals', 'approve', id)
    assert.equal(code, 1)
    assert.match(err, message)
    assert.deepEqual(await listed(depot.ida), [id])
  })

  test('an approver who holds their own key says yes with a grant that they signed, and in no other way', async () => {
    const depot = await givenDepot()
    const signer = signerOf(Buffer.alloc(32, 0xb2))
    await depot.shell.good('principal', 'create', 'jo')
    const role = ['--role', 'responsible_pharmacist', '--public-key', signer.publicKey]
    await depot.shell.good('approver', 'add', 'jo', ...role)
    const jo = depot.shell.with({ env: { AMBIT_KEY: (await givenKey(depot.shell, 'jo')).secret } })
    const id = await ask(depot)
    const refused = await jo.run('approvals', 'approve', id)
    assert.deepEqual([refused.code, /your own signed grant is needed/.test(refused.err)], [1, true])

    const request = (await jo.good('approvals', 'show', id, '--json')).json<ApprovalRequest>()
    const { approval_id, invocation_id, payload_commitment, invocation_digest, expires_at: valid_until } = request
    const fields = { approval_id, invocation_id, payload_commitment, invocation_digest, valid_until }
    const grant = signGrant({ ...fields, audience: 'northlight', max_attempts: 1 }, signer)
    writeFileSync(join(depot.shell.cwd, 'grant.json'), JSON.stringify(grant))
    await jo.good('approvals', 'approve', id, '--grant', '@grant.json')
    await depot.planner.good(...release(14, '--id', 'inv_7'))
    const { out } = await depot.shell.good('evidence', 'trace', 'run-5521')
    assert.match(out, /approved by +jo as responsible_pharmacist, with their own key\n/)
  })

  test('for others a request is not there, and one that never was is not either', async () => {
    const depot = await givenDepot()
    const id = await ask(depot)
    for (const [shell, name] of [
      [depot.kai, id],
      [depot.shell, 'apr_0'],
    ] as const) {
      const { code, err } = await shell.run('approvals', 'show', name)
      assert.equal(code, 1)
      assert.match(err, /\(approval_not_found\)/)
    }
    await depot.planner.good('approvals', 'show', id)
  })

  test('watch: what waits already, then each new one, until it is told to end', async () => {
    const depot = await givenDepot()
    const first = await ask(depot)
    const printed: string[] = []
    let stop: (signal: Signal) => void = () => assert.fail('no listener')
    let listening = true
    const onSignal = (listener: (signal: Signal) => void) => {
      stop = listener
      return () => {
        listening = false
      }
    }
    const ended = depot.ida.with({ onSignal, told: (text) => void printed.push(text) }).run('approvals', 'watch')
    const until = async (count: number) => {
      while (printed.length < count) await new Promise((resolve) => setTimeout(resolve, 10))
    }
    await until(1)
    const second = await ask(depot, 'inv_8', 3)
    await until(2)
    stop('SIGINT')
    assert.deepEqual([(await ended).code, listening], [0, false])
    assert.deepEqual(
      printed.map((text) => text.split('  ')[0]),
      [first, second],
    )
    assert.match(
      printed[0] ?? '',
      /planner asks for depot\.release_batch 2\.1\.0 with batch_id="B-204417" excursion_minutes=14 .*: quality_release, 1 of responsible_pharmacist, until/,
    )
  })
})

describe('approver: the people who may decide [H-55 H-59]', () => {
  test('add, list and revoke, for people and for programs', async () => {
    const { shell } = await givenDepot()
    await shell.good('principal', 'create', 'jo')
    const key = Buffer.alloc(32, 7).toString('base64')
    const { out } = await shell.good('approver', 'add', 'jo', '--role', 'lead', '--public-key', key, '--expires', '90d')
    assert.equal(out, '`jo` may decide as lead; they sign each yes with their own key\n')
    const { approvers } = (await shell.good('approver', 'list', '--json')).json<{
      approvers: { approver_id: string; custody: string }[]
    }>()
    assert.deepEqual(
      approvers.map(({ approver_id, custody }) => [approver_id, custody]),
      [
        ['ida', 'host'],
        ['jo', 'self'],
        ['kai', 'host'],
      ],
    )
    assert.equal((await shell.good('approver', 'revoke', 'ida')).out, '`ida` decides about nothing any more\n')
    assert.match((await shell.good('approver', 'list')).out, /^ida +ida +responsible_pharmacist +host +revoked \d/m)
    assert.match((await shell.good('approver', 'list')).out, /^jo +jo +lead +own [0-9a-f]{16} +\d{4}-/m)
  })

  test('a wrong role is put right: revoked, then added anew, and only what is said since then counts', async () => {
    const depot = await givenDepot()
    const { shell } = depot
    const id = await ask(depot)
    await depot.ida.good('approvals', 'approve', id)
    const twice = await shell.run('approver', 'add', 'ida', '--role', 'lead')
    assert.match(
      twice.err,
      /`ida` exists already \(approver_exists\)\n {2}run `ambit approver revoke ida` first: then /,
    )
    for (const role of ['lead', 'responsible_pharmacist']) {
      await shell.good('approver', 'revoke', 'ida')
      assert.match((await shell.good('approver', 'add', 'ida', '--role', role)).out, /^`ida` may decide as/)
    }
    assert.match(
      (await shell.good('approver', 'list')).out,
      /^ida +.* revoked .*\nida\/2 +ida +lead +host +revoked .*\nida\/3 +ida +resp.* until revoked$/m,
    )
    assert.equal((await depot.planner.run(...release(14, '--id', 'inv_7'))).code, 1)
    const [next = ''] = await listed(depot.ida)
    await depot.ida.good('approvals', 'approve', next)
    await depot.planner.good(...release(14, '--id', 'inv_7'))
  })

  test('what one says no longer counts once one is revoked', async () => {
    const depot = await givenDepot()
    const id = await ask(depot)
    await depot.ida.good('approvals', 'approve', id)
    await depot.shell.good('approver', 'revoke', 'ida')
    assert.equal((await depot.planner.run(...release(14, '--id', 'inv_7'))).code, 1)
  })

  test.each([
    [['add', 'ida', '--role', 'x'], 1, /\(approver_exists\)/],
    [['add', 'unknown', '--role', 'x'], 1, /\(principal_not_found\)/],
    [['add', 'kai'], 2, /required option '--role <name>' not specified/],
    [['add', 'kai', '--role', 'x', '--public-key', 'short'], 2, /\(field_invalid\)/],
    [['revoke', 'unknown'], 1, /\(approver_not_found\)/],
  ])('refused: %j', async (words, expected, message) => {
    const { code, err } = await (await givenDepot()).shell.run('approver', ...words)
    assert.equal(code, expected)
    assert.match(err, message)
  })
})

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { filesIn } from '../../../test/cli/given.ts'
import { administering, givenDesk, givenKey, givenShell, type Shell } from '../../../test/cli/harness.ts'
import { evidenceEvent } from '../../model/evidence.ts'
import { issuedKey } from '../../model/identity/key.ts'
import { principal } from '../../model/identity/principal.ts'
import { tenant } from '../../model/identity/tenant.ts'
import { identityDocument } from '../../model/wire/host.ts'

type Rows = readonly Readonly<Record<string, unknown>>[]

/** The rows of a list, as programs get them. */
const rowsOf = async (shell: Shell, group: string, name = `${group}s`): Promise<Rows> =>
  (await shell.good(group, 'list', '--json')).json<Record<string, Rows>>()[name] ?? []

const secretPattern = /ambit\.local\.(key_[0-9a-z]{26})\.[A-Za-z0-9_-]{43}/

describe('tenant [F-18 F-17]', () => {
  test('create and list, for people', async () => {
    const shell = givenShell()
    const made = await shell.good(
      'tenant',
      'create',
      'acme',
      '--name',
      'Acme',
      '--root',
      'a/b',
      '--root',
      'c',
      '--host',
      'h1',
    )
    assert.match(made.out, /^tenant `acme` made; it signs as `h1` with key [0-9a-f]{16}\n/)
    assert.match(made.out, /give this public key to those who verify evidence: [A-Za-z0-9+/]{43}=\n/)
    assert.match(made.out, /next: `ambit principal create <id> --tenant acme`/)
    const { out } = await shell.good('tenant', 'list')
    assert.match(out, /^TENANT +STATUS +HOST +ROOTS +CREATED\nacme +active +h1 +a\/b c +\d{4}-\d\d-\d\dT[\d:.]+Z\n$/)
    const [key] = secretPattern.exec(made.out.replaceAll('ambit.acme', 'ambit.local')) ?? []
    const acme = shell.with({ env: { AMBIT_KEY: key?.replace('ambit.local', 'ambit.acme') } })
    const more = await acme.good('tenant', 'create', 'local')
    assert.match(more.out, /next: `ambit principal create <id>`,/)
  })

  test('an option never swallows the argument behind it', async () => {
    const shell = await administering(givenShell(), '--root', 'a', 'local')
    const [made] = await rowsOf(shell, 'tenant')
    assert.deepEqual([made?.['tenant_id'], made?.['roots']], ['local', ['a']])
    await shell.good('principal', 'create', '--role', 'r', 'ida')
    await shell.good('key', 'create', '--scope', 's', 'ida')
  })

  test('create, list and the rest, for programs', async () => {
    const empty = givenShell()
    writeFileSync(join(empty.cwd, 'ambit.config.json'), '{"tenant":"acme"}')
    const { key_id, public_key, admin, ...made } = (await empty.good('tenant', 'create', 'acme', '--json')).json()
    assert.deepEqual(tenant.parse(made), made)
    const issued = issuedKey.parse(admin)
    assert.equal(issued.principal_id, 'admin')
    const shell = empty.with({ env: { AMBIT_KEY: issued.secret } })
    assert.deepEqual(await rowsOf(shell, 'tenant'), [made])
    const identity = identityDocument.parse((await shell.good('tenant', 'identity', 'acme', '--json')).json())
    assert.deepEqual([identity.key_id, identity.public_key], [key_id, public_key])
    const rotation = (await shell.good('tenant', 'rotate', 'acme', '--json')).json()
    assert.equal(rotation['old_key_id'], key_id)
    const after = identityDocument.parse((await shell.good('tenant', 'identity', 'acme')).json())
    assert.deepEqual(after.key_history, [rotation])
    assert.equal((await shell.good('tenant', 'revoke', 'acme', '--json')).json()['status'], 'suspended')
    assert.equal((await shell.good('tenant', 'resume', 'acme', '--json')).json()['status'], 'active')
  })

  test('rotate, revoke and resume, for people', async () => {
    const local = await administering(givenShell(), 'local')
    const shell = await administering(local, 'acme')
    const { out } = await shell.good('tenant', 'rotate', 'acme')
    assert.match(
      out,
      /^tenant `acme` now signs with [0-9a-f]{16}; [0-9a-f]{16} vouched for it and is gone\nnew public key: \S{44}\n$/,
    )
    assert.equal((await local.good('tenant', 'revoke', 'acme')).out, 'tenant `acme` is suspended\n')
    assert.match((await local.good('tenant', 'list')).out, /acme +suspended/)
    assert.match((await shell.run('tenant', 'resume', 'acme')).err, /\(tenant_mismatch\)/)
    assert.equal((await local.good('tenant', 'resume', 'acme')).out, 'tenant `acme` is active\n')
    assert.equal((await local.good('tenant', 'revoke', 'local')).out, 'tenant `local` is suspended\n')
    assert.match((await local.run('principal', 'list')).err, /\(unauthenticated\)/)
    assert.equal((await local.good('tenant', 'resume', 'local')).out, 'tenant `local` is active\n')
  })

  test('an empty list says what to do', async () => {
    const shell = givenShell()
    await shell.run('tenant', 'create', 'bad', '--root', 'a//b')
    assert.equal((await shell.good('tenant', 'list')).out, 'none yet: `ambit tenant create local` makes one\n')
    assert.deepEqual(await rowsOf(shell, 'tenant'), [])
  })
})

describe('principal [F-18 F-17]', () => {
  test('create, list, rotate and revoke, for people', async () => {
    const shell = await administering(givenShell(), 'local')
    const { out } = await shell.good('principal', 'create', 'bot', '--kind', 'agent', '--role', 'a', '--role', 'b')
    assert.equal(out, 'agent `bot` added to tenant `local`\n')
    assert.match(
      (await shell.good('principal', 'list')).out,
      /^PRINCIPAL +KIND .*\nadmin +user +active +admin +– .*\nbot +agent +active +a b +– +\d{4}/,
    )
    assert.match((await shell.good('principal', 'rotate', 'bot')).out, secretPattern)
    assert.equal((await shell.good('principal', 'revoke', 'bot')).out, '`bot` is revoked\n')
    assert.match((await shell.good('principal', 'list')).out, /bot +agent +revoked/)
  })

  test('permit and withdraw, for people and programs', async () => {
    const shell = await administering(givenShell(), 'local')
    await shell.good('principal', 'create', 'ida', '--permission', 'stock:read', '--permission', 'stock:count')
    const { out } = await shell.good('principal', 'permit', 'ida', 'stock:release')
    assert.equal(out, '`ida` has the permission `stock:release`\n')
    assert.match((await shell.good('principal', 'list')).out, /ida .* stock:read stock:count stock:release +\d{4}/)
    const withdrawn = await shell.good('principal', 'withdraw', 'ida', 'stock:read')
    assert.equal(withdrawn.out, '`ida` no longer has the permission `stock:read`\n')
    const changed = (await shell.good('principal', 'withdraw', 'ida', 'stock:count', '--json')).json()
    assert.deepEqual(principal.parse(changed), changed)
    assert.deepEqual(changed['revoked_permissions'], ['stock:read', 'stock:count'])
    const again = (await shell.good('principal', 'permit', 'ida', 'stock:read', '--json')).json()
    assert.deepEqual(again['permissions'], ['stock:release', 'stock:read'])
  })

  test('and for programs', async () => {
    const shell = await administering(givenShell(), 'local')
    const made = (await shell.good('principal', 'create', 'ida', '--display', 'Ida B.', '--json')).json()
    assert.deepEqual(principal.parse(made), made)
    assert.deepEqual([made['kind'], made['display']], ['user', 'Ida B.'])
    assert.deepEqual((await rowsOf(shell, 'principal')).at(-1), made)
    const issued = issuedKey.parse((await shell.good('principal', 'rotate', 'ida', '--json')).json())
    assert.equal(issued.principal_id, 'ida')
    assert.equal((await shell.good('principal', 'revoke', 'ida', '--json')).json()['status'], 'revoked')
  })
})

describe('key [F-18 F-17 F-11]', () => {
  test('create shows it once; list never does', async () => {
    const shell = await givenDesk()
    const { out } = await shell.good('key', 'create', 'ida', '--name', 'laptop', '--scope', 'a.*', '--expires', '90d')
    const [secret = '', id = ''] = secretPattern.exec(out) ?? []
    assert.match(out, /^key key_[0-9a-z]+ for `ida`, shown this once:\n\n {2}ambit\./)
    const listed = [await shell.good('key', 'list'), await shell.good('key', 'list', '--json')]
    assert.match(listed[0]?.out ?? '', new RegExp(`^KEY .*\n.* admin .*\n${id} +ida +laptop +a\\.\\* +\\d{4}`))
    for (const { out } of listed) assert(!out.includes(secret) && !out.includes('secret') && !out.includes('hash'))
    for (const [path, bytes] of filesIn(shell.cwd)) assert(!bytes.includes(secret.slice(-43)), path)
  })

  test('rotate and revoke, for people and for programs', async () => {
    const shell = await givenDesk()
    const { key_id } = await givenKey(shell, 'ida')
    const rotated = await shell.good('key', 'rotate', key_id, '--grace', '1h')
    const [, next = ''] = secretPattern.exec(rotated.out) ?? []
    const [, old, current] = await rowsOf(shell, 'key')
    assert.deepEqual([old?.['replaced_by'], current?.['key_id'], old?.['revoked_at']], [next, next, null])
    const again = issuedKey.parse((await shell.good('key', 'rotate', next, '--json')).json())
    assert.equal((await shell.good('key', 'revoke', again.key_id)).out, `key ${again.key_id} is revoked\n`)
    assert.deepEqual((await shell.good('key', 'revoke', again.key_id, '--json')).json(), {
      key_id: again.key_id,
      revoked: true,
    })
    assert.match((await shell.good('key', 'list')).out, new RegExp(`${again.key_id} +ida +ida +all +revoked \\d{4}`))
  })

  test('a key given in place of its id is not repeated', async () => {
    const shell = await givenDesk()
    const { secret } = await givenKey(shell, 'ida')
    for (const verb of ['rotate', 'revoke'])
      for (const json of [[], ['--json']]) {
        const ran = await shell.run('key', verb, secret, ...json)
        assert.equal(ran.code, 2)
        assert(!`${ran.out}${ran.err}`.includes(secret.slice(-43)))
        assert.match(`${ran.out}${ran.err}`, /`key-id` must be `key_` with/)
      }
  })
})

describe('secret [F-11 F-18]', () => {
  const piped = (shell: Shell, text: string | undefined, more = {}) => shell.with({ stdin: async () => text, ...more })

  test('set from a pipe, listed by name, removed; its value is never shown', async () => {
    const shell = await givenDesk()
    const value = 'correct horse battery'
    const said = [
      await piped(shell, `${value}\n`).good('secret', 'set', 'mail'),
      await piped(shell, value).good('secret', 'set', 'api.key', '--json'),
      await shell.good('secret', 'list'),
      await shell.good('secret', 'list', '--json'),
    ]
    assert.equal(said[0]?.out, 'kept; use it as `secret:mail`\n')
    assert.deepEqual(said[1]?.json(), { name: 'api.key', handle: 'secret:api.key' })
    assert.match(said[2]?.out ?? '', /^SECRET +SET\nsecret:api\.key +\d{4}.*\nsecret:mail +\d{4}/)
    assert.deepEqual(
      said[3]?.json<{ secrets: Rows }>().secrets.map((row) => [row.name, Object.keys(row)]),
      ['api.key', 'mail'].map((name) => [name, ['name', 'created_at']]),
    )
    for (const { out, err } of said) assert(!`${out}${err}`.includes(value))
    for (const [path, bytes] of filesIn(shell.cwd)) assert(!bytes.includes(value), path)
    assert.equal((await shell.good('secret', 'remove', 'mail')).out, '`secret:mail` is gone\n')
    assert.deepEqual((await shell.good('secret', 'remove', 'api.key', '--json')).json(), {
      name: 'api.key',
      removed: true,
    })
    assert.equal((await shell.good('secret', 'list')).out, 'none yet: `ambit secret set` keeps one\n')
  })

  test('at a terminal it is asked for, unseen; no answer is a refusal', async () => {
    const shell = await givenDesk()
    const asked: string[] = []
    const answering = (answer: string | undefined) =>
      piped(shell, undefined, {
        askHidden: async (question: string) => {
          asked.push(question)
          return answer
        },
      })
    assert(!(await answering('s3cret').good('secret', 'set', 'mail')).out.includes('s3cret'))
    assert.deepEqual(asked, ['value of mail'])
    for (const answer of [undefined, ''])
      assert.match((await answering(answer).run('secret', 'set', 'other')).err, /no value was given .*\n {2}pipe it in/)
  })

  test('on the command line it is refused, and not repeated', async () => {
    const shell = await givenDesk()
    for (const json of [[], ['--json']]) {
      const { code, out, err } = await shell.run('secret', 'set', 'mail', 'hunter2', ...json)
      assert.equal(code, 2)
      assert.match(`${out}${err}`, /a secret on the command line can be seen by others/)
      assert(!`${out}${err}`.includes('hunter2'))
    }
    const others = [
      ['mail', '--value', 'hunter2'],
      ['mail', '--value=hunter2'],
      ['--value=hunter2'],
      ['-vhunter2', 'mail'],
    ]
    for (const words of others) {
      const { code, out, err } = await shell.run('secret', 'set', ...words)
      assert.equal(code, 2)
      assert.match(err, /a secret on the command line can be seen by others/)
      assert(!`${out}${err}`.includes('hunter2'), words.join(' '))
    }
    assert.deepEqual(await rowsOf(shell, 'secret'), [])
  })
})

describe('AMBIT_KEY acts as its principal, in its tenant alone [F-17 H-73]', () => {
  async function twoTenants() {
    const shell = await givenDesk()
    const eve = await administering(shell, 'other')
    await shell.good('principal', 'create', 'ada', '--role', 'admin')
    const ada = await givenKey(shell, 'ada')
    const as = (AMBIT_KEY: string) => shell.with({ env: { AMBIT_KEY } })
    return { shell, ada: as(ada.secret), eve, as, keyOfAda: ada.key_id }
  }

  test('what it does is in its name', async () => {
    const { ada, shell } = await twoTenants()
    await ada.good('principal', 'create', 'kim')
    const { events } = (await shell.good('evidence', 'list', '--limit', '1', '--json')).json<{ events: unknown[] }>()
    assert.partialDeepStrictEqual(evidenceEvent.parse(events[0]), {
      event_type: 'ambit.principal.created',
      subject: { id: 'ada', type: 'api_key', verified: true, tenant: 'local', roles: ['admin'] },
    })
  })

  test('without the role it changes nothing and reads nothing of others; a scoped key never does', async () => {
    const { shell, as } = await twoTenants()
    await shell.good('principal', 'create', 'kai', '--role', 'auditor')
    const plain = as((await givenKey(shell, 'ida')).secret)
    const auditor = as((await givenKey(shell, 'kai')).secret)
    const scoped = as((await givenKey(shell, 'ada', '--scope', 'depot.*')).secret)
    const changes = ['principal create kim', 'key create ida', 'secret remove mail', 'tenant rotate local']
    const reads = ['principal list', 'key list', 'evidence list']
    const refused = async (who: Shell, lines: readonly string[]) => {
      for (const words of lines)
        assert.match((await who.run(...words.split(' '))).err, /\(caller_not_permitted\)/, words)
    }
    await refused(plain, [...changes, ...reads])
    await refused(scoped, [...changes, ...reads])
    await refused(auditor, changes)
    for (const words of reads) await auditor.good(...words.split(' '))
    // A caller who may not audit exports only tasks wholly their own, and does not learn of any other.
    const exported = ['evidence', 'export', 'ambit-admin-local']
    for (const who of [plain, scoped]) assert.match((await who.run(...exported)).err, /\(correlation_not_found\)/)
    await auditor.good(...exported)
  })

  test('its own tenant may be named, the tenant of the configuration does not matter', async () => {
    const { ada, eve } = await twoTenants()
    await ada.good('evidence', 'list', '--tenant', 'local')
    assert.match((await eve.good('principal', 'list')).out, /\nadmin /)
    assert.match((await eve.good('evidence', 'export', 'ambit-admin-other')).out, /"host_id": "other"/)
  })

  test('of another tenant it neither lists, shows, exports nor changes anything, and does not learn whether it exists', async () => {
    const { eve, shell } = await twoTenants()
    const { events } = (await shell.good('evidence', 'list', '--json')).json<{ events: { event_id: string }[] }>()
    const id = events[0]?.event_id ?? ''
    const refused = async (expected: string, ...words: readonly string[]) => {
      const ran = await eve.run(...words)
      assert.deepEqual([ran.code, ran.out], [1, ''], words.join(' '))
      assert(ran.err.includes(`(${expected})`), ran.err)
      return ran.err
    }
    for (const words of [
      ['evidence', 'list'],
      ['evidence', 'list', '--correlation', 'ambit-admin-local', '--csv'],
      ['evidence', 'show', id],
      ['evidence', 'export', 'ambit-admin-local'],
      ['principal', 'list'],
      ['principal', 'create', 'spy'],
      ['principal', 'revoke', 'ida'],
      ['key', 'list'],
      ['key', 'create', 'ida'],
      ['secret', 'list'],
      ['secret', 'set', 'mail'],
    ]) {
      const there = await refused('tenant_mismatch', ...words, '--tenant', 'local')
      const nowhere = await refused('tenant_mismatch', ...words, '--tenant', 'nowhere')
      assert.equal(there.replaceAll('local', 'x'), nowhere.replaceAll('nowhere', 'x'))
    }
    for (const verb of ['identity', 'rotate', 'revoke', 'resume'])
      await refused('tenant_mismatch', 'tenant', verb, 'local')
    await refused('event_not_found', 'evidence', 'show', id)
    await refused('correlation_not_found', 'evidence', 'export', 'ambit-admin-local')
    assert(!(await eve.good('evidence', 'list')).out.includes('local'))
  })

  test('what is about the whole store is for administrators of the configured tenant', async () => {
    const { ada, eve, shell } = await twoTenants()
    for (const line of ['tenant create mine', 'tenant list', 'store backup b', 'store accept-loss local']) {
      const { code, err } = await eve.run(...line.split(' '))
      assert.equal(code, 1, line)
      assert.match(err, /\(tenant_mismatch\)\n {2}use a key of tenant `local`/, line)
    }
    assert(!(await shell.good('tenant', 'list')).out.includes('mine'))
    await ada.good('tenant', 'create', 'mine')
    assert((await ada.good('tenant', 'list')).out.includes('mine'))
  })

  test('a key that is not good is refused in the same words, whatever is wrong with it', async () => {
    const { ada, as, shell, keyOfAda } = await twoTenants()
    const said = async (other: Shell) => {
      const { code, err } = await other.run('evidence', 'list')
      assert.equal(code, 1)
      return err
    }
    const words = [await said(as('nonsense')), await said(as(`ambit.local.${keyOfAda}.${'A'.repeat(43)}`))]
    await shell.good('key', 'revoke', keyOfAda)
    words.push(await said(ada))
    assert.deepEqual(new Set(words).size, 1)
    assert.match(words[0] ?? '', /^error: the key is not accepted \(unauthenticated\)\n/)
  })

  test('an empty one is none', async () => {
    const { as } = await twoTenants()
    await as('').good('tenant', 'list')
  })
})

import assert from 'node:assert/strict'
import { appendFileSync, chmodSync, cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { givenDesk, type Shell } from '../../../test/cli/harness.ts'
import type { BundleReport } from '../../evidence/verify/verify.ts'
import { withhold } from '../../evidence/withhold.ts'
import type { EvidenceBundle } from '../../model/evidence.ts'

interface Exported {
  readonly shell: Shell
  readonly bundle: EvidenceBundle
  /** Writes a file into the shell's folder. */
  readonly put: (name: string, content: unknown) => void
}

async function givenExport(): Promise<Exported> {
  const shell = await givenDesk()
  await shell.good('evidence', 'export', 'ambit-admin-local', '--out', 'b.json')
  const put = (name: string, content: unknown) =>
    writeFileSync(join(shell.cwd, name), typeof content === 'string' ? content : JSON.stringify(content))
  return { shell, put, bundle: JSON.parse(readFileSync(join(shell.cwd, 'b.json'), 'utf8')) }
}

const report = async (shell: Shell, ...words: readonly string[]): Promise<BundleReport> =>
  (await shell.run('verify', ...words, '--json')).json<BundleReport>()

describe('verify proves a good bundle [F-18 H-85]', () => {
  test('for people: verdict, checks, what it covers, whose key, and the story', async () => {
    const { shell } = await givenExport()
    const { out } = await shell.good('verify', 'b.json')
    assert.match(out, /^GOOD {2}4 records of `ambit-admin-local`, host `local`\n/)
    assert.match(out, /✓ signature .*\n/)
    assert.match(out, /· pin +nothing to check\n/)
    assert.match(out, /covered by the hashes\.\n/)
    assert.match(out, /Give the key you expect with --pin/)
    assert.match(out, / 2 {2}\S+Z {2}ambit\.tenant\.created +operator {2}ambit\.runtime {2}success\n/)
  })

  test('what is no bundle is said to be none, in one line; what was changed is never called covered', async () => {
    const { shell, put, bundle } = await givenExport()
    put('rules.json', { name: 'rules', version: '1' })
    const { code, out } = await shell.run('verify', 'rules.json')
    assert.equal(code, 1)
    assert.match(out, /^NOT GOOD {2}this is not a bundle: .* \(shape, at \/\w+\)\n$/)
    put('changed.json', { ...bundle, root_hash: '0'.repeat(64) })
    const changed = await shell.run('verify', 'changed.json')
    assert.match(changed.out, /^NOT GOOD (?:.*\n)*? {2}It is not proven: read the story with care\.\n/)
    assert.doesNotMatch(changed.out, /NOT covered/)
  })

  test('for programs: the whole report', async () => {
    const { shell } = await givenExport()
    const { code } = await shell.run('verify', 'b.json', '--json')
    const { valid, first, events, tier, story } = await report(shell, 'b.json')
    assert.deepEqual(
      { code, valid, first, events, tier, lines: story.length },
      {
        code: 0,
        valid: true,
        first: null,
        events: 4,
        tier: 'signed',
        lines: 4,
      },
    )
  })

  test('from the pin, wherever the pin stands on the line', async () => {
    const { shell, bundle } = await givenExport()
    const pin = bundle.public_key ?? ''
    assert.match((await shell.good('verify', 'b.json', '--pin', pin)).out, /a key you trust\.\n/)
    assert.match((await shell.good('verify', '--pin', pin, 'b.json')).out, /a key you trust\.\n/)
    await shell.good('verify', '--pin', `${'A'.repeat(43)}=`, '--pin', pin, 'b.json')
    const other = await shell.run('verify', 'b.json', '--pin', `${'A'.repeat(43)}=`)
    assert.equal(other.code, 1)
    assert.match(other.out, /^NOT GOOD {2}no pin leads to the key of the bundle \(pin, at \/public_key\)\n/)
  })

  test('over a rotation, with the identity document', async () => {
    const { shell, bundle } = await givenExport()
    const pin = bundle.public_key ?? ''
    await shell.good('tenant', 'rotate', 'local')
    await shell.good('evidence', 'export', 'ambit-admin-local', '--out', 'later.json')
    const { out } = await shell.good('tenant', 'identity', 'local')
    writeFileSync(join(shell.cwd, 'identity.json'), out)
    assert.equal((await shell.run('verify', 'later.json', '--pin', pin)).code, 1)
    for (const file of ['b.json', 'later.json'])
      await shell.good('verify', file, '--pin', pin, '--identity', 'identity.json')
    // A document without a history leads nowhere; what is no such document could not be looked at.
    writeFileSync(join(shell.cwd, 'none.json'), '{"assurance": "signed"}')
    assert.equal((await shell.run('verify', 'later.json', '--pin', pin, '--identity', 'none.json')).code, 1)
    writeFileSync(join(shell.cwd, 'none.json'), '[]')
    assert.equal((await shell.run('verify', 'later.json', '--pin', pin, '--identity', 'none.json')).code, 2)
  })

  test('not by a key that was replaced before, though it may vouch for what is older [H-84]', async () => {
    const { shell, bundle } = await givenExport()
    const thief = shell.with({ cwd: `${shell.cwd}/copy` })
    cpSync(join(shell.cwd, '.ambit'), join(thief.cwd, '.ambit'), { recursive: true })
    for (const folder of ['keys', 'heads']) chmodSync(join(thief.cwd, '.ambit', folder), 0o700)
    await shell.good('tenant', 'rotate', 'local')
    writeFileSync(join(thief.cwd, 'identity.json'), (await shell.good('tenant', 'identity', 'local')).out)
    await thief.good('evidence', 'export', 'ambit-admin-local', '--out', 'late.json')
    for (const trust of [[], ['--pin', bundle.public_key ?? '']]) {
      const { out, code } = await thief.run('verify', 'late.json', '--identity', 'identity.json', ...trust)
      assert.equal(code, 1)
      assert.match(
        out,
        /^NOT GOOD {2}key \w{16} was replaced at \S+Z, before the bundle was made \(window, at \/created_at\)\n/,
      )
      await thief.good('verify', '../b.json', '--identity', 'identity.json', ...trust)
    }
  })

  test('not by a key that was revoked, pinned or not [H-84]', async () => {
    const { shell, bundle } = await givenExport()
    const pin = bundle.public_key ?? ''
    await shell.good('tenant', 'rotate', 'local', '--revoke-old')
    await shell.good('evidence', 'export', 'host-identity-local', '--out', 'later.json')
    writeFileSync(join(shell.cwd, 'identity.json'), (await shell.good('tenant', 'identity', 'local')).out)
    for (const trust of [[], ['--pin', pin]]) {
      const { out, code } = await shell.run('verify', 'b.json', '--identity', 'identity.json', ...trust)
      assert.equal(code, 1)
      assert.match(out, /^NOT GOOD {2}the key of the bundle was revoked/)
      await shell.good('verify', 'later.json', '--identity', 'identity.json', ...trust)
    }
    const { out } = await shell.good('evidence', 'list', '--type', 'key_revoked')
    assert.match(out, / admin +key_revoked /)
  })

  test('from a pin for one host, which counts for no other', async () => {
    const { shell, bundle } = await givenExport()
    const pin = bundle.public_key ?? ''
    const good = await shell.good('verify', 'b.json', '--pin', `local=${pin}`)
    assert(good.out.includes(`Signed by host \`local\` with key ${bundle.signature?.key_id}, a key you trust.\n`))
    const other = await shell.run('verify', 'b.json', '--pin', `bank=${pin}`)
    assert.equal(other.code, 1)
    assert.match(other.out, /^NOT GOOD {2}no pin leads to the key of the bundle/)
    for (const text of [`=${pin}`, `bank:${pin}`, `bank=${pin.slice(1)}`, 'bank='])
      assert.equal((await shell.run('verify', 'b.json', '--pin', text)).code, 2, text)
  })

  test('against a head: the file of them, one alone, or one behind a torn line', async () => {
    const { shell, put } = await givenExport()
    const heads = readFileSync(join(shell.cwd, '.ambit/heads/local.jsonl'), 'utf8')
    put('torn.jsonl', `${heads}{"kind":"amb`)
    put('one.json', JSON.stringify(JSON.parse(heads.split('\n')[0] ?? ''), null, 2))
    for (const file of ['.ambit/heads/local.jsonl', 'torn.jsonl', 'one.json'])
      assert.match((await shell.good('verify', 'b.json', '--head', file)).out, /✓ checkpoint /)
    put('head.json', { ...JSON.parse(heads.split('\n')[0] ?? ''), log_size: 1 })
    const bad = await report(shell, 'b.json', '--head', 'head.json')
    assert.deepEqual([bad.valid, bad.first?.check], [false, 'checkpoint'])
  })

  test('against a file of heads: a torn last line says nothing, also after the host went on behind it', async () => {
    const { shell } = await givenExport()
    const file = '.ambit/heads/local.jsonl'
    for (const more of ['kim', 'lou']) {
      appendFileSync(join(shell.cwd, file), '{"kind":"amb')
      assert.match((await shell.good('verify', 'b.json', '--head', file)).out, /✓ checkpoint /)
      await shell.good('principal', 'create', more)
      assert.match((await shell.good('verify', 'b.json', '--head', file)).out, /✓ checkpoint /)
    }
  })

  test('against a file of heads: with a broken line, or without a head, it could not be looked at', async () => {
    const { shell, put } = await givenExport()
    const heads = readFileSync(join(shell.cwd, '.ambit/heads/local.jsonl'), 'utf8')
    for (const broken of [heads.replace('"kind"', '"kind'), `{"kind":"amb\n${heads}`, `${heads}{"kind":"amb\n`]) {
      put('rot.jsonl', broken)
      const { code, err } = await shell.run('verify', 'b.json', '--head', 'rot.jsonl')
      assert.equal(code, 2, broken)
      assert.match(err, /`rot\.jsonl`: line \d is no head.*\n.*get the file again/s)
    }
    put('blank.jsonl', `\n${heads}\n`)
    assert.match((await shell.good('verify', 'b.json', '--head', 'blank.jsonl')).out, /✓ checkpoint /)
    for (const content of ['{"kind":"amb', 'hello\nhello', '']) {
      put('bad.jsonl', content)
      const { code, err } = await shell.run('verify', 'b.json', '--head', 'bad.jsonl')
      assert.equal(code, 2, content)
      assert.match(err, /`bad\.jsonl`/)
    }
    put('other.jsonl', `${heads}{"kind":"other"}\n${heads}`)
    assert.equal((await report(shell, 'b.json', '--head', 'other.jsonl')).first?.check, 'checkpoint')
  })

  test('a head from after the export proves nothing, and is not said to', async () => {
    const { shell, put } = await givenExport()
    await shell.good('principal', 'create', 'kim')
    const heads = readFileSync(join(shell.cwd, '.ambit/heads/local.jsonl'), 'utf8').trimEnd().split('\n')
    put('late.jsonl', `${heads.at(-1)}\n`)
    const { out } = await shell.good('verify', 'b.json', '--head', 'late.jsonl')
    assert.match(out, /· checkpoint +no head from before this export was given\n/)
  })

  test('a head signed later than an export from a store that was cut', async () => {
    const { shell } = await givenExport()
    await shell.good('store', 'backup', 'early')
    await shell.good('principal', 'create', 'kim')
    const config = { dataDir: 'cut', keys: { dir: '.ambit/keys' } }
    writeFileSync(join(shell.cwd, 'cut.json'), JSON.stringify(config))
    await shell.good('store', 'restore', 'early', '--config', 'cut.json')
    await shell.good('evidence', 'export', 'ambit-admin-local', '--config', 'cut.json', '--out', 'cut-export.json')
    await shell.good('verify', 'cut-export.json')
    const heads = readFileSync(join(shell.cwd, '.ambit/heads/local.jsonl'), 'utf8')
    // What the cut store signed itself, at the end of the file, does not hide what stands before.
    writeFileSync(join(shell.cwd, 'both.jsonl'), heads + readFileSync(join(shell.cwd, 'cut/heads/local.jsonl'), 'utf8'))
    for (const file of ['.ambit/heads/local.jsonl', 'both.jsonl']) {
      const { code, out } = await shell.run('verify', 'cut-export.json', '--head', file)
      assert.equal(code, 1)
      assert.match(out, /^NOT GOOD {2}the host had counted 6 events before this export/)
    }
    // A broken line could be the one that proves the cut.
    writeFileSync(join(shell.cwd, 'rot.jsonl'), heads.replace(/"kind"(?=.*\n$)/, '"kind'))
    assert.equal((await shell.run('verify', 'cut-export.json', '--head', 'rot.jsonl')).code, 2)
  })

  test('a bundle without a signature only where that is asked for', async () => {
    const { shell, bundle, put } = await givenExport()
    const { signature: _, public_key: __, host_identity: ___, ...rest } = bundle
    put('plain.json', { ...rest, assurance: 'hash-chain' })
    assert.match((await shell.run('verify', 'plain.json')).out, /^NOT GOOD {2}the bundle is not signed/)
    assert.match((await shell.good('verify', 'plain.json', '--tier', 'hash-chain')).out, /\n {2}Not signed: /)
  })
})

describe('verify finds what was done to a bundle [F-09 F-18 H-85]', () => {
  const edit = (bundle: EvidenceBundle, index: number, change: object): unknown => ({
    ...bundle,
    events: bundle.events.map((event, at) => (at === index ? { ...event, ...change } : event)),
  })

  test.each<[string, (bundle: EvidenceBundle) => unknown, string, string]>([
    ['another subject', (bundle) => edit(bundle, 1, { subject: { id: 'eve' } }), 'coverage', '/events/1/subject'],
    ['another time', (bundle) => edit(bundle, 0, { timestamp: '2020-01-01T00:00:00.000Z' }), 'hashes', '/events/0'],
    ['another payload', (bundle) => edit(bundle, 1, { payload: {} }), 'commitments', '/events/1'],
    ['another outcome', (bundle) => edit(bundle, 0, { outcome: 'failure' }), 'hashes', '/events/0'],
    ['a record left out', (bundle) => ({ ...bundle, events: bundle.events.slice(1) }), 'chain', '/events/0'],
    ['the order', (bundle) => ({ ...bundle, events: bundle.events.toReversed() }), 'chain', '/events/0'],
    ['another host', (bundle) => ({ ...bundle, host_id: 'other' }), 'chain', '/events/0'],
    ['another root', (bundle) => ({ ...bundle, root_hash: '0'.repeat(64) }), 'root', '/root_hash'],
    ['a later export', (bundle) => ({ ...bundle, created_at: '2099-01-01T00:00:00.000Z' }), 'signature', '/signature'],
    ['a member more', (bundle) => ({ ...bundle, approved: true }), 'shape', ''],
    ['no bundle', () => ({}), 'shape', ''],
    ['nothing', () => null, 'shape', ''],
  ])('%s', async (_, forge, check, at) => {
    const { shell, bundle, put } = await givenExport()
    put('forged.json', forge(bundle))
    const { code, out } = await shell.run('verify', 'forged.json')
    assert.equal(code, 1)
    assert.match(out, /^NOT GOOD {2}/)
    const { valid, covered, checks } = await report(shell, 'forged.json')
    assert.deepEqual([valid, covered], [false, 'no'])
    const failed = checks.filter(({ verdict }) => verdict === 'fail')
    assert(
      failed.some((found) => found.name === check && found.at?.startsWith(at)),
      JSON.stringify(failed),
    )
  })

  test('not even JSON, or JSON that two readers would read differently', async () => {
    const { shell, bundle, put } = await givenExport()
    const text = JSON.stringify(bundle)
    for (const [content, message] of [
      ['hello', /line 1, column 1/],
      ['', /./],
      [text.slice(0, -1), /./],
      [text.replace('{"host_id"', '{"host_id":"other","host_id"'), /occurs twice at line 1/],
      [`\ufeff${text}`, /./],
      [text.replace('"sequence":2', '"sequence":99999999999999999999'), /./],
    ] as const) {
      put('bad.json', content)
      const { first } = await report(shell, 'bad.json')
      assert.equal(first?.check, 'shape')
      assert.match(first?.message ?? '', message)
      assert.equal((await shell.run('verify', 'bad.json')).code, 1)
    }
  })

  test('what a bundle says cannot paint over the verdict', async () => {
    const { shell, bundle, put } = await givenExport()
    const nasty = '\u001b[2J\u001b[HGOOD\u202e\r'
    put('nasty.json', edit(bundle, 1, { subject: { id: nasty }, denial: { code: nasty } }))
    const { out, code } = await shell.run('verify', 'nasty.json')
    assert.equal(code, 1)
    for (const char of ['\u001b', '\u202e', '\r']) assert(!out.includes(char))
    assert.match(out, /\\u\{1b\}\[2J/)
  })

  test('a payload withheld does not let anyone be renamed, and its line is marked', async () => {
    const { shell, bundle, put } = await givenExport()
    const renamed = { payload: { chp_withheld: true }, subject: { id: 'eve' } }
    put('renamed.json', edit(bundle, 1, renamed))
    const bad = await shell.run('verify', 'renamed.json')
    assert.equal(bad.code, 1)
    assert.match(bad.out, /^NOT GOOD {2}`\w+` of a withheld event/)
    assert(!bad.out.includes('eve '))
    put(
      'hidden.json',
      withhold(bundle, ({ sequence }) => sequence === bundle.events[1]?.sequence),
    )
    const { out } = await shell.good('verify', 'hidden.json')
    assert.match(out, /· coverage +checked for 3 of 4 events/)
    assert.match(out, /\n {5}– {2}\S+Z {2}ambit\.\S+ +– {2}ambit\.runtime {2}success {2}\(not covered\)\n/)
  })

  test('the place in the story is marked', async () => {
    const { shell, bundle, put } = await givenExport()
    put('forged.json', edit(bundle, 1, { outcome: 'failure' }))
    assert.match((await shell.run('verify', 'forged.json')).out, /\n {5}3 .* ← here\n/)
  })
})

import assert from 'node:assert/strict'
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { givenAmbit, givenTenant } from '../../../test/cli/given.ts'
import { givenDesk, givenShell, type Shell } from '../../../test/cli/harness.ts'
import { verifyBundle } from '../../evidence/verify/verify.ts'
import type { EvidenceBundle, EvidenceEvent } from '../../model/evidence.ts'
import { tenantId } from '../../model/identity/tenant-id.ts'
import { type EventInput, record } from '../../runtime/evidence/record.ts'
import { operator } from '../../runtime/identity/caller.ts'

interface Listed {
  readonly events: readonly EvidenceEvent[]
  readonly next?: string
}

/** A shell whose tenant has two events of its making, and these. */
async function givenRecords(...events: readonly Partial<EventInput>[]): Promise<Shell> {
  const shell = givenShell()
  const ambit = await givenAmbit({ folder: shell.cwd })
  await givenTenant(ambit, { id: 'local' })
  const rest = { event_type: 'noted', payload: {}, correlation: { correlation_id: 'c' } }
  for (const event of events) await record(ambit, operator(tenantId('local')), [{ ...rest, ...event }])
  await ambit.close()
  return shell
}

const sequences = async (shell: Shell, ...words: readonly string[]) =>
  (await shell.good('evidence', 'list', ...words, '--json')).json<Listed>().events.map((event) => event.sequence)

describe('evidence list [F-18 F-09]', () => {
  test('a line fits the terminal where its width is known, and what it lacks is said beside it', async () => {
    const shell = await givenDesk()
    for (const [width, lacks] of [
      [140, 'CORRELATION'],
      [80, 'CAPABILITY, CORRELATION, EVENT'],
      [10, 'SEQ, CAPABILITY, CORRELATION, EVENT'],
    ] as const) {
      const { out, err } = await shell.with({ width }).run('evidence', 'list')
      assert.equal(err, `too narrow for ${lacks}: --json shows all\n`)
      if (width > 10) for (const line of out.split('\n')) assert(line.length <= width, line)
    }
    assert.match((await shell.with({ width: 400 }).good('evidence', 'list')).out, /CORRELATION +EVENT\n/)
  })

  test('newest first, each filter by itself and together', async () => {
    const shell = await givenRecords(
      { capability_id: 'depot.read', outcome: 'success' },
      { capability_id: 'depot.read', outcome: 'denied', correlation: { correlation_id: 'd' } },
      { event_type: 'other' },
    )
    assert.deepEqual(await sequences(shell), [5, 4, 3, 2, 1])
    assert.deepEqual(await sequences(shell, '--capability', 'depot.read'), [4, 3])
    assert.deepEqual(await sequences(shell, '--outcome', 'denied'), [4])
    assert.deepEqual(await sequences(shell, '--correlation', 'c'), [5, 3])
    assert.deepEqual(await sequences(shell, '--type', 'other'), [5])
    assert.deepEqual(await sequences(shell, '--subject', 'operator', '--outcome', 'success'), [3, 2, 1])
    assert.deepEqual(await sequences(shell, '--subject', 'unknown'), [])
    assert.deepEqual(await sequences(shell, '--since', '1h', '--capability', 'depot.read', '--correlation', 'd'), [4])
    assert.deepEqual(await sequences(shell, '--until', '1h'), [])
    assert.deepEqual(
      await sequences(shell, '--since', '2020-01-01T00:00:00Z', '--until', '2020-01-02T00:00:00+02:00'),
      [],
    )
  })

  test('page by page', async () => {
    const shell = await givenRecords({}, {}, {})
    const seen: number[] = []
    for (let cursor: string[] = []; ; ) {
      const { events, next } = (
        await shell.good('evidence', 'list', '--limit', '2', ...cursor, '--json')
      ).json<Listed>()
      seen.push(...events.map((event) => event.sequence))
      if (next === undefined) break
      cursor = ['--cursor', next]
    }
    assert.deepEqual(seen, [5, 4, 3, 2, 1])
    const { out, err } = await shell.run('evidence', 'list', '--limit', '2')
    assert.equal(out.split('\n').length, 4)
    assert.match(err, /^more: --cursor \S+\n$/)
  })

  test('a table for people, in which a record cannot draw', async () => {
    const shell = await givenRecords({ correlation: { correlation_id: 'a\u202eb' } })
    const { out } = await shell.good('evidence', 'list')
    assert.match(out, /^SEQ +TIME +WHO +WHAT +CAPABILITY +OUTCOME +CORRELATION +EVENT\n3 /)
    assert.match(out, /a\\u\{202e\}b/)
    assert.equal((await shell.good('evidence', 'list', '--type', 'nothing')).out, 'none\n')
  })

  test('JSON for programs, in which a record cannot draw either, and which still verifies', async () => {
    const id = 'a\u202eb\u2066'
    const shell = await givenRecords({ correlation: { correlation_id: id } })
    for (const words of [
      ['list', '--json'],
      ['export', id],
    ])
      assert.match((await shell.good('evidence', ...words)).out, /^(?!.*[\u202e\u2066]).*a\\u202eb\\u2066/s)
    await shell.good('evidence', 'export', id, '--out', 'b.json')
    assert.match((await shell.good('verify', 'b.json')).out, /GOOD/)
  })

  test('CSV, in which no cell is a formula', async () => {
    const shell = await givenRecords(
      ...['=1+1', '+1', '-1', '@x', '\u00e4,"q"', 'plain'].map((correlation_id) => ({
        correlation: { correlation_id },
      })),
    )
    const { out } = await shell.good('evidence', 'list', '--csv', '--type', 'noted')
    const lines = out.split('\r\n')
    assert.equal(
      lines[0],
      'sequence,timestamp,subject,event_type,capability_id,outcome,correlation_id,invocation_id,event_id,content_hash,rule,denial_code,approver',
    )
    assert.equal(lines.length, 8)
    assert.equal(lines[7], '')
    for (const cell of [",'=1+1,", ",'+1,", ",'-1,", ",'@x,", ',"\u00e4,""q""",', ',plain,'])
      assert(out.includes(cell), cell)
    assert.doesNotMatch(out, /(^|,)"?[=+@-]/m)
    const paged = await shell.run('evidence', 'list', '--csv', '--limit', '2')
    assert.equal(paged.out.split('\r\n').length, 4)
    assert.match(paged.err, /^more: --cursor /)
  })
})

describe('evidence show and export [F-18 F-09 H-83]', () => {
  test('one record, whole', async () => {
    const shell = await givenRecords({ payload: { note: 'hello' } })
    const { events } = (await shell.good('evidence', 'list', '--correlation', 'c', '--json')).json<Listed>()
    const [listed] = events
    assert(listed !== undefined)
    assert.deepEqual((await shell.good('evidence', 'show', listed.event_id)).json(), listed)
    assert.deepEqual((await shell.good('evidence', 'show', listed.event_id, '--json')).json(), listed)
  })

  test('a bundle on standard output, or in a file that is named', async () => {
    const shell = await givenRecords({}, {})
    const printed = (await shell.good('evidence', 'export', 'c')).json<EvidenceBundle>()
    assert(verifyBundle(printed).valid)
    const { out } = await shell.good('evidence', 'export', 'c', '--out', 'b.json')
    assert.equal(out, 'wrote 2 records to b.json; check it anywhere: ambit verify b.json\n')
    const written = JSON.parse(readFileSync(join(shell.cwd, 'b.json'), 'utf8')) as EvidenceBundle
    assert.deepEqual(written.events, printed.events)
    const absolute = join(shell.cwd, 'c.json')
    const told = (await shell.good('evidence', 'export', 'c', '--out', absolute, '--json')).json()
    assert.deepEqual(told, { file: absolute, events: 2, root_hash: printed.root_hash })
    await shell.good('verify', 'c.json')
  })

  test('without the payloads that are withheld, which still verifies, from a pipe too', async () => {
    const shell = await givenRecords(
      { payload: { note: 'hunter2' } },
      { event_type: 'other', payload: { note: 'open' } },
    )
    const { out } = await shell.good('evidence', 'export', 'c', '--withhold', 'not*')
    assert(!out.includes('hunter2') && out.includes('open'))
    const verified = await shell.with({ stdin: async () => out }).good('verify', '-')
    assert.match(verified.out, /^GOOD {2}2 records of `c`[\s\S]*Some payloads are withheld/)
    const [event] = (JSON.parse(out) as EvidenceBundle).events
    const named = await shell.good(
      'evidence',
      'export',
      'c',
      '--withhold',
      event?.event_id ?? '',
      '--withhold',
      'other',
    )
    assert.doesNotMatch(named.out, /hunter2|open/)
    const { code, err } = await shell.run('evidence', 'export', 'c', '--withhold', 'nothng')
    assert.deepEqual([code, /--withhold `nothng` fits no record \(field_invalid\)/.test(err)], [2, true], err)
    assert.match(
      (await shell.with({ stdin: async () => undefined }).run('verify', '-')).err,
      /nothing is on standard input/,
    )
  })

  test('the signed heads, newest first', async () => {
    const shell = await givenRecords({}, {})
    await shell.good('evidence', 'export', 'c')
    const { out } = await shell.good('evidence', 'heads')
    assert.match(
      out,
      /^RECORDS +SIGNED +HOST +KEY +ROOT OF THE LOG\n4 +\d{4}-\S+Z +local +[0-9a-f]{16} +[0-9a-f]{64}\n/,
    )
    const { heads } = (await shell.good('evidence', 'heads', '--limit', '1', '--json')).json<{ heads: object[] }>()
    writeFileSync(join(shell.cwd, 'head.json'), JSON.stringify(heads[0]))
    const bundle = await shell.good('evidence', 'export', 'c')
    await shell.with({ stdin: async () => bundle.out }).good('verify', '-', '--head', 'head.json')
  })

  test('as a table, which proves nothing and does not claim to', async () => {
    const shell = await givenRecords({ event_type: '=cmd()' })
    const { out } = await shell.good('evidence', 'export', 'c', '--csv')
    assert.match(out, /^sequence,.*\r\n3,[^,]+,operator,'=cmd\(\),/)
    assert.equal(
      (await shell.good('evidence', 'export', 'c', '--csv', '--out', 'c.csv')).out,
      'wrote 1 record to c.csv\n',
    )
    assert.equal(readFileSync(join(shell.cwd, 'c.csv'), 'utf8'), out)
  })
})

test('an export is for its owner alone, and replaces nothing unasked [F-18 F-21]', async () => {
  const shell = await givenDesk()
  const file = join(shell.cwd, 'b.json')
  const exported = ['evidence', 'export', 'ambit-admin-local', '--out', 'b.json']
  await shell.good(...exported)
  assert.equal(statSync(file).mode & 0o777, 0o600)
  writeFileSync(file, 'mine')
  const { code, err } = await shell.run(...exported)
  assert.equal(code, 2)
  assert.match(err, /`b\.json` is here already \(file_exists\)\n {2}use --force to replace it/)
  assert.equal(readFileSync(file, 'utf8'), 'mine')
  chmodSync(file, 0o644)
  await shell.good(...exported, '--force')
  assert.equal(statSync(file).mode & 0o777, 0o600)
  assert.notEqual(readFileSync(file, 'utf8'), 'mine')
})

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, test } from 'vitest'
import { sweep } from '../support/sweep.ts'
import { childCommand, startChild } from './spawn.ts'
import { inspect, type Kept, prepare, type Target, withStore } from './target.ts'

const folder = mkdtempSync(join(tmpdir(), 'ambit-disk-'))
afterAll(() => rmSync(folder, { recursive: true }))

const hasStrace = spawnSync('strace', ['-o', '/dev/null', 'true']).status === 0
if (!hasStrace)
  process.stderr.write('skipped: no `strace` that may be used here, so nobody watches what reaches the disk\n')

describe.skipIf(!hasStrace)('what reaches the disk, seen from outside [F-14]', () => {
  test('`full`: a commit is synced to the disk before it is acknowledged', async () => {
    const lines = await traceThree('full')
    assert.deepEqual(acknowledgedEarly(lines), [])
    assert.equal(lines.filter(isAcknowledgement).length, 3)
  })

  test('`normal`: it is written, and nothing is synced between acknowledgements', async () => {
    const lines = await traceThree('normal')
    const between = lines.slice(lines.findIndex(isAcknowledgement), lines.findLastIndex(isAcknowledgement))
    assert.equal(between.filter((line) => / pwrite64\(.*-wal>/.test(line)).length > 0, true)
    assert.deepEqual(
      between.filter((line) => /sync\(/.test(line)),
      [],
    )
  })

  test('a process killed on the way into any write or sync loses nothing acknowledged and tears nothing', async () => {
    const target: Target = { driver: 'sqlite', path: join(folder, 'killed.db') }
    await withStore(target, prepare)
    const acknowledged: string[] = []
    let kills = 0
    for (let effect = 1; effect < 80; effect += sweep(16, 4)) {
      const inject = `inject=pwrite64,fdatasync,fsync,ftruncate:signal=SIGKILL:when=${effect}`
      const child = startChild([
        'strace',
        '-f',
        '-o',
        '/dev/null',
        '-e',
        inject,
        ...childCommand(target, 'three', effect),
      ])
      if ((await ended(child)).signal === 'SIGKILL') kills++
      acknowledged.push(...child.said)
      const kept: Kept = await withStore(target, inspect)
      assert.deepEqual(kept.flaws, [])
      assert.deepEqual(
        acknowledged.filter((id) => !kept.ids.has(id)),
        [],
      )
    }
    assert(
      kills >= sweep(3, 11) && acknowledged.length >= sweep(1, 11),
      `${kills} kills, ${acknowledged.length} acknowledged`,
    )
  })
})

test('whoever watches the disk tells a sync that is done from one that is under way [F-14]', () => {
  const [write, begin] = ['7 pwrite64(21</s.db-wal>, ""..., 24, 0) = 24', '7 fdatasync(21</s.db-wal> <unfinished ...>']
  const [end, failed] = ['7 <... fdatasync resumed>)           = 0', '7 <... fdatasync resumed>) = -1 EIO (I/O error)']
  const say = '8 write(1<pipe:[1]>, "traced-1\\n", 9) = 9'
  assert.deepEqual(acknowledgedEarly([write, begin, end, say]), [])
  assert.deepEqual(acknowledgedEarly([write, '7 fdatasync(21</s.db-wal>)       = 0', say]), [])
  const early = [
    [write, say],
    [write, begin, say, end],
    [write, begin, failed, say],
    [write, begin, write, end, say],
    [write, begin, end.replace('7', '9'), say],
    [write, '7 fdatasync(21</s.db-wal>) = -1 EIO (I/O error)', say],
  ]
  for (const lines of early) assert.deepEqual(acknowledgedEarly(lines), [say], lines.join('\n'))
})

/** The acknowledgements that came before a sync of all that was written for them was done. */
function acknowledgedEarly(lines: readonly string[]): string[] {
  const underWay = new Map<string, number>()
  let [written, synced] = [0, 0]
  return lines.filter((line) => {
    const [thread = ''] = line.split(' ', 1)
    if (/ pwrite64\(.*-wal>/.test(line)) written++
    if (/ f(data)?sync\(.*-wal>/.test(line)) underWay.set(thread, written)
    if (/ f(data)?sync(\(.*-wal>| resumed>)\) += 0$/.test(line)) synced = underWay.get(thread) ?? synced
    if (/ f(data)?sync.*\) += /.test(line)) underWay.delete(thread)
    if (!isAcknowledgement(line)) return false
    const early = written === 0 || synced !== written
    written = 0
    synced = 0
    underWay.clear()
    return early
  })
}

const isAcknowledgement = (line: string): boolean => / write\(1<.*"traced-\d/.test(line)

async function traceThree(durability: 'full' | 'normal'): Promise<string[]> {
  const target: Target = { driver: 'sqlite', path: join(folder, `${durability}.db`), durability }
  await withStore(target, prepare)
  const output = join(folder, `${durability}.trace`)
  const watch = ['strace', '-f', '-y', '-o', output, '-e', 'trace=fdatasync,fsync,pwrite64,write']
  const child = startChild([...watch, ...childCommand(target, 'three', 'traced')])
  assert.deepEqual(await ended(child), { code: 0, signal: null })
  const lines = readFileSync(output, 'utf8').split('\n')
  const relevant = lines.filter((line) => line.includes(folder) || / resumed>/.test(line) || isAcknowledgement(line))
  const shown = relevant.filter((line) => !line.includes('pwrite64')).map((line) => `  ${line.replace(folder, '')}\n`)
  process.stderr.write(`\`${durability}\`, without the writes:\n${shown.join('')}`)
  return relevant
}

async function ended(child: ReturnType<typeof startChild>): Promise<{ code: number | null; signal: string | null }> {
  await child.ready.catch(() => {})
  child.tell('go')
  return child.ended
}

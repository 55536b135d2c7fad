import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { onTestFinished, test } from 'vitest'
import { tempFolder } from '../../../test/cli/given.ts'
import { writePackIn } from '../../../test/support/knowledge.ts'

const main = join(import.meta.dirname, '../main.ts')
const question = ['--query', 'How hot may the pump get?', '--pack', 'pumps', '--confirm', 'pumps']

const writeHeat = (folder: string, degrees: number): void =>
  writePackIn(folder, 'pumps', {}, { 'documents/pump.md': `# Pump\n\nIt may get as hot as ${degrees} degrees.\n` })

/** A process of its own that watches, and what it has said so far. */
function startWatch(cwd: string, ...words: readonly string[]) {
  const env = { ...process.env, HOME: '/nowhere', AMBIT_OUTPUT: 'text' }
  const child = spawn(process.execPath, [main, 'knowledge', ...words, '--watch'], { cwd, env })
  onTestFinished(() => void child.kill('SIGKILL'))
  let said = ''
  const hear = (data: Buffer) => {
    said += String(data)
  }
  for (const stream of [child.stdout, child.stderr]) stream.on('data', hear)
  const ended = new Promise<number | null>((resolve) => child.on('exit', resolve))
  const stop = (signal: NodeJS.Signals) => {
    child.kill(signal)
    return ended
  }
  return { said: () => said, stop }
}

/** Does something again until it is so: a watch begins some time after it was asked for. */
async function until(isSo: () => boolean, again: (n: number) => void = () => undefined): Promise<void> {
  for (let n = 0; n < 100 && !isSo(); n++) {
    again(n)
    await sleep(200)
  }
  assert(isSo())
}

test('a process that watches answers again after a change, and ends well when it is told to [K-88 K-89]', async () => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    const cwd = tempFolder()
    writeHeat(cwd, 80)
    const watch = startWatch(cwd, 'resolve', '.', ...question)
    await until(() => watch.said().includes('80 degrees'))
    await until(
      () => watch.said().includes('95 degrees'),
      () => writeHeat(cwd, 95),
    )
    assert.equal(await watch.stop(signal), 0, watch.said())
  }
}, 60_000)

test('what a watch writes itself starts no other turn, and its own file is replaced [K-88 K-92]', async () => {
  const cwd = tempFolder()
  writeHeat(cwd, 80)
  const watch = startWatch(cwd, 'resolve', '.', ...question, '--record', '--output', 'answer.json')
  const output = join(cwd, 'answer.json')
  const runs = () => readdirSync(join(cwd, '.ambit/runs')).filter((name) => name.endsWith('.trace.json')).length
  await until(() => existsSync(output))
  await until(
    () => /95 degrees/.test(readFileSync(output, 'utf8')),
    () => writeHeat(cwd, 95),
  )
  await sleep(1_000)
  const before = runs()
  await sleep(1_000)
  assert.equal(runs(), before)
  assert.equal(await watch.stop('SIGINT'), 0, watch.said())
  assert.equal(watch.said(), '')
}, 60_000)

test('a turn that fails is told, and the next one goes on [K-88 K-89]', async () => {
  const cwd = tempFolder()
  writeHeat(join(cwd, 'packs'), 80)
  mkdirSync(join(cwd, 'out'))
  const output = join(cwd, 'out/catalog.json')
  const watch = startWatch(cwd, 'catalog', 'packs', '--output', 'out/catalog.json')
  await until(() => existsSync(output))
  rmSync(join(cwd, 'out'), { recursive: true })
  const change = (n: number) => writeHeat(join(cwd, 'packs'), n)
  await until(() => watch.said().includes('error: `out/catalog.json` cannot be written'), change)
  mkdirSync(join(cwd, 'out'))
  await until(() => existsSync(output), change)
  assert.equal(await watch.stop('SIGINT'), 0, watch.said())
}, 60_000)

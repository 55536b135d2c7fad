import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import autocannon from 'autocannon'
import { type Bench, byTurns } from './measure.ts'

const leastPerSecond = 3_000
const connections = 16

/** Calls over HTTP, each decided, recorded before and after, and answered; beside a server that only echoes. */
const bench: Bench = async () => {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-bench-'))
  const sides = [await started('ours', folder), await started('peer', folder)] as const
  try {
    const [ours, peer] = sides.map(
      ({ url }) =>
        () =>
          load(url, 4_000),
    )
    if (ours === undefined || peer === undefined) throw new Error('a side is missing')
    await ours()
    await peer()
    const measured = await byTurns(5, ours, peer)
    const name = `invoke over HTTP, ${connections} connections, SQLite full`
    const goal = `≥ ${leastPerSecond.toLocaleString('en-US')}/s`
    return [
      { name, unit: 'calls/s', peerName: 'bare Hono echo', ...measured, goal, met: measured.ours >= leastPerSecond },
    ]
  } finally {
    for (const { child } of sides) child.kill()
    await Promise.all(sides.map(({ child }) => child.exitCode ?? once(child, 'exit')))
    rmSync(folder, { recursive: true })
  }
}
export default bench

async function started(side: 'ours' | 'peer', folder: string): Promise<{ child: ChildProcess; url: string }> {
  const script = join(import.meta.dirname, 'http-server.ts')
  const child = spawn(process.execPath, [script, side, folder], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [printed] = await once(child.stdout, 'data')
  return { child, url: String(printed).trim() }
}

/** Answered calls a second, until the last answer: the tool itself ends with a whole second. */
async function load(url: string, amount: number): Promise<number> {
  const start = performance.now()
  let end = start
  const running = autocannon({
    url: `${url}/invoke`,
    connections,
    amount,
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-chp-key': 'bench' },
    body: JSON.stringify({ capability_id: 'bench.echo', payload: { value: 'x' } }),
  })
  running.on('response', () => {
    end = performance.now()
  })
  const result = await running
  if (result['2xx'] !== amount) throw new Error(`${amount - result['2xx']} calls were not answered`)
  return (amount / (end - start)) * 1000
}

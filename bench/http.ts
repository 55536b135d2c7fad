import { spawn } from 'node:child_process'
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
          load(url, { amount: 4_000, connections, capability: 'bench.echo' }),
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
    await Promise.all(sides.map(({ stop }) => stop()))
    rmSync(folder, { recursive: true })
  }
}
export default bench

/** A server in a process of its own. */
export async function started(side: 'ours' | 'fixture' | 'peer', folder: string) {
  const script = join(import.meta.dirname, 'http-server.ts')
  const child = spawn(process.execPath, [script, side, folder], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [printed] = await once(child.stdout, 'data')
  const stop = async (): Promise<void> => {
    child.kill()
    if (child.exitCode === null) await once(child, 'exit')
  }
  return { url: String(printed).trim(), stop }
}

interface Load {
  readonly amount: number
  readonly connections: number
  readonly capability: string
}

/** Answered calls a second, until the last answer: the tool itself ends with a whole second. */
export async function load(url: string, { amount, connections: together, capability }: Load): Promise<number> {
  const start = performance.now()
  let end = start
  const running = autocannon({
    url: `${url}/invoke`,
    connections: together,
    amount,
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-chp-key': 'bench' },
    body: JSON.stringify({ capability_id: capability, payload: { value: 'x' } }),
  })
  running.on('response', () => {
    end = performance.now()
  })
  const result = await running
  if (result['2xx'] !== amount) throw new Error(`${amount - result['2xx']} calls were not answered`)
  return (amount / (end - start)) * 1000
}

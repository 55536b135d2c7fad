import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import type { Bench, Row } from './measure.ts'

const addedMsMax = 1.5
const commitsMax = 3
const listMsMax = 50
const atOnce = 200
const warmUp = 4_000
const [servers, toolsEach] = [50, 20]

const cli = join(import.meta.dirname, '../src/cli/main.ts')
const upstream = join(import.meta.dirname, 'mcp-upstream.ts')

/** MCP calls through the gateway beside the same calls straight to the server; a long list; many calls at once. */
const bench: Bench = async () => {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-bench-'))
  try {
    prepare(folder)
    return [...(await calls(folder)), await listing(folder)]
  } finally {
    rmSync(folder, { recursive: true })
  }
}
export default bench

/** A tenant on SQLite with full durability, with one server behind it, and a second configuration with many. */
function prepare(folder: string): void {
  const store = { driver: 'sqlite', durability: 'full' }
  const env: NodeJS.ProcessEnv = {}
  const ambit = (...words: string[]): string => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [cli, ...words], { cwd: folder, env })
    if (status !== 0) throw new Error(String(stderr))
    return String(stdout)
  }
  const written = (name: string, upstreams: string) =>
    writeFileSync(join(folder, name), JSON.stringify({ tenant: 'local', store, upstreams: [upstreams] }))
  written('ambit.config.json', 'one')
  written('many.json', 'many')
  env['AMBIT_KEY'] = JSON.parse(ambit('tenant', 'create', 'local', '--json')).admin.secret
  ambit('capabilities', 'import', 'mcp', 'echo', '--out', 'one/echo.json', '--', process.execPath, upstream)
  const [one, many] = ['one/echo.json', 'many/s0.json'].map((name) => join(folder, name)) as [string, string]
  ambit('capabilities', 'import', 'mcp', 's0', '--out', many, '--', process.execPath, upstream, String(toolsEach))
  opened(one)
  opened(many)
  const text = readFileSync(many, 'utf8')
  for (let n = 1; n < servers; n++) writeFileSync(join(folder, `many/s${n}.json`), text.replaceAll('s0', `s${n}`))
}

/** The calls are measured, not who may make them: the tool is open. */
function opened(file: string): void {
  const upstream = JSON.parse(readFileSync(file, 'utf8'))
  for (const { descriptor } of upstream.capabilities) descriptor.policy = { auth_required: false }
  writeFileSync(file, JSON.stringify(upstream))
}

async function calls(folder: string): Promise<readonly Row[]> {
  const direct = await connected(folder, [upstream])
  const governed = await connected(folder, [cli, 'mcp'])
  try {
    const [theirs, ours] = [caller(direct, 'echo'), caller(governed, 'mcp_echo_echo')]
    // A server that runs for days is measured: neither of the two is cold.
    for (let n = 0; n < warmUp; n++) await Promise.all([theirs(n), ours(n)])
    const times = { ours: [] as number[], theirs: [] as number[], disk: [] as number[] }
    for (let n = 0; n < 600; n++) {
      times.theirs.push(await timed(() => theirs(n)))
      times.ours.push(await timed(() => ours(n)))
    }
    const commit = committer(folder)
    for (let n = 0; n < 300; n++) {
      await theirs(n)
      times.disk.push(await timed(commit))
    }
    const [mine, other, disk] = [median(times.ours), median(times.theirs), 2 * median(times.disk)]
    const name = 'MCP tool call over stdio, p50, SQLite full'
    const goal = `at most ${addedMsMax} ms more`
    const lost = await losses(ours)
    return [
      {
        name,
        unit: 'ms',
        ours: mine,
        peerName: 'the server itself',
        peer: other,
        ratio: mine / other,
        goal,
        met: mine - other <= addedMsMax,
      },
      {
        name: 'what it adds, beside two commits of one row each',
        unit: 'ms',
        ours: mine - other,
        peerName: 'the disk',
        peer: disk,
        ratio: (mine - other) / disk,
        goal: `at most ${commitsMax} times`,
        met: mine - other <= commitsMax * disk,
      },
      {
        name: `${atOnce} calls at once over stdio, lost`,
        unit: 'calls',
        ours: lost,
        peerName: 'asked',
        peer: atOnce,
        ratio: lost / atOnce,
        goal: '0',
        met: lost === 0,
      },
    ]
  } finally {
    await Promise.all([direct.close(), governed.close()])
  }
}

/** Commits one row to a file of its own, with full durability: intent and outcome cannot cost less. */
function committer(folder: string): () => Promise<void> {
  const database = new DatabaseSync(join(folder, 'raw.db'))
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE things (body TEXT)')
  const insert = database.prepare('INSERT INTO things VALUES (?)')
  const body = 'x'.repeat(1_600)
  return async () => void insert.run(body)
}

/** How many of many simultaneous calls did not get their own answer. */
async function losses(call: (n: number) => Promise<string>): Promise<number> {
  const answers = await Promise.allSettled(Array.from({ length: atOnce }, (_, n) => call(n)))
  return answers.filter((answer, n) => answer.status !== 'fulfilled' || !answer.value.includes(`text ${n}.`)).length
}

async function listing(folder: string): Promise<Row> {
  const client = await connected(folder, [cli, 'mcp', '--config', 'many.json'])
  try {
    const whole = async () => {
      let found = 0
      for (let cursor: string | undefined; ; ) {
        const page = await client.request({ method: 'tools/list', params: { ...(cursor !== undefined && { cursor }) } })
        found += page.tools.length
        cursor = page.nextCursor
        if (cursor === undefined) return found
      }
    }
    const found = await whole()
    if (found !== servers * toolsEach) throw new Error(`${found} tools were listed`)
    const times: number[] = []
    for (let n = 0; n < 20; n++) times.push(await timed(whole))
    const ours = median(times)
    const name = `list of ${servers} servers with ${toolsEach} tools each, warm`
    return {
      name,
      unit: 'ms',
      ours,
      peerName: 'goal',
      peer: listMsMax,
      ratio: ours / listMsMax,
      goal: `≤ ${listMsMax} ms`,
      met: ours <= listMsMax,
    }
  } finally {
    await client.close()
  }
}

async function connected(folder: string, args: readonly string[]): Promise<Client> {
  const client = new Client({ name: 'bench', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } })
  const env = { PATH: process.env['PATH'] ?? '' }
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [...args], cwd: folder, env }))
  return client
}

const caller = (client: Client, name: string) => async (n: number) => {
  const { content, isError } = await client.callTool({ name, arguments: { text: `text ${n}.` } })
  if (isError) throw new Error(JSON.stringify(content))
  return JSON.stringify(content)
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN

// A real PostgreSQL for tests, from the binaries in the npm package, gone when its test file is done.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { copyBinaries, findBinaries } from './postgres-binaries.ts'

export interface Postgres {
  /** An empty database of the server. */
  readonly url: string
  /** Where the cluster lies; undefined for a server that is not ours. */
  readonly dataDir: string | undefined
  /** The URL of one more empty database. */
  database(): Promise<string>
  /** `fast` ends open transactions in order, `immediate` leaves recovery to the next start. Starts the server if it was killed. */
  restart(mode?: 'fast' | 'immediate'): Promise<void>
  /** SIGKILL to the server, as a power cut would end it. */
  kill(): Promise<void>
  /** Ends the server and removes everything it wrote. */
  stop(): Promise<void>
}

export interface PostgresOptions {
  readonly port?: number
  /** On by default, since durability is among the things tested. */
  readonly fsync?: boolean
  /** The test restarts or kills the server, so one behind `AMBIT_TEST_POSTGRES` will not do. */
  readonly own?: boolean
}

/** Undefined, said in one line, where there is no PostgreSQL to start. */
export async function startPostgres(options: PostgresOptions = {}): Promise<Postgres | undefined> {
  const given = process.env['AMBIT_TEST_POSTGRES']
  if (given && !options.own) return borrow(given)
  const binaries = findBinaries()
  if (binaries !== undefined) return startCluster(binaries, options)
  process.stderr.write(
    `skipped: no PostgreSQL for ${process.platform} ${process.arch}; set AMBIT_TEST_POSTGRES to the URL of one\n`,
  )
  return undefined
}

async function borrow(server: string): Promise<Postgres> {
  const made: string[] = []
  const database = async () => {
    const url = await createDatabase(server)
    made.push(url)
    return url
  }
  const refuse = () => Promise.reject(new Error('the server of AMBIT_TEST_POSTGRES is not ours to restart'))
  const stop = async () => {
    for (const url of made.splice(0)) await query(server, `drop database if exists ${nameOf(url)} with (force)`)
  }
  return { url: await database(), dataDir: undefined, database, restart: refuse, kill: refuse, stop }
}

async function startCluster(binaries: string, options: PostgresOptions): Promise<Postgres> {
  // The real path: PostgreSQL looks for its libraries beside itself.
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'ambit-pg-'))
  const guard = watch(folder)
  const { port: fixed } = options
  try {
    const cluster: Cluster = { ...initCluster(binaries, folder), guard, fsync: options.fsync ?? true }
    const { port, server: first } = await start(cluster, fixed === undefined ? freePort : async () => fixed)
    let server = first
    const url = urlOf(port, 'postgres')
    return {
      url: await createDatabase(url),
      dataDir: cluster.data,
      database: () => createDatabase(url),
      kill: () => endServer(server, 'SIGKILL'),
      restart: async (mode = 'fast') => {
        await endServer(server, mode === 'fast' ? 'SIGINT' : 'SIGQUIT')
        server = (await start(cluster, async () => port)).server
      },
      stop: async () => {
        await endServer(server, 'SIGQUIT')
        await guard.release()
      },
    }
  } catch (error) {
    await guard.release()
    throw error
  }
}

interface Cluster {
  readonly bin: string
  readonly folder: string
  readonly data: string
  readonly guard: Guard
  readonly fsync: boolean
}

// PostgreSQL refuses to run as root; 65534 is nobody.
const asUser = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}

function initCluster(binaries: string, folder: string): Omit<Cluster, 'guard' | 'fsync'> {
  const cluster = { bin: join(folder, 'native', 'bin'), folder, data: join(folder, 'data') }
  chmodSync(folder, 0o755)
  copyBinaries(binaries, join(folder, 'native'))
  mkdirSync(cluster.data, { mode: 0o700 })
  if (asUser.uid !== undefined) for (const path of [folder, cluster.data]) chownSync(path, asUser.uid, asUser.gid)
  // A natural-language order by default: a query that needs byte order has to ask for it, here as on other servers.
  const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=icu', '--icu-locale=en-US']
  const args = ['-D', cluster.data, '-U', 'postgres', '--auth=trust', '--no-sync', '--no-instructions', ...locale]
  const made = spawnSync(join(cluster.bin, 'initdb'), args, { ...asUser, cwd: folder, encoding: 'utf8' })
  if (made.status !== 0) throw new Error(`initdb failed: ${made.error?.message ?? made.stderr}`)
  return cluster
}

/** Tries again: the port was taken meanwhile, or what a killed server left has not ended yet. */
async function start(cluster: Cluster, port: () => Promise<number>): Promise<{ port: number; server: ChildProcess }> {
  for (let left = 10; ; left--) {
    const chosen = await port()
    try {
      return { port: chosen, server: await startServer(cluster, chosen) }
    } catch (error) {
      if (left === 0) throw error
      await sleep(100)
    }
  }
}

async function startServer(cluster: Cluster, port: number): Promise<ChildProcess> {
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: cluster.folder,
    fsync: cluster.fsync ? 'on' : 'off',
    shared_buffers: '32MB',
    timezone: 'UTC',
  }
  const args = ['-D', cluster.data, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])]
  const log = join(cluster.folder, 'log')
  const output = openSync(log, 'w')
  const stdio = ['ignore' as const, output, output]
  const server = spawn(join(cluster.bin, 'postgres'), args, { ...asUser, cwd: cluster.folder, stdio, detached: true })
  closeSync(output)
  server.unref()
  cluster.guard.holds(server.pid)
  server.once('exit', () => cluster.guard.holds(undefined))
  for (const deadline = Date.now() + 30_000; Date.now() < deadline; await sleep(20)) {
    if (ended(server)) break
    if (await serves(port, cluster.data)) return server
  }
  await endServer(server, 'SIGKILL')
  throw new Error(`postgres did not start: ${readFileSync(log, 'utf8').slice(-2000)}`)
}

async function endServer(server: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (ended(server)) return
  const exit = once(server, 'exit')
  server.ref()
  server.kill(signal)
  await exit
}

const ended = (server: ChildProcess): boolean => server.exitCode !== null || server.signalCode !== null

interface Guard {
  holds(pid: number | undefined): void
  release(): Promise<void>
}

/**
 * Ends the server and removes its folder however this process ends, a SIGKILL included: a shell reads the server's
 * process ids from a pipe, and cleans up when the pipe closes.
 */
function watch(folder: string): Guard {
  const script = `while read -r next; do pid=$next; done
    if [ -n "$pid" ] && kill -QUIT "$pid" 2>/dev/null; then
      for i in 1 2 3 4 5 6 7 8 9 10; do kill -0 "$pid" 2>/dev/null || break; sleep 0.2; done
    fi
    rm -rf "$1"`
  const shell = spawn('sh', ['-c', script, 'sh', folder], { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
  const closed = once(shell, 'exit')
  shell.unref()
  return {
    holds: (pid) => {
      if (shell.stdin.writable) shell.stdin.write(`${pid ?? ''}\n`)
    },
    release: async () => {
      shell.ref()
      shell.stdin.end()
      await closed
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Below the range that outgoing connections use, so that no one takes the port during a restart. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000)
    const probe = createServer()
    const free = await new Promise<boolean>((resolve) => {
      probe.once('error', () => resolve(false))
      probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
    })
    if (free) return port
  }
}

const urlOf = (port: number, database: string): string => `postgres://postgres@127.0.0.1:${port}/${database}`

const nameOf = (url: string): string => new URL(url).pathname.slice(1)

let databases = 0

async function createDatabase(server: string): Promise<string> {
  const url = new URL(server)
  url.pathname = `/ambit_${process.pid}_${Date.now()}_${databases++}`
  await query(server, `create database ${nameOf(url.href)}`)
  return url.href
}

/** Asks for the folder too: another server may have taken the port. */
const serves = (port: number, data: string): Promise<boolean> =>
  query(urlOf(port, 'postgres'), 'show data_directory').then(
    (rows) => rows[0]?.['data_directory'] === data,
    () => false,
  )

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  try {
    await client.connect()
    return (await client.query(sql)).rows
  } finally {
    await client.end().catch(() => {})
  }
}

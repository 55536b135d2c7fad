// A company with one careless agent: servers that count what really happens, a host as a process of its own between
// them and everybody, people who decide, and another tenant.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { McpUpstream } from '../../src/model/config/upstream.ts'
import { administering, givenKey, givenShell, type Shell } from '../cli/harness.ts'
import type { Revision } from '../support/mcp-client.ts'
import { projectRoot } from '../support/source.ts'
import { type GivenServer, givenServer } from '../support/upstream.ts'

/** What nobody but the upstreams may ever see. */
export const credentials = { depot: 'dpt-51c0ffee9b', hostile: 'hst-77d1a2b3c4', other: 'oth-e0e1e2e3e4' }
export const patients = { local: 'Ada Lovelace', other: 'Grace Hopper' }

export type Decision = 'approve' | 'deny'

export interface World {
  readonly shell: Shell
  readonly depot: GivenServer
  readonly keys: Readonly<Record<Revision | 'ida', string>>
  /** A call of somebody else of this tenant, and one of another tenant. */
  readonly foreign: readonly string[]
}

/** The depot that everything is about: it does what it is asked, and remembers it. */
const givenDepot = (): Promise<GivenServer> =>
  givenServer((response, { headers, url }) => {
    const isOther = headers.authorization?.includes(credentials.other)
    const body = url === '/patients' ? { patients: [isOther ? patients.other : patients.local] } : { done: true }
    response.setHeader('content-type', 'application/json').end(JSON.stringify(body))
  })

const operation = (origin: string, name: string, method: 'GET' | 'POST', more: object, network: string) => ({
  request: { method, path: `/${name}`, ...(method === 'POST' && { body: { from: 'text', type: 'text/plain' } }) },
  descriptor: {
    id: `depot.${name}`,
    version: '1.0.0',
    description: `Asks the depot to ${name}.`,
    input_schema: { type: 'object', properties: { text: { type: 'string' } } },
    policy: { auth_required: true, ...more },
    metadata: { network, origin },
  },
})

const depotUpstream = (origin: string) => ({
  adapter: 'http',
  name: 'depot',
  server: { url: origin, headers: { authorization: 'Bearer {secret:depot}' } },
  capabilities: [
    operation(origin, 'patients', 'GET', { data_classification: 'Confidential' }, 'internal'),
    operation(origin, 'send', 'POST', {}, 'external'),
    operation(origin, 'delete', 'POST', { approval_required: true }, 'internal'),
    operation(origin, 'export', 'POST', {}, 'internal'),
    operation(origin, 'note', 'POST', {}, 'internal'),
  ],
})

/** Plain endpoints of the hostile server, one for each of these faces. */
const wildUpstream = (origin: string, faces: readonly string[]) => ({
  adapter: 'http',
  name: 'wild',
  server: { url: origin, headers: { authorization: 'Bearer {secret:hostile}' } },
  capabilities: faces.map((face) => ({
    request: { method: 'GET', path: `/${face}`, parameters: [{ name: 'n', in: 'query', from: 'n' }] },
    descriptor: {
      id: `wild.${face}`,
      version: '1.0.0',
      description: 'Asks a server that is not ours.',
      input_schema: { type: 'object', properties: { n: { type: 'integer' } } },
      ...(['orders', 'attacks'].includes(face) && { output_schema: { type: 'object' } }),
      policy: { auth_required: true },
      metadata: { network: 'internal', origin },
    },
  })),
})

const rules = {
  name: 'house',
  version: '1',
  applies_to: ['*'],
  rules: [
    { id: 'others', when: true, decision: 'allow' },
    { id: 'no_export', when: { '==': [{ var: 'capability.id' }, 'depot.export'] }, decision: 'deny' },
    {
      id: 'inside',
      when: {
        and: [
          { some: [{ var: 'history.classes' }, { in: [{ var: '' }, ['confidential', 'restricted']] }] },
          { '==': [{ var: 'capability.network' }, 'external'] },
        ],
      },
      decision: 'deny',
    },
  ],
}

/** The people, their keys, the rules, and the servers that they have put behind the gateway. */
export async function givenWorld(
  hostile: GivenServer,
  { mcp, wild, programs }: Readonly<Record<'mcp' | 'wild' | 'programs', readonly string[]>>,
): Promise<World> {
  const empty = givenShell()
  const depot = await givenDepot()
  const upstreams = ['upstreams', depotUpstream(depot.origin), wildUpstream(hostile.origin, wild)]
  const egress = { allow: [hostile.origin, depot.origin] }
  const store = { driver: 'sqlite', durability: 'normal' }
  const config = { tenant: 'local', store, upstreams, egress, policies: [rules], host: { strictOutput: true } }
  writeFileSync(join(empty.cwd, 'ambit.config.json'), JSON.stringify(config))
  const shell = await administering(empty, 'local')
  const people = [
    await givenPeople(shell, 'local'),
    await givenPeople(await administering(shell, 'other'), 'other'),
  ] as const
  const header = 'authorization: Bearer {secret:hostile}'
  await accepted(shell, mcp, (face) => ['--url', `${hostile.origin}/${face}/mcp`, '--header', header])
  await accepted(shell, programs, (way) => ['--', process.execPath, join(projectRoot, 'test/mcp/hostile.ts'), way])
  const foreign = [await called(shell, 'local', people[0].ida), await called(shell, 'other', people[1].ida)]
  return { shell, depot, keys: people[0], foreign }
}

/**
 * Imports the first of these servers, and takes the others to be like it in all but their names. People have said of
 * every tool that it stays inside, that it is quick, and that agents may call it.
 */
async function accepted(shell: Shell, names: readonly string[], words: (name: string) => string[]): Promise<void> {
  const [first = ''] = names
  await shell.good('capabilities', 'import', 'mcp', upstreamName(first), ...words(first))
  const fileOf = (name: string) => join(shell.cwd, `upstreams/${upstreamName(name)}.json`)
  const imported = JSON.parse(readFileSync(fileOf(first), 'utf8')) as McpUpstream
  for (const name of names) {
    const capabilities = imported.capabilities.map(({ descriptor, ...rest }) => ({
      ...rest,
      descriptor: {
        ...descriptor,
        id: `mcp.${upstreamName(name)}.${rest.tool}`,
        timeout_s: 2,
        policy: { auth_required: true },
        metadata: { ...descriptor.metadata, network: 'internal' },
      },
    }))
    const server = JSON.parse(JSON.stringify(imported.server).replace(first, name)) as McpUpstream['server']
    writeFileSync(fileOf(name), JSON.stringify({ ...imported, name: upstreamName(name), server, capabilities }))
  }
}

export const upstreamName = (name: string): string => name.replaceAll(' ', '-')

async function givenPeople(shell: Shell, tenant: string): Promise<World['keys']> {
  const there = ['--tenant', tenant]
  for (const id of ['2026-07-28', '2025-11-25'])
    await shell.good('principal', 'create', `agent-${id}`, '--kind', 'agent', ...there)
  await shell.good('principal', 'create', 'ida', ...there)
  await shell.good('approver', 'add', 'ida', '--role', 'lead', ...there)
  const depot = tenant === 'other' ? credentials.other : credentials.depot
  for (const [name, value] of [
    ['depot', depot],
    ['hostile', credentials.hostile],
  ] as const)
    await shell.with({ stdin: async () => value }).good('secret', 'set', name, ...there)
  const key = async (who: string) => (await givenKey(shell, who, ...there)).secret
  return {
    '2026-07-28': await key('agent-2026-07-28'),
    '2025-11-25': await key('agent-2025-11-25'),
    ida: await key('ida'),
  }
}

/** The id of a call that somebody else made. */
async function called(shell: Shell, tenant: string, key: string): Promise<string> {
  const caller = shell.with({ env: { AMBIT_KEY: key } })
  const { invocation_id } = (await caller.good('call', 'depot.patients', '--tenant', tenant, '--json')).json()
  return String(invocation_id)
}

export interface HostProcess {
  readonly url: string
  /** All that it has printed, on either stream. */
  printed(): string
  rssMiB(): number
  /** The code with which it has ended, null while it runs. */
  ended(): number | null
  /** Tells it to end, and its code then. */
  stop(): Promise<number | null>
}

/** `ambit host serve`, as a process of its own. */
export async function startHost({ cwd }: Shell): Promise<HostProcess> {
  const main = join(projectRoot, 'src/cli/main.ts')
  const child = spawn(process.execPath, [main, 'host', 'serve', '--port', '0'], { cwd, env: {} })
  const exit = new Promise<number | null>((resolve) => child.once('exit', resolve))
  onTestFinished(() => void child.kill('SIGKILL'))
  const printed: string[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => printed.push(String(data)))
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.on('data', () => {
      const [found] = /(?<=^listening on )http:\S+/m.exec(printed.join('')) ?? []
      if (found) resolve(found)
    })
    void exit.then(() => reject(new Error(printed.join(''))))
  })
  return {
    url,
    printed: () => printed.join(''),
    rssMiB: () => rssMiB(child),
    ended: () => child.exitCode,
    stop: () => {
      child.kill('SIGTERM')
      return exit
    },
  }
}

function rssMiB({ pid }: ChildProcess): number {
  const status = `/proc/${pid}/status`
  if (existsSync(status)) return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(status, 'utf8'))?.[1] ?? 0) / 1024
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) / 1024
}

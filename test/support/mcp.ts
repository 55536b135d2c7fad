// MCP servers of every kind behind a real gateway.

import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { openEgress } from '../../src/adapters/egress/egress.ts'
import { discoverTools } from '../../src/adapters/mcp/discover.ts'
import { importTools } from '../../src/adapters/mcp/import.ts'
import { openMcp } from '../../src/adapters/mcp/open.ts'
import { secretValue } from '../../src/keys/secrets.ts'
import type { McpUpstream } from '../../src/model/config/upstream.ts'
import type { InvocationResult } from '../../src/model/wire/result.ts'
import { operator } from '../../src/runtime/identity/caller.ts'
import { setSecret } from '../../src/runtime/identity/secrets.ts'
import { anyone, type GivenHost, givenHost } from './host.ts'

export interface GivenMcp extends GivenHost {
  readonly upstream: McpUpstream
  readonly notices: readonly string[]
  /** Calls a tool by its own name, as somebody whom nobody knows. */
  tool(name: string, payload?: object): Promise<InvocationResult>
  setSecret(name: string, value: string): Promise<void>
  closeUpstream(): Promise<void>
}

export interface McpOptions {
  readonly secrets?: Readonly<Record<string, string>>
  readonly timeoutS?: number
  readonly clock?: { now(): number }
  /** The upstream as people left it, instead of what the server says now. */
  readonly accepted?: McpUpstream
}

type Server = McpUpstream['server']

export const root = fileURLToPath(new URL('../..', import.meta.url))

/** A script of ours as a server. */
export const script = (path: string, ...args: string[]): Server => ({
  command: process.execPath,
  args: [path, ...args],
})

export type Revision = 'older' | 'newer'

export const hostile = (way: string, file = '', revision: Revision = 'older'): Server =>
  script('test/mcp/hostile.ts', way, file, revision)

const egress = openEgress({ allow: ['127.0.0.0/8'] })

/** What a server offers now, open to all. */
export async function acceptedOf(
  server: Server,
  { secrets = {}, timeoutS = 120 }: McpOptions = {},
): Promise<McpUpstream> {
  const secret = async (handle: string) => secretValue(handle, secrets[handle.replace('secret:', '')] ?? '')
  const { tools } = await discoverTools({ name: 'given', server }, { secret, egress, folder: root })
  const { upstream } = importTools('given', server, tools)
  return opened(upstream, timeoutS)
}

let calm: Promise<McpUpstream> | undefined

/** What each of the hostile programs offers: it is asked once, of the one that does nothing else. */
export async function acceptedHostile(timeoutS = 120): Promise<McpUpstream> {
  calm ??= acceptedOf(hostile('calm'))
  return opened(await calm, timeoutS)
}

const opened = (upstream: McpUpstream, timeoutS: number): McpUpstream => ({
  ...upstream,
  capabilities: upstream.capabilities.map((one) => ({
    ...one,
    descriptor: { ...one.descriptor, policy: {}, timeout_s: timeoutS },
  })),
})

/** A server behind a gateway. */
export async function givenMcp(server: Server, options: McpOptions = {}): Promise<GivenMcp> {
  const secrets = new Map(Object.entries(options.secrets ?? {}))
  const upstream = { ...(options.accepted ?? (await acceptedOf(server, options))), server }
  const notices: string[] = []
  const open = openMcp(upstream, {
    secret: async (handle) => secretValue(handle, secrets.get(handle.replace('secret:', '')) ?? ''),
    egress,
    clock: options.clock ?? Date,
    folder: root,
    notice: (text) => notices.push(text),
  })
  onTestFinished(() => open.close())
  const host = await givenHost({ capabilities: open.capabilities })
  const keep = async (name: string, value: string) => {
    secrets.set(name, value)
    await setSecret(host.ambit, operator(host.host.tenant), name, value)
  }
  for (const [name, value] of secrets) await keep(name, value)
  return {
    ...host,
    upstream,
    notices,
    tool: (name, payload = {}) => host.call(anyone, { capability_id: `mcp.given.${name}`, payload }),
    setSecret: keep,
    closeUpstream: () => open.close(),
  }
}

/** How a call ended, in brief. */
export const ending = ({ outcome, error }: InvocationResult) => [outcome, error?.code ?? null, error?.effect ?? null]

/** The first text of an answer. */
export function textOf({ data }: InvocationResult): string {
  const { content } = data as { content: { text?: string }[] }
  return content[0]?.text ?? ''
}

export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 20))
}

/** The ids of the processes that a server started, and what else it wrote down. */
export async function givenNotes() {
  const folder = await mkdtemp(join(tmpdir(), 'ambit-mcp-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const path = join(folder, 'notes')
  const notes = async () => (await readFile(path, 'utf8').catch(() => '')).split('\n').slice(0, -1)
  return { path, notes, pids: async () => (await notes()).map(Number).filter((pid) => pid > 0) }
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

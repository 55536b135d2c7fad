// Real MCP clients of both revisions, over HTTP and over standard input and output.

import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { onTestFinished } from 'vitest'

export type Revision = '2026-07-28' | '2025-11-25'
export const revisions: readonly Revision[] = ['2026-07-28', '2025-11-25']

const optionsFor = (revision: Revision): ClientOptions =>
  revision === '2026-07-28' ? { versionNegotiation: { mode: 'auto' } } : {}

export async function httpClient(
  url: string,
  revision: Revision,
  { key, ...options }: ClientOptions & { readonly key?: string } = {},
): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' }, { ...optionsFor(revision), ...options })
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` }
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', url), { requestInit: { headers } }))
  onTestFinished(() => client.close())
  return client
}

export interface Started {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd?: string
  readonly env?: Record<string, string>
}

export async function stdioClient(
  { command, args, cwd, env }: Started,
  revision: Revision,
  options: ClientOptions = {},
): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' }, { ...optionsFor(revision), ...options })
  const transport = new StdioClientTransport({
    command,
    args: [...args],
    ...(cwd !== undefined && { cwd }),
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stderr: 'pipe',
  })
  await client.connect(transport)
  onTestFinished(() => client.close())
  return client
}

/** The texts of a result. */
export const textOf = (result: { readonly content?: unknown }): string =>
  (result.content as { type: string; text?: string }[]).map(({ text }) => text ?? '').join('\n')

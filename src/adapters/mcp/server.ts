import { resolve } from 'node:path'
import { defined } from '../../base/object.ts'
import type { CapabilityDescriptor } from '../../model/capability.ts'
import type { McpUpstream, ServerAddress, ServerCommand } from '../../model/config/upstream.ts'
import { fillSecrets, type ReadSecret, secretNames, textsOf } from '../secret-text.ts'
import type { Address } from './http.ts'
import type { Program } from './stdio.ts'

type Server = McpUpstream['server']

/** A server with every secret in its place. */
export const fillServer = (server: Server, folder: string, secret: ReadSecret): Promise<Address | Program> =>
  'url' in server ? fillAddress(server, secret) : fillProgram(server, folder, secret)

/** The handles of the secrets that a server is given. */
export function credentialsOf(server: Server): NonNullable<CapabilityDescriptor['metadata']>['credentials'] {
  const origin = 'url' in server ? new URL(server.url).origin : undefined
  const handle = origin === undefined ? { kind: 'process' } : { kind: 'http', origin }
  return Object.fromEntries(secretNames(textsOf(server)).map((name) => [name, handle]))
}

async function fillAddress({ url, headers, query }: ServerAddress, secret: ReadSecret): Promise<Address> {
  const address = new URL(url)
  for (const [name, value] of Object.entries(await fillSecrets(query, secret))) address.searchParams.append(name, value)
  return { url: address, headers: await fillSecrets(headers, secret) }
}

async function fillProgram(
  { command, args = [], env, cwd = '.' }: ServerCommand,
  folder: string,
  secret: ReadSecret,
): Promise<Program> {
  const filled = { ...startingEnvironment(), ...(await fillSecrets(env, secret)) }
  return { command, args, env: filled, cwd: resolve(folder, cwd) }
}

/** What a program needs to start, and no more: our own environment may hold secrets that are not meant for it. */
const startingNames = [
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'LC_ALL', 'LC_CTYPE', 'TZ', 'TMPDIR', 'TMP', 'TEMP'],
  ...['SYSTEMROOT', 'SYSTEMDRIVE', 'WINDIR', 'COMSPEC', 'PATHEXT', 'USERPROFILE', 'APPDATA', 'LOCALAPPDATA'],
]

const startingEnvironment = (): Readonly<Record<string, string>> =>
  defined(Object.fromEntries(startingNames.map((name) => [name, process.env[name]]))) as Record<string, string>

import { resolve } from 'node:path'
import { defined } from '../../base/object.ts'
import type { CapabilityDescriptor } from '../../model/capability.ts'
import type { McpUpstream } from '../../model/config/upstream.ts'
import { fillSecrets, type ReadSecret, secretNames, textsOf } from '../secret-text.ts'
import type { Address } from './http.ts'
import type { Program } from './stdio.ts'

type Server = McpUpstream['server']

/** A server with every secret in its place. */
export async function fillServer(server: Server, folder: string, secret: ReadSecret): Promise<Address | Program> {
  if ('url' in server) {
    const url = new URL(server.url)
    const query = await fillSecrets(server.query, secret)
    for (const [name, value] of Object.entries(query)) url.searchParams.append(name, value)
    return { url, headers: await fillSecrets(server.headers, secret) }
  }
  const { command, args = [], env, cwd = '.' } = server
  const filled = { ...startingEnvironment(), ...(await fillSecrets(env, secret)) }
  return { command, args, env: filled, cwd: resolve(folder, cwd) }
}

/** The handles of the secrets that a server is given. */
export function credentialsOf(server: Server): NonNullable<CapabilityDescriptor['metadata']>['credentials'] {
  const origin = 'url' in server ? new URL(server.url).origin : undefined
  const handle = origin === undefined ? { kind: 'process' } : { kind: 'http', origin }
  return Object.fromEntries(secretNames(textsOf(server)).map((name) => [name, handle]))
}

/** What a program needs to start, and no more: our own environment may hold secrets that are not meant for it. */
const startingNames = [
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'LC_ALL', 'LC_CTYPE', 'TZ', 'TMPDIR', 'TMP', 'TEMP'],
  ...['SYSTEMROOT', 'SYSTEMDRIVE', 'WINDIR', 'COMSPEC', 'PATHEXT', 'USERPROFILE', 'APPDATA', 'LOCALAPPDATA'],
]

const startingEnvironment = (): Readonly<Record<string, string>> =>
  defined(Object.fromEntries(startingNames.map((name) => [name, process.env[name]]))) as Record<string, string>

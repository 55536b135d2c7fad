import { Failure } from '../base/failure.ts'
import { escapedKey } from '../base/pointer.ts'
import type { ServerAddress, ServerCommand, Upstream } from '../model/config/upstream.ts'

const place = /\{secret:([A-Za-z][A-Za-z0-9_.-]{0,63})\}/g

/** The names of the secrets that texts have places for, each once. */
export const secretNames = (texts: readonly string[]): readonly string[] => [
  ...new Set(texts.flatMap((text) => [...text.matchAll(place)].map(([, name = '']) => name))),
]

export type ReadSecret = (name: string) => Promise<string>
type Texts = Readonly<Record<string, string>>

/** Headers, a query or an environment, with every secret in its place. */
export async function fillSecrets(texts: Texts = {}, secret: ReadSecret): Promise<Texts> {
  const values = new Map<string, string>()
  for (const name of secretNames(Object.values(texts))) values.set(name, await secret(name))
  const fill = (text: string) => text.replace(place, (_, name: string) => values.get(name) ?? '')
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, fill(text)]))
}

/** Texts in which secrets are sent to a server, or given to a process. */
export const textsOf = (server: ServerAddress | ServerCommand): readonly string[] =>
  'url' in server
    ? [...Object.values(server.headers ?? {}), ...Object.values(server.query ?? {})]
    : Object.values(server.env ?? {})

/** Refuses what looks like the place of a secret and is none, or stands where others can read it. */
export function checkSecretPlaces(
  texts: ServerAddress | ServerCommand | Pick<ServerAddress, 'headers' | 'query'>,
  within = 'server',
): void {
  for (const [member, value] of Object.entries(texts))
    for (const [key, text] of Object.entries<string>(typeof value === 'string' ? { '': value } : (value ?? {}))) {
      const hasPlaces = members.has(member)
      if (!/\{\s*secret\s*:/i.test(hasPlaces ? text.replace(place, '') : text)) continue
      const at = `\`${within}.${member}${key === '' ? '' : `[${key}]`}\``
      const pointer = `/${within.replaceAll('.', '/')}/${member}${key === '' ? '' : `/${escapedKey(key)}`}`
      const [problem, help] = hasPlaces
        ? [`${at} holds the handle of a secret that is not well formed`, handleHelp]
        : [`${at} holds a secret, and can be read by others`, 'url' in texts ? addressHelp : commandHelp]
      throw new Failure('upstream.invalid', problem, { place: pointer }, help)
    }
}

/** What is sent with every request to a server, or given to a process. */
const members: ReadonlySet<string> = new Set(['headers', 'query', 'env'])
const handleHelp =
  'write `{secret:NAME}`, where the name begins with a letter and has letters, digits, `_`, `.` and `-`'
const addressHelp = 'give it in `server.headers` or `server.query`'
const commandHelp = 'give it in `server.env`'

/** The server with what likely is a credential replaced, in all that it is sent with every request or given to start. */
export function replaceCredentials<T extends Upstream['server']>(
  server: T,
  replace: (name: string, credential: string) => string,
): T {
  const replaced = ([name, text]: [string, string]) => {
    const [, scheme = '', rest = ''] = /^((?:bearer|basic|token)\s+)?(.*)$/is.exec(text) ?? []
    return [name, isCredential(name, text) ? `${scheme}${replace(name, rest)}` : text]
  }
  const changed = Object.entries(server)
    .filter(([member]) => members.has(member))
    .map(([member, texts]) => [member, Object.fromEntries(Object.entries(texts as Texts).map(replaced))])
  return { ...server, ...Object.fromEntries(changed) }
}

/** By its name or its shape. One too many does no harm: it is given all the same. */
function isCredential(name: string, text: string): boolean {
  if (secretNames([text]).length > 0 || harmless.test(text)) return false
  if (credentialName.test(name) || /^(?:bearer|basic|token)\s+\S/i.test(text)) return true
  const url = URL.parse(text)
  if (url?.host) return url.password !== '' || [...url.searchParams.keys()].some((key) => credentialName.test(key))
  return /^(?=.*[a-z])(?=.*\d)[\w.~+/=:-]{20,}$/i.test(text) && !path.test(text)
}

const credentialName =
  /auth|key|token|secret|passw|passphrase|pwd|cred|cookie|session|bearer|jwt|signature|\bpat\b|_pat$/i
const harmless = /^(?:|true|false|yes|no|on|off|none|\d{1,5})$/i
const path = /^(?:[./~]|[a-z]:[\\/])|\/[^/]*\.\w{1,5}$/i

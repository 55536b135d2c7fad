import type { ServerAddress, ServerCommand } from '../../model/upstream.ts'

const place = /\{secret:([A-Za-z][A-Za-z0-9_.-]{0,63})\}/g

/** The names of the secrets that texts have places for, each once. */
export const secretNames = (texts: readonly string[]): readonly string[] => [
  ...new Set(texts.flatMap((text) => [...text.matchAll(place)].map(([, name = '']) => name))),
]

/** The text with every secret in its place. */
export async function fillSecrets(text: string, secret: (name: string) => Promise<string>): Promise<string> {
  const values = new Map<string, string>()
  for (const name of secretNames([text])) values.set(name, await secret(name))
  return text.replace(place, (_, name: string) => values.get(name) ?? '')
}

/** Texts in which secrets are sent to a server, or given to a process. */
export const textsOf = (server: ServerAddress | ServerCommand): readonly string[] =>
  'url' in server
    ? [...Object.values(server.headers ?? {}), ...Object.values(server.query ?? {})]
    : Object.values(server.env ?? {})

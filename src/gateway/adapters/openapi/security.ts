import type { Json } from '../../../base/canonical.ts'
import { quote } from '../../../base/failure.ts'
import { isJsonObject, type JsonObject } from '../../../base/object.ts'
import { followed, listOf, type OpenApi, textOf, Unmapped } from './document.ts'

/** Where a credential goes. `key` is the same for two that would go to the same place. */
interface Place {
  readonly in: 'header' | 'query' | 'cookie'
  readonly name: string
  readonly key: string
  readonly text: (secret: string) => string
  readonly hint: string
}

export interface Credential {
  /** The name of the secret. */
  readonly secret: string
  readonly place: Place
}

export interface Credentials {
  /** The credentials that a call of an operation needs, with the scopes it asks for; throws if it cannot be given them. */
  of(security: Json | undefined): readonly { readonly secret: string; readonly scopes: readonly string[] }[]
  all(): readonly Credential[]
}

/** One server is sent one set of credentials: of those that would go to the same place the first counts. */
export function openCredentials(api: OpenApi, upstream: string): Credentials {
  const taken = new Map<string, { scheme: string; credential: Credential }>()
  const place = (scheme: string): Place => {
    const components = isJsonObject(api.root['components']) ? api.root['components'] : {}
    const schemes = isJsonObject(components['securitySchemes']) ? components['securitySchemes'] : {}
    const found = Object.hasOwn(schemes, scheme) ? schemes[scheme] : undefined
    return placeOf(followed(api, found, `the security scheme ${quote(scheme)}`), scheme)
  }
  /** All that one way needs, or none of it. */
  const take = (way: JsonObject) => {
    const wanted = Object.entries(way).map(([scheme, scopes]) => ({ scheme, scopes, place: place(scheme) }))
    for (const {
      scheme,
      place: { key },
    } of wanted) {
      const before = taken.get(key)
      if (before !== undefined && before.scheme !== scheme)
        throw new Unmapped(`it needs ${quote(scheme)}, where ${quote(before.scheme)} is sent already`)
    }
    return wanted.map(({ scheme, scopes, place }) => {
      const credential = { secret: secretName(upstream, scheme), place }
      taken.set(place.key, { scheme, credential })
      return { secret: credential.secret, scopes: listOf(scopes).map(textOf) }
    })
  }
  return {
    of: (security) => {
      const ways = listOf(security ?? api.root['security']).filter(isJsonObject)
      const isFree = ways.length === 0 || ways.some((way) => Object.keys(way).length === 0)
      return isFree ? [] : firstThat(ways, take)
    },
    all: () => [...taken.values()].map(({ credential }) => credential),
  }
}

function firstThat<T>(ways: readonly JsonObject[], use: (way: JsonObject) => T): T {
  let problem: unknown
  for (const way of ways) {
    try {
      return use(way)
    } catch (error) {
      problem ??= error
    }
  }
  throw problem
}

const secretName = (upstream: string, scheme: string): string =>
  `${upstream}_${scheme}`.replace(/[^A-Za-z0-9_.-]/g, '_').slice(0, 64)

function placeOf(scheme: JsonObject, title: string): Place {
  const kind = textOf(scheme['type'])
  const way = kind === 'http' ? textOf(scheme['scheme']).toLowerCase() : kind
  if (way === 'apiKey') return keyPlace(textOf(scheme['in']), textOf(scheme['name']), title)
  if (way === 'basic') return authorization('Basic', 'base64 of `name:password`')
  if (['bearer', 'oauth2', 'openIdConnect'].includes(way)) return authorization('Bearer', 'a token')
  throw new Unmapped(`it needs ${quote(title)}, a way to authenticate that is not known here`)
}

const authorization = (word: string, hint: string): Place => ({
  in: 'header',
  name: 'Authorization',
  key: 'header:authorization',
  text: (secret) => `${word} {secret:${secret}}`,
  hint,
})

function keyPlace(where: string, name: string, title: string): Place {
  if (!['header', 'query', 'cookie'].includes(where) || !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name))
    throw new Unmapped(`it needs ${quote(title)}, which says not where it goes`)
  return {
    in: where as Place['in'],
    name,
    key: `${where}:${where === 'header' ? name.toLowerCase() : name}`,
    text: (secret) => `{secret:${secret}}`,
    hint: 'a key',
  }
}

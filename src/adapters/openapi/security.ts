import type { Json } from '../../base/canonical.ts'
import { quote } from '../../base/failure.ts'
import { isJsonObject, type JsonObject, membersOf } from '../../base/object.ts'
import type { CapabilityDescriptor } from '../../model/capability.ts'
import type { HttpRequestTemplate } from '../../model/config/upstream.ts'
import { foldedName, readsAs } from '../http/names.ts'
import { followed, listOf, type OpenApi, textOf, Unmapped } from './document.ts'

/** Where a credential goes. */
interface Place {
  readonly in: 'header' | 'query' | 'cookie'
  readonly name: string
  readonly text: (secret: string) => string
  readonly hint: string
}

export interface Credential {
  /** The name of the secret. */
  readonly secret: string
  readonly scopes: readonly string[]
  readonly place: Place
}

/** The credentials that a call of an operation needs, and no others; throws if it cannot be given them. */
export function credentialsOf(api: OpenApi, upstream: string, { security }: JsonObject): readonly Credential[] {
  const ways = listOf(security ?? api.root['security']).filter(isJsonObject)
  if (ways.length === 0 || ways.some((way) => Object.keys(way).length === 0)) return []
  let problem: unknown
  for (const way of ways)
    try {
      return wayOf(api, upstream, way)
    } catch (error) {
      problem ??= error
    }
  throw problem
}

/** All that one way needs. */
function wayOf(api: OpenApi, upstream: string, way: JsonObject): readonly Credential[] {
  const schemes = schemesOf(api)
  const taken = new Map<string, string>()
  return Object.entries(way).map(([title, scopes]) => {
    const scheme = Object.hasOwn(schemes, title) ? schemes[title] : undefined
    const place = placeOf(followed(api, scheme, `the security scheme ${quote(title)}`), title)
    const key = `${place.in}:${foldedName(place.name)}`
    const before = taken.get(key)
    if (before !== undefined) throw new Unmapped(`it needs ${quote(title)}, where ${quote(before)} is sent already`)
    taken.set(key, title)
    return { secret: secretName(upstream, title), scopes: listOf(scopes).map(textOf), place }
  })
}

const schemesOf = ({ root }: OpenApi): JsonObject => membersOf(membersOf(root['components'])['securitySchemes'])

export type KeyPlaces = ReturnType<typeof keyPlacesOf>

/** The places where a document has a key, whichever operation asks for that. */
export function keyPlacesOf(api: OpenApi) {
  const keys = Object.values(schemesOf(api)).flatMap((scheme) => keyOf(api, scheme))
  const byPlace = Object.groupBy(keys, (key) => textOf(key['in']))
  const isKey = new Map(
    Object.entries(byPlace).map(([place, found = []]) => [place, readsAs(found.map((key) => textOf(key['name'])))]),
  )
  return (place: string, name: string): boolean => isKey.get(place)?.(name) === true
}

/** A scheme that leads nowhere is told where it is asked for. */
function keyOf(api: OpenApi, scheme: Json | undefined): readonly JsonObject[] {
  try {
    const found = followed(api, scheme, 'a security scheme')
    return found['type'] === 'apiKey' ? [found] : []
  } catch (error) {
    if (error instanceof Unmapped) return []
    throw error
  }
}

// No name of an upstream has a dot: the secrets of one are never those of another.
const secretName = (upstream: string, scheme: string): string =>
  `${upstream}.${scheme}`.replace(/[^A-Za-z0-9_.-]/g, '_').slice(0, 64)

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
  text: (secret) => `${word} {secret:${secret}}`,
  hint,
})

function keyPlace(where: string, name: string, title: string): Place {
  if (!['header', 'query', 'cookie'].includes(where) || !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name))
    throw new Unmapped(`it needs ${quote(title)}, which says not where it goes`)
  return { in: where as Place['in'], name, text: (secret) => `{secret:${secret}}`, hint: 'a key' }
}

/** What is sent with a request that has them. */
export function fixedOf(credentials: readonly Credential[]): Pick<HttpRequestTemplate, 'headers' | 'query'> {
  const headers: Record<string, string> = {}
  const query: Record<string, string> = {}
  for (const { secret, place } of credentials) {
    if (place.in === 'query') query[place.name] = place.text(secret)
    else if (place.in === 'header') headers[place.name] = place.text(secret)
    else headers['Cookie'] = [headers['Cookie'] ?? [], `${place.name}=${place.text(secret)}`].flat().join('; ')
  }
  return { ...(Object.keys(headers).length > 0 && { headers }), ...(Object.keys(query).length > 0 && { query }) }
}

/** The handles of what an operation is sent, with the scopes it asks for. */
export function metadataOf(credentials: readonly Credential[], origin: string): CapabilityDescriptor['metadata'] {
  if (credentials.length === 0) return undefined
  const entries = credentials.map(({ secret, scopes, place }) => {
    const named = scopes.filter((scope) => scope !== '')
    const kind = place.in === 'query' ? 'query' : 'header'
    return [secret, { kind, origin, ...(named.length > 0 && { scopes: named }) }] as const
  })
  return { credentials: Object.fromEntries(entries) }
}

import type { Json } from '../../base/canonical.ts'
import { Failure, quote } from '../../base/failure.ts'
import { isJsonObject, type JsonObject, memberOf } from '../../base/object.ts'
import { pointerOf, unescapedKey } from '../../base/pointer.ts'
import type { HttpRequestTemplate } from '../../model/config/upstream.ts'

export interface OpenApi {
  readonly root: JsonObject
  readonly version: '3.0' | '3.1'
}

/** An operation as it stands in a document. */
export interface Found {
  readonly id: string
  readonly method: HttpRequestTemplate['method']
  readonly path: string
  readonly operation: JsonObject
  readonly item: JsonObject
}

/** The document, if it is one that is read: OpenAPI 3.0 or 3.1 as JSON. */
export function openDocument(document: Json): OpenApi {
  if (!isJsonObject(document)) {
    const help = 'give a document as JSON; YAML is converted to JSON first'
    throw new Failure('upstream.invalid', 'the document is no object', { pointer: '' }, help)
  }
  const { openapi } = document
  const version = /^3\.[01](?=\.\d|$)/.exec(typeof openapi === 'string' ? openapi : '')?.[0]
  if (version !== '3.0' && version !== '3.1')
    throw broken('/openapi', 'must be 3.0 or 3.1: other versions are not read')
  for (const key of ['info', 'paths', 'components'])
    if (document[key] !== undefined && !isJsonObject(document[key])) throw broken(`/${key}`, 'must be an object')
  return { root: document, version }
}

/** Says where a document is not what it must be. */
export const broken = (pointer: string, what: string): Failure =>
  new Failure('upstream.invalid', `the document: ${quote(pointer)} ${what}`, { pointer })

/** What cannot be mapped, with the reason. The rest of the document is not touched by it. */
export class Unmapped extends Error {}

export const listOf = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : [])

export const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '')

/** The object that a reference leads to, over others if need be; what is no reference is itself. */
export function followed({ root }: OpenApi, value: Json | undefined, what: string): JsonObject {
  let found = value
  for (let hops = 0; isJsonObject(found) && typeof found['$ref'] === 'string'; hops++) {
    const ref = found['$ref']
    if (hops > 16) throw new Unmapped(`${what}: the reference ${quote(ref)} leads in a circle`)
    if (!ref.startsWith('#')) throw new Unmapped(`${what}: the reference ${quote(ref)} leads out of the document`)
    found = at(root, ref)
    if (found === undefined) throw new Unmapped(`${what}: the reference ${quote(ref)} leads to nothing`)
  }
  if (!isJsonObject(found)) throw new Unmapped(`${what} is missing or no object`)
  return found
}

/** The value at a reference within the document. */
export function at(root: JsonObject, ref: string): Json | undefined {
  const path = ref.replace(/^#\/?/, '').split('/')
  return path.reduce<Json | undefined>((found, part) => memberOf(found, unescapedKey(decoded(part))), root)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Where the server of a document is. What is given replaces an address, and completes one that is only a part. */
export function serverOf({ root }: OpenApi, given: string | undefined): string {
  const [first] = listOf(root['servers'])
  const said = isJsonObject(first) ? addressOf(first) : ''
  const url = given !== undefined && /^[a-z]+:/i.test(said) ? URL.parse(given) : URL.parse(said, given)
  if (url === null || !/^https?:$/.test(url.protocol) || /[{}]/.test(said))
    throw broken(pointerOf(['servers', 0, 'url']), `is ${quote(said)}, no address by itself: say where the server is`)
  return (url.origin + url.pathname).replace(/\/$/, '')
}

/** The address with the defaults of its variables. */
export function addressOf({ url, variables }: JsonObject): string {
  return textOf(url).replace(/\{([^{}]*)\}/g, (place, name: string) => {
    const variable = isJsonObject(variables) && Object.hasOwn(variables, name) ? variables[name] : undefined
    return isJsonObject(variable) ? textOf(variable['default']) : place
  })
}

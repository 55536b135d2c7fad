import { canonical, type Json } from '../../base/canonical.ts'
import { quote } from '../../base/failure.ts'
import { limits } from '../../base/limits.ts'
import { isJsonObject, membersOf } from '../../base/object.ts'
import { pointerOf } from '../../base/pointer.ts'
import { type HttpUpstream, upstream as upstreamShape } from '../../model/config/upstream.ts'
import { parseAs } from '../../model/parse.ts'
import { inScopes, semver } from '../../model/text.ts'
import type { Found, OpenApi } from './document.ts'
import { broken, followed, openDocument, serverOf, textOf, Unmapped } from './document.ts'
import { type Mapping, mapOperation } from './operation.ts'
import { openSchemas } from './schemas.ts'
import { type Credential, credentialsOf, keyPlacesOf } from './security.ts'

export interface ImportOptions {
  readonly name: string
  /** Where the server is, if the document does not say it, or not rightly. */
  readonly server?: string
  /** Operations by their ids, or the beginning of one and a `*`: only these, or all but these. */
  readonly include?: readonly string[]
  readonly exclude?: readonly string[]
}

export interface Imported {
  readonly upstream: HttpUpstream
  /** What could not be mapped, and why. */
  readonly skipped: readonly { readonly operation: string; readonly reason: string }[]
  /** What all operations are called when they are asked for, those too that were not. */
  readonly names: readonly string[]
  /** Sentences for people about what was mapped. */
  readonly notes: readonly string[]
}

/** The operations of a document as an upstream, with proposed policies. Fails with `upstream.invalid` and the place. */
export function importOpenApi(document: Json, options: ImportOptions): Imported {
  const api = openDocument(document)
  const skipped: { operation: string; reason: string }[] = []
  const notes: string[] = []
  const attempt = <T>({ method, path }: Pick<Found, 'method' | 'path'>, work: () => T): T[] => {
    try {
      return [work()]
    } catch (error) {
      if (!(error instanceof Unmapped)) throw error
      skipped.push({ operation: `${method} ${path}`, reason: error.message })
      return []
    }
  }
  const empty = emptyUpstream(serverOf(api, options.server), options.name)
  const all = everyOperation(api, attempt).map((found) => ({ ...found, name: nameOf(found) }))
  const mapping: Mapping = {
    ...{ api, upstream: empty, note: (text: string) => notes.push(text) },
    version: versionOf(api),
    isKeyPlace: keyPlacesOf(api),
    schemas: { input: openSchemas(api, 'input'), form: openSchemas(api, 'form'), output: openSchemas(api, 'output') },
  }
  const mapped = select(all, options, attempt).flatMap((found) =>
    attempt(found, () => {
      const credentials = credentialsOf(api, options.name, found.operation)
      return { credentials, capability: mapOperation(found, credentials, mapping) }
    }),
  )
  const upstream = saidOnce({ ...empty, capabilities: mapped.map(({ capability }) => capability) })
  const needs = notesOf(mapped.flatMap(({ credentials }) => credentials))
  return { upstream, skipped, names: all.map(({ name }) => name), notes: [...needs, ...notes] }
}

/** Credentials that all operations are sent alike belong to the server. */
function saidOnce({ server, capabilities, ...upstream }: HttpUpstream): HttpUpstream {
  const sets = new Set(capabilities.map(({ request: { headers = {}, query = {} } }) => canonical({ headers, query })))
  if (sets.size !== 1) return { ...upstream, server, capabilities }
  const { headers, query } = capabilities[0]?.request ?? {}
  return {
    ...upstream,
    server: { ...server, ...(headers && { headers }), ...(query && { query }) },
    capabilities: capabilities.map(({ request: { headers, query, ...request }, ...rest }) => ({ request, ...rest })),
  }
}

type Attempt = <T>(found: Pick<Found, 'method' | 'path'>, work: () => T) => T[]

const methods = ['get', 'head', 'post', 'put', 'patch', 'delete', 'options', 'trace'] as const

type Unselected = Omit<Found, 'id'>

function nameOf({ operation, method, path }: Unselected): string {
  const local = (textOf(operation['operationId']) || `${method}${path}`).replace(/[^A-Za-z0-9_.:-]+/g, '_')
  return local.replace(/^_+|_+$/g, '') || method
}

/** The operations that are asked for, each under an id of its own. */
function select(all: readonly (Unselected & { readonly name: string })[], options: ImportOptions, attempt: Attempt) {
  const taken = new Map<string, string>()
  return all.flatMap(({ name, ...found }) => {
    const { method, path } = found
    if (!isWanted(name, options)) return []
    return attempt(found, () => {
      if (method === ('TRACE' as string)) throw new Unmapped('TRACE shows what others were sent, and is not offered')
      const other = taken.get(name)
      if (other !== undefined) throw new Unmapped(`its id ${quote(name)} is that of ${quote(other)}`)
      if (taken.size >= limits.importedOperationsMax) throw new Unmapped('there are too many operations: include fewer')
      taken.set(name, `${method} ${path}`)
      return { ...found, id: `${options.name}.${name}` }
    })
  })
}

function isWanted(name: string, { include, exclude = [] }: ImportOptions): boolean {
  return (include === undefined || inScopes(include, name)) && !inScopes(exclude, name)
}

function everyOperation(api: OpenApi, attempt: Attempt): Unselected[] {
  return Object.entries(membersOf(api.root['paths'])).flatMap(([path, value]) => {
    if (path.startsWith('x-')) return []
    if (!isJsonObject(value)) throw broken(pointerOf(['paths', path]), 'must be an object')
    const [item = {}] = attempt({ method: '*' as never, path }, () => ({
      ...followed(api, value, 'the path'),
      ...value,
    }))
    return methods.flatMap((key) => {
      const operation = item[key]
      if (operation === undefined) return []
      if (!isJsonObject(operation)) throw broken(pointerOf(['paths', path, key]), 'must be an object')
      return [{ method: key.toUpperCase() as Found['method'], path, operation, item }]
    })
  })
}

const emptyUpstream = (url: string, name: string): HttpUpstream =>
  parseAs(upstreamShape, { adapter: 'http', name, server: { url }, capabilities: [] }, 'upstream') as HttpUpstream

/** The version of the document as far as it has one of ours. */
function versionOf({ root }: OpenApi): string {
  const said = textOf(membersOf(root['info'])['version'])
  if (semver.safeParse(said).success) return said
  const [, major, minor = '0'] = /^v?(\d{1,9})(?:\.(\d{1,9}))?$/.exec(said) ?? []
  return major === undefined ? '1.0.0' : `${Number(major)}.${Number(minor)}.0`
}

function notesOf(credentials: readonly Credential[]): readonly string[] {
  const note = ({ secret, place }: Credential): string =>
    `the secret ${quote(secret)} is needed: ${place.hint}, sent as ${place.in} ${quote(place.name)}`
  return [...new Set(credentials.map(note))]
}

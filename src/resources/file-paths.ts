import { Failure, quote } from '../base/failure.ts'
import { sha256 } from '../base/hash.ts'
import { segmentsOf } from '../files/path.ts'

/** A file or folder that grants reach. */
export interface Spot {
  readonly grant: string
  /** On the disk, from the folder of the tenant. */
  readonly host: string
  /** As tools name it. */
  readonly path: string
}

/** The folder of a scope on the disk, from that of the tenant. A folder in a granted one is the scope of that name. */
export const scopeFolder = (scope: string): string => scope.split('/').map(encodeName).join('/')

/**
 * The name of a grant where there are several: always the same, whatever the others are, so that a path never comes to
 * mean another file when a grant ends.
 */
export function labelOf(grant: string): string {
  const last = grant.slice(grant.lastIndexOf('/') + 1)
  return `${last.slice(0, 32).replace(/[^\w.-]|^\./g, '_')}-${sha256(grant).slice(0, 12)}`
}

/** The file that a path names. Folders may have any name; that of a file stands on the disk as it is. */
export function fileSpot(grants: readonly string[], path: string): Spot {
  const { grant, rest } = granted(grants, path)
  const name = rest.at(-1)
  if (name === undefined || !isFileName(name)) throw refused(path)
  return { grant, host: [scopeFolder(grant), ...rest.slice(0, -1).map(encodeName), name].join('/'), path }
}

/** The folder that a path names; without one, what there is. */
export function folderSpots(grants: readonly string[], path: string): readonly Spot[] {
  const topOf = (grant: string): string => (grants.length > 1 ? labelOf(grant) : '')
  if (path === '') return grants.map((grant) => ({ grant, host: scopeFolder(grant), path: topOf(grant) }))
  const { grant, rest } = granted(grants, path)
  return [{ grant, host: [scopeFolder(grant), ...rest.map(encodeName)].join('/'), path }]
}

/** The path of something below a folder, of which a listing gave the path on the disk; undefined if it is none of ours. */
export function pathBelow(spot: Spot, host: string, kind: 'file' | 'folder'): string | undefined {
  const names = host.slice(spot.host.length + 1).split('/')
  const file = kind === 'file' ? names.splice(-1) : []
  const above = names.map(decodeName).filter((name) => name !== undefined)
  if (above.length < names.length || !file.every(isFileName)) return undefined
  return [...(spot.path === '' ? [] : [spot.path]), ...above, ...file].join('/')
}

function granted(grants: readonly string[], path: string) {
  const [first = '', ...rest] = segmentsOf(path)
  const [only] = grants
  if (grants.length === 1 && only !== undefined) return { grant: only, rest: [first, ...rest] }
  const grant = grants.find((one) => labelOf(one) === first)
  if (grant === undefined) throw refused(path)
  return { grant, rest }
}

const refused = (path: string): Failure =>
  new Failure('file.outside_root', `${quote(path)} cannot be a file or folder here`, { path })

const isFileName = (name: string): boolean => !/\p{Cc}|[. ]$/u.test(name) && !reserved.test(name)

const reserved = /^(?:\.ambit-.*|(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?)$/i

/**
 * A name as it can stand on any disk: small letters, digits, `_`, `.` and `-` as they are; any other name behind `=` as a
 * number to base 32. No two names are the same to a file system that folds case or normalises, and none is reserved.
 */
export function encodeName(name: string): string {
  if (/^[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_-])?$/.test(name) && !reserved.test(name)) return name
  return `=${BigInt(`0x1${Buffer.from(name).toString('hex')}`).toString(32)}`
}

/** The name that was encoded; undefined for what `encodeName` never gives. */
export function decodeName(encoded: string): string | undefined {
  if (!/^=[0-9a-v]+$/.test(encoded)) return encodeName(encoded) === encoded ? encoded : undefined
  const bits = [...encoded.slice(1)].map((digit) => Number.parseInt(digit, 32).toString(2).padStart(5, '0'))
  const hex = BigInt(`0b${bits.join('')}`).toString(16)
  const name = Buffer.from(hex.slice(1), 'hex').toString()
  return encodeName(name) === encoded ? name : undefined
}

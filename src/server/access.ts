import { hash, timingSafeEqual } from 'node:crypto'
import { Failure, quote } from '../base/failure.ts'
import { wireVersions } from '../chp/manifest.ts'
import { wireId } from '../model/wire/correlation.ts'
import type { AmbitHost } from '../runtime/hosting/host.ts'
import { authenticate } from '../runtime/identity/api-keys.ts'
import { anonymous, type Caller } from '../runtime/identity/caller.ts'
import { callerNamed, notAccepted } from '../runtime/identity/known-callers.ts'
import { suspendedTenant, tenantOf } from '../runtime/identity/tenants.ts'
import type { Runtime } from '../runtime/runtime.ts'

/** Who may call, besides the holders of API keys: all of it means the configured tenant. */
export interface Access {
  readonly keys: readonly AccessKey[]
  /** Accepts callers without credentials. Asked for by name, never derived from the store; on the machine itself only. */
  readonly open: boolean
}

export interface AccessKey {
  /** The holder of the key; null for a shared one, whose holders are anonymous. */
  readonly name: string | null
  readonly secret: string
  /** Capabilities, or beginnings of them with a `*`; empty means all. */
  readonly scopes: readonly string[]
}

/**
 * Finds the caller of a request and its tenant: the one of its API key, or the configured one. Every credential that is
 * sent must be good, and all must be of one tenant; a name that one of them proves is the caller's, and two names are
 * refused. Any refusal is the same `unauthenticated`.
 */
export function openAuthentication(ambit: Runtime, home: Home, access: Access): (headers: Headers) => Promise<Caller> {
  checkKeys(access.keys)
  const known = access.keys.map((key) => ({ ...key, digest: digestOf(key.secret) }))

  const unlessSuspended = async (caller: Caller): Promise<Caller> => {
    if ((await tenantOf(ambit, home)).status === 'active') return caller
    throw suspendedTenant(home.tenant)
  }
  const byKey = async (text: string): Promise<Caller> => {
    const key = matching(known, text)
    if (key === undefined) return authenticate(ambit, text)
    if (key.name === null) return unlessSuspended({ ...anonymous(home.tenant, key.scopes), name: 'shared' })
    return unlessSuspended(await callerNamed(ambit, home.tenant, key.name, key.scopes))
  }

  return async (headers) => {
    // Signed tokens are no credentials here, and none that is sent may be ignored.
    if (headers.has('x-chp-token')) throw notAccepted()
    const found: Caller[] = []
    for (const key of [headers.get('x-chp-key'), bearerOf(headers.get('authorization'))])
      if (key !== null) found.push(await byKey(key))
    if (new Set(found.map(({ tenant }) => tenant)).size > 1) throw notAccepted()
    const named = found.filter(({ subject }) => subject.verified === true)
    if (new Set(named.map(({ subject }) => subject.id)).size > 1) throw notAccepted()
    const proven = named[0] ?? found[0]
    if (proven !== undefined) return proven
    if (!access.open) throw notAccepted()
    return unlessSuspended({ ...anonymous(home.tenant), name: 'open' })
  }
}

type Home = Pick<AmbitHost, 'tenant' | 'hostId'>

/** An empty key would accept everybody, and a key of two holders would name the wrong one. */
function checkKeys(keys: readonly AccessKey[]): void {
  if (keys.some(({ secret }) => secret.trim() !== secret || secret === ''))
    throw new Failure('config.invalid', 'a key of the server is empty, or has blanks around it')
  const help = 'give each holder a key of their own'
  if (new Set(keys.map(({ secret }) => secret)).size < keys.length)
    throw new Failure('config.invalid', 'two keys of the server are the same', {}, help)
  const bad = keys.find(({ name }) => name !== null && !wireId.safeParse(name).success)
  if (bad !== undefined)
    throw new Failure('config.invalid', `a key of the server has the name ${quote(bad.name ?? '')}`)
}

function bearerOf(header: string | null): string | null {
  if (header === null) return null
  const [, text] = /^Bearer +(\S+)$/i.exec(header) ?? []
  if (text === undefined) throw notAccepted()
  return text
}

/** All entries are compared, and none ends the search: how long it takes says nothing of how near a guess was. */
function matching<T extends { readonly digest: Buffer }>(entries: readonly T[], text: string): T | undefined {
  const digest = digestOf(text)
  let found: T | undefined
  for (const entry of entries) if (timingSafeEqual(entry.digest, digest)) found = entry
  return found
}

const digestOf = (text: string): Buffer => hash('sha256', text, 'buffer')

/** Refuses a version of the wire that this host does not speak. Without the header it is the newest. */
export function checkVersion(headers: Headers): void {
  const requested = headers.get('x-chp-version')
  if (requested === null || (wireVersions as readonly string[]).includes(requested)) return
  // Said again only if it looks like a version: a header can be anything.
  const shown = /^[0-9A-Za-z.-]{1,16}$/.test(requested) ? requested : 'unreadable'
  throw new Failure('version.unsupported', 'this host does not speak this version of the wire', {
    requested: shown,
    supported: [...wireVersions],
  })
}

/** With open access only this machine may ask: a page whose name was made to point here has that name as its host. */
export function checkOrigin(headers: Headers): void {
  const [host, origin] = [headers.get('host'), originOf(headers)]
  if ((host === null || isLocal(host)) && (origin === null || isLocal(origin))) return
  throw new Failure('origin.not_permitted', 'without credentials only this machine may ask')
}

/** A page that asks must come from where it asks, or from this machine: no other site speaks through a browser here. */
export function checkSameOrigin(headers: Headers): void {
  const origin = originOf(headers)
  if (origin === null || origin === headers.get('host') || isLocal(origin)) return
  throw new Failure('origin.not_permitted', 'a page from elsewhere may not ask')
}

/** The host of the page that asks, if a page does. */
function originOf(headers: Headers): string | null {
  const origin = headers.get('origin')
  return origin === null ? null : (URL.parse(origin)?.host ?? 'nowhere')
}

const isLocal = (host: string): boolean => isLoopback(host.replace(/:\d+$/, ''))

/** A name or address that can only be this machine. */
export const isLoopback = (host: string): boolean => /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\]|::1)$/i.test(host)

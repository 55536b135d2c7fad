import { Failure } from '../base/failure.ts'
import { wireVersions } from '../chp/manifest.ts'

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

/**
 * Where everybody is let in, only the machine itself may ask: a page from elsewhere whose name was made to point here
 * would have that name as its host or origin.
 */
export function checkOrigin(headers: Headers): void {
  const origin = headers.get('origin')
  const hosts = [headers.get('host'), origin === null ? null : hostOf(origin)]
  if (hosts.every((host) => host === null || isLoopback(host.replace(/:\d+$/, '')))) return
  throw new Failure('origin.not_permitted', 'without credentials only this machine may ask')
}

/** A page that asks must come from where it asks, or from this machine: no other site speaks through a browser here. */
export function checkSameOrigin(headers: Headers): void {
  const origin = headers.get('origin')
  if (origin === null) return
  const host = hostOf(origin)
  if (host === headers.get('host') || isLoopback(host.replace(/:\d+$/, ''))) return
  throw new Failure('origin.not_permitted', 'a page from elsewhere may not ask')
}

const hostOf = (origin: string): string => (URL.canParse(origin) ? new URL(origin).host : 'nowhere')

/** A name or address that can only be this machine. */
export const isLoopback = (host: string): boolean => /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\]|::1)$/i.test(host)

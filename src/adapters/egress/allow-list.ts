import { BlockList, isIP } from 'node:net'
import { Failure, quote } from '../../base/failure.ts'

/** Where requests may go. */
export type AllowList = ReturnType<typeof readAllowList>

/**
 * Entries are an origin (`http://127.0.0.1:8080`), a host, all hosts below one (`*.example.com`), an address or a range
 * of them (`10.1.0.0/16`). With a list, only what is on it is reached; without one, every public address is. A private
 * address is reached only by its origin or its range, a special one only where it is written out itself.
 */
export function readAllowList(entries: readonly string[] | undefined) {
  const { ipv4 = [], ipv6 = [], name = [] } = Object.groupBy(entries ?? [], (entry) => rangeFamily(entry) ?? 'name')
  const names = new Set(name.map(readName))
  const ranges = { ipv4: listOf('ipv4', ipv4), ipv6: listOf('ipv6', ipv6) }
  const isNamed = ({ origin, hostname }: URL): boolean =>
    entries === undefined || [origin, hostname, ...parentsOf(hostname)].some((name) => names.has(name))
  return {
    /** Before anything is looked up: whether any address could be right for it. */
    mayAsk: (url: URL) => isNamed(url) || ipv4.length + ipv6.length > 0,
    /** Whether a request for it may be sent to this address. */
    mayReach: (url: URL, address: string): boolean => {
      const family = familyOf(address)
      if (family !== undefined && ranges[family].check(address, family)) return true
      const reach = reachOf(address)
      if (reach === 'public') return isNamed(url)
      return names.has(url.origin) && (reach === 'private' || hostOf(url) === address)
    },
  }
}

/** The host as a connection takes it: an IPv6 address without its brackets. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '')

/** The family of an entry that is an address or a range of them. */
function rangeFamily(entry: string): Family | undefined {
  const [network = '', bits = '0', ...rest] = entry.split('/')
  const family = familyOf(network)
  if (family === undefined || rest.length > 0) return undefined
  return /^\d{1,3}$/.test(bits) && Number(bits) <= bitsOf[family] ? family : undefined
}

function readName(entry: string): string {
  const isOrigin = entry.includes('://')
  const isBelow = entry.startsWith('*.')
  const url = URL.parse(isOrigin ? entry : `http://${isBelow ? entry.slice(2) : entry}`)
  // What the reader of addresses makes of it must be what is written there: nothing more, and nothing less.
  if (isOrigin && url && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`) return url.origin
  const host = `${isBelow ? '*.' : ''}${url?.hostname ?? ''}`
  if (/^(?:\*\.)?[a-z0-9._-]+$/.test(host) && !isOrigin && host === entry.toLowerCase()) return host
  const message = `${quote(entry)} is no origin, no host and no range of addresses`
  const help = 'write it like `https://api.example.com`, `*.example.com` or `10.0.0.0/8`'
  throw new Failure('config.invalid', message, {}, help)
}

/** `*.b.c` and `*.c` for `a.b.c`. */
function parentsOf(hostname: string): string[] {
  const labels = hostname.split('.')
  return labels.slice(1).map((_, index) => `*.${labels.slice(index + 1).join('.')}`)
}

/**
 * What an address leads to: `public`, anywhere; `private`, this machine or a network of its owner; `special`, what no
 * name should lead to: link-local with the metadata services of clouds, multicast, reserved, and addresses of one
 * family inside the other. What is no address is special.
 */
export function reachOf(address: string): 'public' | 'private' | 'special' {
  const family = familyOf(address)
  if (family === undefined) return 'special'
  if (family === 'ipv6' && !global6.check(address, family)) return own6.check(address, family) ? 'private' : 'special'
  if (family === 'ipv4' && own4.check(address, family)) return 'private'
  return special[family].check(address, family) ? 'special' : 'public'
}

type Family = 'ipv4' | 'ipv6'

/** Undefined for what is no address, and for one that means another thing on every machine: a zone follows it. */
export function familyOf(address: string): Family | undefined {
  const family = address.includes('%') ? 0 : isIP(address)
  return family === 0 ? undefined : family === 4 ? 'ipv4' : 'ipv6'
}

const bitsOf = { ipv4: 32, ipv6: 128 }

/** Of one family only: in a common list an address inside an IPv6 address would count as itself. */
function listOf(family: Family, ranges: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [network = '', bits = bitsOf[family]] = range.split('/')
    list.addSubnet(network, Number(bits), family)
  }
  return list
}

const own4 = listOf('ipv4', ['10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'])
const own6 = listOf('ipv6', ['::1/128', 'fc00::/7'])

// All that is handed out lies in here; so what is outside needs no list: mapped and compatible addresses, NAT64,
// link-local, site-local, multicast.
const global6 = listOf('ipv6', ['2000::/3'])

const special = {
  ipv4: listOf('ipv4', [
    ...['0.0.0.0/8', '169.254.0.0/16', '192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24'],
    ...['198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
  ]),
  // Protocol assignments with Teredo, documentation, and IPv4 inside IPv6.
  ipv6: listOf('ipv6', ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']),
}

import { BlockList } from 'node:net'
import { Failure, quote } from '../../base/failure.ts'
import { familyOf, reachOf } from './addresses.ts'

/** Where requests may go. */
export interface AllowList {
  /** Before anything is looked up: whether any address could be right for it. */
  mayAsk(url: URL): boolean
  /** Whether a request for it may be sent to this address. */
  mayReach(url: URL, address: string): boolean
}

/**
 * Entries are an origin (`http://127.0.0.1:8080`), a host, all hosts below one (`*.example.com`), an address or a range
 * of them (`10.1.0.0/16`). With a list, only what is on it is reached; without one, every public address is. A private
 * address is reached only by its origin or its range, a special one only where it is written out itself.
 */
export function readAllowList(entries: readonly string[] | undefined): AllowList {
  const read = (entries ?? []).map(readEntry)
  const names = new Set(read.flatMap((entry) => ('name' in entry ? [entry.name] : [])))
  const ranges = rangesOf(read)
  const isNamed = ({ origin, hostname }: URL): boolean =>
    entries === undefined || [origin, hostname, ...parentsOf(hostname)].some((name) => names.has(name))
  const isInRange = (address: string): boolean => {
    const family = familyOf(address)
    return family !== undefined && ranges[family].check(address, family)
  }
  return {
    mayAsk: (url) => isNamed(url) || read.some((entry) => 'network' in entry),
    mayReach: (url, address) => {
      if (isInRange(address)) return true
      const reach = reachOf(address)
      if (reach === 'public') return isNamed(url)
      return names.has(url.origin) && (reach === 'private' || hostOf(url) === address)
    },
  }
}

/** The host as a connection takes it: an IPv6 address without its brackets. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '')

interface Range {
  readonly network: string
  readonly bits: number
  readonly family: 'ipv4' | 'ipv6'
}

function readEntry(entry: string): { readonly name: string } | Range {
  const range = rangeOf(entry)
  if (range) return range
  const isOrigin = entry.includes('://')
  const isBelow = entry.startsWith('*.')
  const url = URL.parse(isOrigin ? entry : `http://${isBelow ? entry.slice(2) : entry}`)
  // What the reader of addresses makes of it must be what is written there: nothing more, and nothing less.
  if (isOrigin && url && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`) return { name: url.origin }
  const host = `${isBelow ? '*.' : ''}${url?.hostname ?? ''}`
  if (/^(?:\*\.)?[a-z0-9._-]+$/.test(host) && !isOrigin && host === entry.toLowerCase()) return { name: host }
  const message = `${quote(entry)} is no origin, no host and no range of addresses`
  throw new Failure(
    'config.invalid',
    message,
    {},
    'write it like `https://api.example.com`, `*.example.com` or `10.0.0.0/8`',
  )
}

function rangeOf(entry: string): Range | undefined {
  const [network = '', bits, ...rest] = entry.split('/')
  const family = familyOf(network)
  if (family === undefined || rest.length > 0) return undefined
  const most = family === 'ipv4' ? 32 : 128
  if (bits === undefined) return { network, bits: most, family }
  return /^\d{1,3}$/.test(bits) && Number(bits) <= most ? { network, bits: Number(bits), family } : undefined
}

// One list per family: in a common one an address inside an IPv6 address would count as itself.
function rangesOf(entries: readonly object[]): Readonly<Record<'ipv4' | 'ipv6', BlockList>> {
  const lists = { ipv4: new BlockList(), ipv6: new BlockList() }
  for (const entry of entries as Partial<Range>[])
    if (entry.family) lists[entry.family].addSubnet(entry.network ?? '', entry.bits ?? 0, entry.family)
  return lists
}

/** `*.b.c` and `*.c` for `a.b.c`. */
function parentsOf(hostname: string): string[] {
  const labels = hostname.split('.')
  return labels.slice(1).map((_, index) => `*.${labels.slice(index + 1).join('.')}`)
}

import { BlockList, isIP } from 'node:net'

/**
 * What an address leads to: `public`, anywhere; `private`, this machine or a network of its owner; `special`, what no
 * name should lead to: link-local with the metadata services of clouds, multicast, reserved, and addresses of one
 * family inside the other. What is no address is special.
 */
export type Reach = 'public' | 'private' | 'special'

export function reachOf(address: string): Reach {
  const family = familyOf(address)
  if (family === undefined) return 'special'
  if (family === 'ipv6' && !global6.check(address, family)) return own6.check(address, family) ? 'private' : 'special'
  if (family === 'ipv4' && own4.check(address, family)) return 'private'
  return set[family].check(address, family) ? 'special' : 'public'
}

/** Undefined for what is no address, and for one that means another thing on every machine: a zone follows it. */
export function familyOf(address: string): 'ipv4' | 'ipv6' | undefined {
  const family = address.includes('%') ? 0 : isIP(address)
  return family === 0 ? undefined : family === 4 ? 'ipv4' : 'ipv6'
}

const listOf = (family: 'ipv4' | 'ipv6', ranges: readonly string[]): BlockList => {
  const list = new BlockList()
  for (const range of ranges) {
    const [network = '', bits] = range.split('/')
    list.addSubnet(network, Number(bits), family)
  }
  return list
}

const own4 = listOf('ipv4', ['10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'])
const own6 = listOf('ipv6', ['::1/128', 'fc00::/7'])

// All that is handed out lies in here; so what is outside needs no list: mapped and compatible addresses, NAT64,
// link-local, site-local, multicast.
const global6 = listOf('ipv6', ['2000::/3'])

const set = {
  ipv4: listOf('ipv4', [
    ...['0.0.0.0/8', '169.254.0.0/16', '192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24'],
    ...['198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
  ]),
  // Protocol assignments with Teredo, documentation, and IPv4 inside IPv6.
  ipv6: listOf('ipv6', ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']),
}

import { BlockList, isIP } from 'node:net'

export type Address = { address: string; family: 4 | 6 }

/** The address that the text is, without brackets; undefined where it is a name. */
export function readAddress(text: string): Address | undefined {
  const family = isIP(text)
  // A zone names an interface of this machine.
  if (family === 0 || text.includes('%')) return undefined
  return { address: text, family: family === 4 ? 4 : 6 }
}

/** Whether the address belongs to one host somewhere in the public Internet. */
export function isPublic({ address, family }: Address): boolean {
  if (family === 4) return !RESERVED.check(address, 'ipv4')
  return GLOBAL_UNICAST.check(address, 'ipv6') && !RESERVED.check(address, 'ipv6')
}

/** An IPv4 address written as IPv6 is not loopback: such forms have one meaning too many. */
export function isLoopback({ address, family }: Address): boolean {
  return family === 4 ? LOOPBACK_4.check(address, 'ipv4') : LOOPBACK_6.check(address, 'ipv6')
}

/** By the registries of special-purpose addresses of IANA (RFC 6890). */
const RESERVED = blockListOf([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  // Of the global unicast addresses: Teredo and other protocols, documentation, and 6to4, which
  // like Teredo carries any IPv4 address inside.
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
])

/**
 * Whatever is not in here is not for us: loopback, link-local, unique local, multicast, and the
 * forms that carry an IPv4 address inside (mapped `::ffff:0:0/96`, NAT64 `64:ff9b::/96`).
 */
const GLOBAL_UNICAST = blockListOf(['2000::/3'])

// A list that held both would take `::ffff:127.0.0.1` for its IPv4 half.
const LOOPBACK_4 = blockListOf(['127.0.0.0/8'])
const LOOPBACK_6 = blockListOf(['::1/128'])

function blockListOf(ranges: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [network = '', prefix] = range.split('/')
    list.addSubnet(network, Number(prefix), network.includes(':') ? 'ipv6' : 'ipv4')
  }
  return list
}

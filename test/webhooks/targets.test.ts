import { expect } from 'chai'

import type { Environment } from '../../src/base/config.ts'
import { readAddress, type Address } from '../../src/webhooks/address.ts'
import { createTargets } from '../../src/webhooks/targets.ts'
import { failureOf } from '../fixtures/errors.ts'

const PUBLIC = ['93.184.216.34', '2606:2800:220:1:248:1893:25c8:1946']
const { signal } = new AbortController()

/** Every name has these addresses. */
async function locate(
  url: string,
  options: { environment?: Environment; host?: string; addresses?: readonly string[] } = {},
): Promise<string[]> {
  const { environment = 'production', host = '127.0.0.1', addresses = PUBLIC } = options
  const found: Address[] = addresses.map(
    (text) => readAddress(text) ?? { address: text, family: 6 },
  )
  const targets = createTargets({ environment, host, resolve: async () => found })
  return (await targets.locate(targets.read(url), signal)).map(({ address }) => address)
}

const codeOf = async (...args: Parameters<typeof locate>) =>
  (await failureOf(() => locate(...args))).code

describe('where webhooks may go', () => {
  it('is every public address of a name', async () => {
    expect(await locate('https://hooks.example/a?b=c')).to.deep.equal(PUBLIC)
    expect(await locate('https://hooks.example:8443')).to.deep.equal(PUBLIC)
    expect(await locate('https://93.184.216.34/')).to.deep.equal(['93.184.216.34'])
    expect(await locate('https://[2606:2800:220:1::1]/')).to.deep.equal(['2606:2800:220:1::1'])
  })

  const forbidden: Record<string, readonly string[]> = {
    'this network': ['0.0.0.0', '0.1.2.3', '::'],
    private: ['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', 'fd00::1', 'fc00::1'],
    loopback: ['127.0.0.1', '127.8.8.8', '::1'],
    'link-local': ['169.254.169.254', 'fe80::1', 'fe80::1%eth0', 'fec0::1'],
    'shared by carriers': ['100.64.0.1', '100.127.255.255'],
    multicast: ['224.0.0.1', '239.255.255.255', 'ff02::1'],
    'reserved or for tests': [
      '240.0.0.1',
      '255.255.255.255',
      '192.0.2.1',
      '198.18.0.1',
      '2001:db8::1',
    ],
    'IPv4 inside of IPv6': [
      '::ffff:127.0.0.1',
      '::ffff:93.184.216.34',
      '::127.0.0.1',
      '64:ff9b::7f00:1',
      '64:ff9b:1::a00:1',
      '2002:7f00:1::1',
      '2001:0:7f00:1::1',
    ],
  }
  for (const [kind, addresses] of Object.entries(forbidden)) {
    it(`is no address that is ${kind}, by number or by name`, async () => {
      for (const address of addresses) {
        const isAmong = { addresses: [...PUBLIC, address] }
        expect(await codeOf('https://hooks.example/', isAmong), address).to.equal(
          'address_forbidden',
        )
        if (address.includes('%')) continue
        const url = `https://${address.includes(':') ? `[${address}]` : address}/`
        for (const environment of ['production', 'sandbox'] as const) {
          const isOwn = environment === 'sandbox' && kind === 'loopback'
          const code = isOwn ? 'none' : await codeOf(url, { environment })
          expect(code, url).to.equal(isOwn ? 'none' : 'address_forbidden')
        }
      }
    })
  }

  it('sees through every way to write a number', async () => {
    for (const host of [
      '2130706433',
      '0x7f000001',
      '0x7f.1',
      '0177.0.0.1',
      '017700000001',
      '127.1',
      '127.0.0.1.',
      '０x7f.1',
      '[::ffff:7f00:1]',
      '[0:0:0:0:0:ffff:a00:1]',
      '%31%32%37.0.0.1',
    ]) {
      const code = await codeOf(`https://${host}/`)
      expect(['address_forbidden', 'url_invalid'], host).to.include(code)
    }
    expect(await codeOf('https://2130706433/')).to.equal('address_forbidden')
  })

  it('is no URL with a zone, a user, a password, a fragment or another scheme', async () => {
    for (const url of [
      'https://[fe80::1%25eth0]/',
      'https://[fe80::1%eth0]/',
      'https://user@hooks.example/',
      'https://user:password@hooks.example/',
      'https://:password@hooks.example/',
      'https://hooks.example/#part',
      'https:///path',
      'https://',
      'https://hooks.example/ path',
      'https://hooks.example/\n',
      ' https://hooks.example/',
      'https://hооks.example/',
      'https://hooks.example:99999/',
      'ftp://hooks.example/',
      'file:///etc/passwd',
      'hooks.example',
      '',
      `https://hooks.example/${'a'.repeat(2048)}`,
    ]) {
      expect(await codeOf(url), url).to.equal('url_invalid')
    }
  })

  it('is https only; in the sandbox also this machine by http', async () => {
    expect(await codeOf('http://hooks.example/')).to.equal('url_not_https')
    expect(await codeOf('http://localhost/')).to.equal('url_not_https')
    expect(await codeOf('https://localhost/')).to.equal('address_forbidden')
    const sandbox = { environment: 'sandbox' } as const
    expect(await codeOf('http://hooks.example/', sandbox)).to.equal('url_not_https')
    expect(await codeOf('http://10.0.0.1/', sandbox)).to.equal('url_not_https')
    expect(await locate('http://127.0.0.1:3000/', sandbox)).to.deep.equal(['127.0.0.1'])
    expect(await locate('http://[::1]:3000/', sandbox)).to.deep.equal(['::1'])
    expect(await locate('http://localhost:3000/', sandbox)).to.deep.equal(['127.0.0.1', '::1'])
  })

  it('is this machine only while nobody else reaches us', async () => {
    for (const host of ['127.0.0.1', '::1', 'localhost', '127.8.8.8']) {
      const told = await locate('http://127.0.0.1:3000/', { environment: 'sandbox', host })
      expect(told, host).to.deep.equal(['127.0.0.1'])
    }
    for (const host of ['0.0.0.0', '::', '192.168.1.7', 'box.example', 'localhost.example']) {
      const open = { environment: 'sandbox', host } as const
      expect(await codeOf('http://127.0.0.1:3000/', open), host).to.equal('url_not_https')
      expect(await codeOf('https://localhost:3000/', open), host).to.equal('address_forbidden')
    }
  })

  it('is no name that says it is this machine and has another address', async () => {
    const told = { environment: 'sandbox', addresses: ['127.0.0.1'] } as const
    expect(await locate('http://app.localhost/', told)).to.deep.equal(['127.0.0.1'])
    const lies = { environment: 'sandbox', addresses: ['127.0.0.1', '10.0.0.1'] } as const
    expect(await codeOf('http://app.localhost/', lies)).to.equal('address_forbidden')
    expect(await codeOf('https://hooks.example/', told)).to.equal('address_forbidden')
    expect(await codeOf('http://localhost.hooks.example/', told)).to.equal('url_not_https')
  })

  it('is no name without an address', async () => {
    expect(await codeOf('https://hooks.example/', { addresses: [] })).to.equal('name_unknown')
  })
})

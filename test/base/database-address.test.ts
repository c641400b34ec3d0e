import { expect } from 'chai'

import { nameOfDatabase, parseDatabaseAddress } from '../../src/base/database-address.ts'

function read(text: string) {
  const address = parseDatabaseAddress(text)
  return address && { ...address, hosts: address.hosts.map(({ href }) => href) }
}

describe('the address of a database', () => {
  it('has one host, which may be anything', () => {
    expect(read('postgres://me:p%40ss@db:5432/money?sslmode=require')).to.deep.equal({
      hosts: ['postgres://me:p%40ss@db:5432/money?sslmode=require'],
      needsPrimary: false,
      isPooled: false,
    })
  })

  it('has several hosts with ports of their own, of which one is the primary', () => {
    expect(read('postgresql://me:pw@one:1,two,[::1]:3/money?sslmode=require')).to.deep.equal({
      hosts: [
        'postgresql://me:pw@one:1/money?sslmode=require',
        'postgresql://me:pw@two/money?sslmode=require',
        'postgresql://me:pw@[::1]:3/money?sslmode=require',
      ],
      needsPrimary: true,
      isPooled: false,
    })
  })

  it('may ask one host for the primary, as behind a proxy', () => {
    for (const wanted of ['read-write', 'primary']) {
      expect(read(`postgres://proxy/money?target_session_attrs=${wanted}`)).to.deep.equal({
        hosts: ['postgres://proxy/money'],
        needsPrimary: true,
        isPooled: false,
      })
    }
    expect(read('postgres://proxy/money?target_session_attrs=any')?.needsPrimary).to.equal(false)
  })

  it('may say that PgBouncer stands before it', () => {
    expect(read('postgres://proxy:6432/money?pgbouncer=true&sslmode=require')).to.deep.equal({
      hosts: ['postgres://proxy:6432/money?sslmode=require'],
      needsPrimary: false,
      isPooled: true,
    })
  })

  it('is not read where it asks for a server that cannot write, or is no address', () => {
    for (const text of [
      'postgres://one,two/money?target_session_attrs=standby',
      'postgres://one/money?target_session_attrs=read-only',
      'postgres://one:port,two/money',
      'postgres://one/money?pgbouncer=yes',
      'mysql://one/money',
      'one,two',
      '',
    ]) {
      expect(read(text), text).to.equal(undefined)
    }
  })

  it('is named without user and password', () => {
    expect(nameOfDatabase('postgres://me:hunter2@one,two:6432/money')).to.equal(
      'one:5432, two:6432/money',
    )
  })
})

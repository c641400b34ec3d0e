import { expect } from 'chai'

import { problemOfPassword } from '../../src/domain/passwords.ts'

describe('problemOfPassword', () => {
  it('lets a long password through, whatever it is made of', () => {
    expect(problemOf('correct horse battery staple')).to.equal(undefined)
    expect(problemOf('пароль из слов')).to.equal(undefined)
    expect(problemOf('abcdefghijkl')).to.equal(undefined)
  })

  it('refuses what is short, endless, monotonous or the name itself', () => {
    expect(problemOf('abcdefghijk')).to.contain('at least 12')
    expect(problemOf('😀'.repeat(11))).to.contain('at least 12')
    expect(problemOf('abcdefgh'.repeat(33))).to.contain('at most 256')
    expect(problemOf('ababababababab')).to.contain('different')
    expect(problemOf('i am ALICE, let me in')).to.contain('username')
  })
})

function problemOf(password: string): string | undefined {
  return problemOfPassword({ username: 'alice', password })
}

import { expect } from 'chai'

import { readNewPassword, type Terminal } from '../../src/cli/password.ts'
import { failureOf } from '../fixtures/errors.ts'

describe('readNewPassword', () => {
  it('makes one up, another each time', async () => {
    const passwords = []
    for (let count = 0; count < 2; count++) {
      passwords.push(await read({ generate: true, input: [] }))
    }
    expect(passwords[0]?.isGenerated).to.equal(true)
    expect(passwords[0]?.password).to.match(/^[\w-]{24}$/)
    expect(passwords[0]?.password).not.to.equal(passwords[1]?.password)
  })

  it('reads standard input to its end, and drops one line break', async () => {
    const input = ['correct horse', Buffer.from(' battery staple\r\n')]
    const { password } = await read({ fromStdin: true, input })
    expect(password).to.equal('correct horse battery staple')
    const kept = await read({ fromStdin: true, input: ['two lines \n in a row\n\n'] })
    expect(kept.password).to.equal('two lines \n in a row\n')
  })

  it('asks twice on a terminal and shows nothing of what is typed', async () => {
    const asked: string[] = []
    const raw: boolean[] = []
    const keys = ['open ses', 'amex\u007f 42\r', 'open sesame 42\n']
    const { password } = await read({ input: keys, isTTY: true, asked, raw })
    expect(password).to.equal('open sesame 42')
    expect(asked.join('')).to.equal('Password for alice: \nOnce more: \n')
    expect(raw).to.deep.equal([true, false])
  })

  it('reads both lines when they come at once', async () => {
    const input = ['open sesame 42\ropen sesame 42\r']
    expect((await read({ input, isTTY: true })).password).to.equal('open sesame 42')
  })

  it('gives the terminal back when it is cancelled, or the two differ', async () => {
    const cases: Record<string, string[]> = {
      password_mismatch: ['open sesame 42\r', 'open sesame 43\r'],
      cancelled: ['open ses\u0003'],
      weak_password: ['short\rshort\r'],
    }
    for (const [code, input] of Object.entries(cases)) {
      const raw: boolean[] = []
      const failure = await failureOf(() => read({ input, isTTY: true, raw }))
      expect(failure.code).to.equal(code)
      expect(raw).to.deep.equal([true, false])
    }
  })

  it('refuses what is weak or endless, and a terminal that is none', async () => {
    const endless = Array.from({ length: 100 }, () => 'x'.repeat(1000))
    const inputs = [['short\n'], ['alice and the rest\n'], endless, []]
    for (const input of inputs) {
      const failure = await failureOf(() => read({ fromStdin: true, input }))
      expect(failure.code).to.equal('weak_password')
    }
    const failure = await failureOf(() => read({ input: ['open sesame 42\n'] }))
    expect(failure.code).to.equal('no_terminal')
  })
})

function read(options: {
  input: Array<string | Buffer>
  fromStdin?: boolean
  generate?: boolean
  isTTY?: boolean
  asked?: string[]
  raw?: boolean[]
}) {
  const { input, fromStdin = false, generate = false, isTTY = false } = options
  const terminal: Terminal = {
    isTTY,
    setRawMode: (raw) => options.raw?.push(raw),
    async *[Symbol.asyncIterator]() {
      yield* input
    },
  }
  return readNewPassword(
    { username: 'alice', fromStdin, generate },
    { input: terminal, ask: (text) => void options.asked?.push(text) },
  )
}

import { execFileSync } from 'node:child_process'
import { lstatSync, readFileSync } from 'node:fs'

import { expect } from 'chai'

/** What opens a door by its form alone. */
const FORMS: Readonly<Record<string, RegExp>> = {
  'a private key in PEM': /-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----\s+[\w+/=]{40}/,
  'a key of our own API': /\bsk_(?:live|sandbox)_[0-9A-Za-z]{49}\b/,
  'a secret of a webhook': /\bwhsec_[\w+/]{32,}={0,2}/,
  'a token': /\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{20,}/,
  'a key of a cloud': /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bAIza[\w-]{35}\b/,
  'a token of a code host': /\bgh[pousr]_\w{36}\b|\bgithub_pat_\w{60,}|\bglpat-[\w-]{20}\b/,
  'a token of a registry': /\bnpm_[0-9A-Za-z]{36}\b|_authToken\s*=\s*[\w-]{20,}/,
  'a private key of Ethereum':
    /(?:private|deployer|signer|secret)_?key\w*['"]?\s*[:=]\s*['"`]0x[0-9a-f]{64}['"`]/i,
}

/** They are published, and worth nothing: where each stands, and why. */
const KNOWN: Readonly<Record<string, string>> = {
  'README.md: a key of our own API': 'the printed session of a sandbox that is gone',
  'src/wire/group-a/subscriptions.ts: a secret of a webhook': 'the example of the documents',
}

describe('the repository', () => {
  const files = execFileSync('git', ['ls-files', '-z'], { encoding: 'utf8' })
    .split('\0')
    .filter((path) => path !== '' && lstatSync(path, { throwIfNoEntry: false })?.isFile())

  it('holds no secret but those that everybody knows', () => {
    const found = files.flatMap((path) => {
      const text = readFileSync(path, 'latin1')
      return Object.entries(FORMS)
        .filter(([, form]) => form.test(text))
        .map(([what]) => `${path}: ${what}`)
        .filter((finding) => KNOWN[finding] === undefined)
    })
    expect(found).to.deep.equal([])
  })

  it('holds no file that is one', () => {
    const names = /(?:^|\/)(?:\.env(?:\..*)?|\.npmrc|id_(?:rsa|ed25519)|.*\.(?:pem|p12|pfx|key))$/
    expect(files.filter((path) => names.test(path))).to.deep.equal([])
  })

  it('knows a secret when it sees one', () => {
    const secrets = [
      ['-----BEGIN ', 'PRIVATE KEY-----\n', 'MC4CAQAwBQYDK2VwBCIEI'.repeat(3)],
      ['sk_', 'live_', 'a'.repeat(49)],
      ['whsec_', 'b'.repeat(44)],
      ['eyJhbGciOiJFZERTQSJ9', '.eyJzdWIiOiIxMjM0NTYifQ.', 'c'.repeat(40)],
      ['AKIA', 'Q'.repeat(16)],
      ['ghp_', 'd'.repeat(36)],
      ['npm_', 'e'.repeat(36)],
      ['PRIVATE_KEY = "0x', 'f'.repeat(64), '"'],
    ].map((parts) => parts.join(''))
    const forms = Object.values(FORMS)
    expect(secrets).to.have.length(forms.length)
    for (const [index, secret] of secrets.entries()) expect(secret).to.match(forms[index] ?? /^$/)
  })
})

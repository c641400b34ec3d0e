import { createHmac, generateKeyPairSync, sign } from 'node:crypto'

import { expect } from 'chai'
import { decodeJwt, decodeProtectedHeader, importJWK, SignJWT } from 'jose'

import { createTokens, TOKEN_LIFE_S, type Tokens } from '../../../src/api/access/tokens.ts'
import {
  ensureSigningKey,
  listSigningKeys,
  rotateSigningKey,
} from '../../../src/store/access/signing-keys.ts'
import type { Db } from '../../../src/store/database/database.ts'
import { cpuTimeOf } from '../../engines/bench/cpu.ts'
import { createTestClock, type TestClock } from '../../fixtures/clock.ts'
import { freshDatabase } from '../../fixtures/store/database.ts'

describe('access tokens', () => {
  let db: Db
  let clock: TestClock
  let tokens: Tokens
  let kid: string
  const claims = { userId: 3, generation: 1 }

  beforeEach(async () => {
    ;({ db } = await freshDatabase())
    await ensureSigningKey(db)
    clock = createTestClock()
    tokens = makeTokens()
    kid = (await listSigningKeys(db))[0]?.kid ?? ''
  })

  const makeTokens = (environment: 'sandbox' | 'production' = 'sandbox') =>
    createTokens({ db, clock, environment })

  /** A token by the true key, right in all but what is given. */
  async function forge(
    payload: Record<string, unknown> = {},
    header: Record<string, unknown> = {},
  ): Promise<string> {
    const [key] = await listSigningKeys(db)
    const nowS = Math.floor(clock.now().getTime() / 1000)
    const right = {
      sub: '3',
      gen: 1,
      jti: 'x',
      iss: 'urn:quittance:sandbox',
      aud: 'urn:quittance:sandbox:api',
      iat: nowS,
      nbf: nowS,
      exp: nowS + 3600,
    }
    return new SignJWT({ ...right, ...payload })
      .setProtectedHeader({ alg: 'EdDSA', typ: 'JWT', kid, ...header })
      .sign(await importJWK(key?.privateJwk ?? {}, 'EdDSA'))
  }

  it('prove the user, for an hour', async () => {
    const token = await tokens.issue(claims)
    expect(decodeProtectedHeader(token)).to.deep.equal({ alg: 'EdDSA', typ: 'JWT', kid })
    const payload = decodeJwt(token)
    expect(payload).to.include({ sub: '3', gen: 1, iss: 'urn:quittance:sandbox' })
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).to.equal(TOKEN_LIFE_S)
    expect(await tokens.verify(token)).to.deep.equal(claims)
    expect(await tokens.verify(token)).to.deep.equal(claims)
    clock.advance((TOKEN_LIFE_S + 10) * 1000)
    expect(await tokens.verify(token)).to.equal(undefined)
  })

  it('accept what is forged right, so that the next tests fail for their own reason', async () => {
    expect(await tokens.verify(await forge())).to.deep.equal(claims)
  })

  const nowS = () => Math.floor(clock.now().getTime() / 1000)
  const wrong: Record<string, () => Record<string, unknown>> = {
    'another audience': () => ({ aud: 'urn:quittance:production:api' }),
    'no audience': () => ({ aud: undefined }),
    'the issuer of another environment': () => ({ iss: 'urn:quittance:production' }),
    'no issuer': () => ({ iss: undefined }),
    'an end in the past': () => ({ iat: nowS() - 3700, nbf: nowS() - 3700, exp: nowS() - 100 }),
    'no end': () => ({ exp: undefined }),
    'an end in ten years': () => ({ iat: nowS() - 4000, exp: nowS() + 315_360_000 }),
    'a begin in the future': () => ({ nbf: nowS() + 60 }),
    'an issue in the future': () => ({ iat: nowS() + 60 }),
    'no user': () => ({ sub: undefined }),
    'a user that is no number': () => ({ sub: '3 or 1=1' }),
    'user zero': () => ({ sub: '0' }),
    'no generation': () => ({ gen: undefined }),
    'a generation that is text': () => ({ gen: '1' }),
    'a date that is text': () => ({ exp: '9999999999' }),
  }
  for (const [what, payload] of Object.entries(wrong)) {
    it(`refuse ${what}`, async () => {
      expect(await tokens.verify(await forge(payload()))).to.equal(undefined)
    })
  }

  const headers: Record<string, Record<string, unknown>> = {
    'another type': { typ: 'at+jwt' },
    'no type': { typ: undefined },
    'no key name': { kid: undefined },
    'a path as the key name': { kid: '../../../../dev/null' },
    'SQL as the key name': { kid: "' or '1'='1" },
    'a prototype as the key name': { kid: '__proto__' },
    'a key name that is a list': { kid: ['a'] },
    'an address of another key set': { jku: 'http://127.0.0.1:1/keys', kid: 'mine' },
  }
  for (const [what, header] of Object.entries(headers)) {
    it(`refuse ${what}`, async () => {
      expect(await tokens.verify(await forge({}, header))).to.equal(undefined)
    })
  }

  it('refuse alg none, with and without a signature', async () => {
    const [, payload = '', signature = ''] = (await forge()).split('.')
    for (const alg of ['none', 'None', 'NONE', '']) {
      const head = encode({ alg, typ: 'JWT', kid })
      for (const text of [`${head}.${payload}.`, `${head}.${payload}.${signature}`]) {
        expect(await tokens.verify(text), text).to.equal(undefined)
      }
    }
  })

  it('refuse an HMAC under the public key, in each form that the key is known in', async () => {
    const [key] = await listSigningKeys(db)
    const [, payload = ''] = (await forge()).split('.')
    const secrets = [key?.publicJwk.x ?? '', JSON.stringify(key?.publicJwk)]
    const raw = [
      ...secrets.map((text) => Buffer.from(text)),
      Buffer.from(secrets[0] ?? '', 'base64url'),
    ]
    for (const alg of ['HS256', 'EdDSA']) {
      const head = encode({ alg, typ: 'JWT', kid })
      for (const secret of raw) {
        const mac = createHmac('sha256', secret).update(`${head}.${payload}`).digest('base64url')
        const verified = tokens.verify(`${head}.${payload}.${mac}`).catch((error: Error) => error)
        expect(await verified).to.equal(undefined)
      }
    }
  })

  it('refuse a true signature by a key of their own, sent along or not', async () => {
    const [, payload = ''] = (await forge()).split('.')
    const pair = generateKeyPairSync('ed25519')
    const jwk = pair.publicKey.export({ format: 'jwk' })
    for (const extra of [{}, { jwk }, { crit: ['b64'], b64: true }]) {
      const head = encode({ alg: 'EdDSA', typ: 'JWT', kid, ...extra })
      const own = sign(null, Buffer.from(`${head}.${payload}`), pair.privateKey)
      const token = `${head}.${payload}.${own.toString('base64url')}`
      expect(await tokens.verify(token)).to.equal(undefined)
    }
  })

  it('refuse what is changed by one character, wherever it is', async () => {
    const token = await tokens.issue(claims)
    expect(await tokens.verify(token)).to.deep.equal(claims)
    for (let place = token.length - 1; place >= 0; place -= 8) {
      const other = token[place] === 'A' ? 'B' : 'A'
      const changed = token.slice(0, place) + other + token.slice(place + 1)
      expect(await tokens.verify(changed), String(place)).to.equal(undefined)
    }
    for (const text of [`${token}=`, `${token}.`, ` ${token}`, `${token}\n`, token.slice(0, -1)]) {
      expect(await tokens.verify(text)).to.equal(undefined)
    }
  })

  it('refuse garbage at once, 100 KB of it too', async () => {
    const startedAt = performance.now()
    const big = 'A'.repeat(100_000)
    const texts = [big, `${big}.${big}.${big}`, '.'.repeat(100_000), '', '.', '..', 'a.b.c']
    const odd = [encode(null), encode([]), encode('x'), encode(1)].map((head) => `${head}.e30.AA`)
    for (const text of [...texts, ...odd, 'é.é.é', '\0.\0.\0']) {
      expect(await tokens.verify(text)).to.equal(undefined)
    }
    expect(performance.now() - startedAt).to.be.below(1000)
  })

  it('belong to one environment even under one key', async () => {
    const token = await tokens.issue(claims)
    expect(await makeTokens('production').verify(token)).to.equal(undefined)
  })

  it('live on when the signing key rotates, and later ones carry the new key', async () => {
    const old = await tokens.issue(claims)
    const elsewhere = makeTokens()
    const rotated = await rotateSigningKey(db, { endTokens: false })
    clock.advance(1500)
    // Another process that has never seen the new key looks for it by itself.
    expect(await elsewhere.verify(old)).to.deep.equal(claims)
    const token = await makeTokens().issue(claims)
    expect(decodeProtectedHeader(token).kid).to.equal(rotated.kid)
    clock.advance(1500)
    expect(await elsewhere.verify(token)).to.deep.equal(claims)
    expect(await elsewhere.verify(old)).to.deep.equal(claims)
  })

  it('end within five seconds when the old signing keys are dropped', async () => {
    const token = await tokens.issue(claims)
    expect(await tokens.verify(token)).to.deep.equal(claims)
    await rotateSigningKey(db, { endTokens: true })
    clock.advance(5000)
    expect(await tokens.verify(token)).to.equal(undefined)
  })

  it('are not signed by a retired key after the fact', async () => {
    const [stolen] = await listSigningKeys(db)
    await rotateSigningKey(db, { endTokens: false })
    clock.advance(120_000)
    const atS = nowS()
    const token = await new SignJWT({ gen: 1 })
      .setProtectedHeader({ alg: 'EdDSA', typ: 'JWT', kid })
      .setSubject('3')
      .setIssuer('urn:quittance:sandbox')
      .setAudience('urn:quittance:sandbox:api')
      .setJti('x')
      .setIssuedAt(atS)
      .setNotBefore(atS)
      .setExpirationTime(atS + 3600)
      .sign(await importJWK(stolen?.privateJwk ?? {}, 'EdDSA'))
    expect(await tokens.verify(token)).to.equal(undefined)
  })

  it('cost microseconds once they are known', async () => {
    const token = await tokens.issue(claims)
    await tokens.verify(token)
    const rounds = 5000
    const elapsedMs = await cpuTimeOf(async () => {
      for (let round = 0; round < rounds; round++) await tokens.verify(token)
    })
    expect((elapsedMs / rounds) * 1000).to.be.below(50)
  })
})

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

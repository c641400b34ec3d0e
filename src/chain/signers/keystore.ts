import { createDecipheriv, pbkdf2, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'

import { privateKeyToAddress } from 'viem/accounts'
import { keccak256 } from 'viem/utils'

import { BaseError } from '../../base/errors.ts'
import type { Hex } from '../hex.ts'

/**
 * Reads the private key out of an encrypted keystore, version 3: the form in which geth, ethers and
 * most wallets save one.
 */
export async function decryptKeystore(file: { json: string; password: string }): Promise<Hex> {
  const store = parseKeystore(file.json)
  const derived = await deriveKey(store, file.password)
  const mac = Buffer.from(
    keccak256(Buffer.concat([derived.subarray(16, 32), store.ciphertext]), 'bytes'),
  )
  if (!timingSafeEqual(mac, store.mac)) throw passwordWrong()
  const decipher = createDecipheriv('aes-128-ctr', derived.subarray(0, 16), store.iv)
  const key = Buffer.concat([decipher.update(store.ciphertext), decipher.final()])
  return checkKey(`0x${key.toString('hex')}`, store.address)
}

type Keystore = {
  address: string | undefined
  ciphertext: Buffer
  iv: Buffer
  mac: Buffer
  derivation: Derivation
}

type Derivation =
  | { kind: 'scrypt'; salt: Buffer; n: number; r: number; p: number }
  | { kind: 'pbkdf2'; salt: Buffer; rounds: number }

type Json = Readonly<Record<string, unknown>>

function parseKeystore(text: string): Keystore {
  const top = objectOf(parseJson(text))
  if (Number(top['version']) !== 3) throw unreadable('it is not version 3')
  // Some programs write the name with a capital letter.
  const crypto = objectOf(top['crypto'] ?? top['Crypto'])
  if (crypto['cipher'] !== 'aes-128-ctr') throw unreadable('its cipher is not aes-128-ctr')
  const address = top['address']
  return {
    address: typeof address === 'string' ? address : undefined,
    ciphertext: bytesOf(crypto['ciphertext'], 32),
    iv: bytesOf(objectOf(crypto['cipherparams'])['iv'], 16),
    mac: bytesOf(crypto['mac'], 32),
    derivation: parseDerivation(crypto),
  }
}

function parseDerivation(crypto: Json): Derivation {
  const params = objectOf(crypto['kdfparams'])
  const salt = bytesOf(params['salt'])
  if (Number(params['dklen']) !== KEY_BYTES) throw unreadable('its derived key is not 32 bytes')
  if (crypto['kdf'] === 'scrypt') {
    const n = numberOf(params['n'], MAX_MEMORY_BYTES)
    const r = numberOf(params['r'], 1024)
    const p = numberOf(params['p'], 16)
    // A file must not be able to take all the memory there is.
    if (128 * n * r > MAX_MEMORY_BYTES) throw unreadable('its scrypt parameters are too large')
    return { kind: 'scrypt', salt, n, r, p }
  }
  if (crypto['kdf'] === 'pbkdf2' && params['prf'] === 'hmac-sha256') {
    return { kind: 'pbkdf2', salt, rounds: numberOf(params['c'], MAX_ROUNDS) }
  }
  throw unreadable('its key derivation is neither scrypt nor pbkdf2 with hmac-sha256')
}

const KEY_BYTES = 32
const MAX_MEMORY_BYTES = 512 * 1024 * 1024
const MAX_ROUNDS = 10_000_000

const scryptKey = promisify<string, Buffer, number, object, Buffer>(scrypt)
const pbkdf2Key = promisify(pbkdf2)

async function deriveKey({ derivation }: Keystore, password: string): Promise<Buffer> {
  const secret = password.normalize('NFKC')
  if (derivation.kind === 'pbkdf2') {
    return pbkdf2Key(secret, derivation.salt, derivation.rounds, KEY_BYTES, 'sha256')
  }
  const { salt, n: N, r, p } = derivation
  try {
    const maxmem = MAX_MEMORY_BYTES + 128 * r * p + 1024 * 1024
    return await scryptKey(secret, salt, KEY_BYTES, { N, r, p, maxmem })
  } catch {
    throw unreadable('its scrypt parameters are not valid')
  }
}

/** The address in the file is not under the checksum, so it must follow from the key. */
function checkKey(key: Hex, address: string | undefined): Hex {
  try {
    const actual = privateKeyToAddress(key).slice(2).toLowerCase()
    if (address === undefined || address.toLowerCase().replace(/^0x/, '') === actual) return key
  } catch {
    throw unreadable('its content is not a private key')
  }
  throw unreadable('its address is not that of its key')
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw unreadable('it is not JSON')
  }
}

function objectOf(value: unknown): Json {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Json
  throw unreadable('a part is missing')
}

function bytesOf(value: unknown, length?: number): Buffer {
  const text = typeof value === 'string' ? value.replace(/^0x/, '') : ''
  const bytes = Buffer.from(text, 'hex')
  const isWhole = text.length > 0 && text.length <= 1024 && bytes.length * 2 === text.length
  if (isWhole && (length === undefined || bytes.length === length)) return bytes
  throw unreadable('a part is missing or has the wrong length')
}

function numberOf(value: unknown, max: number): number {
  if (Number.isInteger(value) && Number(value) >= 1 && Number(value) <= max) return Number(value)
  throw unreadable('a parameter of its key derivation is out of range')
}

function unreadable(reason: string): KeystoreError {
  return new KeystoreError(
    `The keystore cannot be read: ${reason}. Use a file of version 3 in QUITTANCE_SIGNER.`,
    { code: 'signer_keystore_unreadable' },
  )
}

function passwordWrong(): KeystoreError {
  return new KeystoreError(
    'The password does not open the keystore. Correct the password file, whose last line break is not part of it.',
    { code: 'signer_password_wrong' },
  )
}

class KeystoreError extends BaseError {
  override readonly name = 'KeystoreError'
}

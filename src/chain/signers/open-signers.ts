import { readFile, stat } from 'node:fs/promises'

import type { Address } from 'viem'

import { BaseError, codeOf } from '../../base/errors.ts'
import { checksummed, parseAddress } from '../hex.ts'
import { decryptKeystore } from './keystore.ts'
import { connectKms, type KmsOptions } from './kms.ts'
import { createSeedSigners } from './seed.ts'
import { createKeySigner, listSigners, type Signer, type Signers } from './signer.ts'
import { connectWeb3Signer } from './web3signer.ts'

/**
 * Opens what QUITTANCE_SIGNER names:
 *
 * - `seed:WORD WORD …` or `seed-file:PATH`, a BIP-39 phrase
 * - `keystore:PATH,PATH#PASSWORD_PATH`, encrypted keystores of version 3 with one password
 * - `web3signer:URL#ADDRESS,ADDRESS`, keys that a Web3Signer keeps
 * - `aws-kms:KEY,KEY` and `gcp-kms:KEY,KEY`, keys in a key management service; `URL#` before them
 *   says where it is
 *
 * Where a list would stand, `@PATH` names a file with one a line, which may grow while the program
 * runs.
 *
 * No error repeats a part of it that may be a secret; a phrase after `seed-file:` is one.
 */
export async function openSigners(setting: string, signal: AbortSignal): Promise<Signers> {
  const [, kind = '', rest = ''] = /^([a-z0-9-]+):(.+)$/s.exec(setting.trim()) ?? []
  switch (kind) {
    case 'seed':
      return createSeedSigners(rest)
    case 'seed-file':
      return createSeedSigners(await readSmall(rest))
    case 'keystore':
      return openKeystores(rest)
    case 'web3signer':
      return openWeb3Signer(rest, signal)
    case 'aws-kms':
    case 'gcp-kms':
      return openKms(kind, rest, signal)
    default:
      throw wrong(
        'it must begin with seed:, seed-file:, keystore:, web3signer:, aws-kms: or gcp-kms:',
      )
  }
}

async function openKeystores(rest: string): Promise<Signers> {
  const [paths = '', passwordPath, ...more] = rest.split('#')
  if (!paths || !passwordPath || more.length > 0) {
    throw wrong('keystore: takes PATH#PASSWORD_PATH, or several paths with commas before the #')
  }
  // An editor ends a file with a line break, which no one means as part of a password.
  const password = (await readSmall(passwordPath)).replace(/\r?\n$/, '')
  const signers = []
  for (const path of listOf(paths)) {
    const key = await decryptKeystore({ json: await readSmall(path), password })
    signers.push(createKeySigner(key))
  }
  requireDistinct(signers.map(({ address }) => address))
  return listSigners('keystore', signers)
}

async function openWeb3Signer(rest: string, signal: AbortSignal): Promise<Signers> {
  const [url = '', list = '', ...more] = rest.split('#')
  if (!isHttp(url) || !list || more.length > 0) {
    throw wrong('web3signer: takes URL#ADDRESS, or several addresses with commas')
  }
  return openList('web3signer', list, signal, (names, signal) => {
    const addresses = names.map((text): Address => {
      const address = parseAddress(text)
      if (address) return checksummed(address)
      throw wrong('after the # there is no address, or its checksum is wrong')
    })
    requireDistinct(addresses)
    return connectWeb3Signer({ url, addresses, signal })
  })
}

async function openKms(kind: KmsOptions['kind'], rest: string, signal: AbortSignal) {
  const [list = '', url, ...more] = rest.split('#').toReversed()
  const isKey = FORMS[kind].test.bind(FORMS[kind])
  return openList(kind, list, signal, (keys, signal) => {
    if (!keys.every(isKey) || (url !== undefined && !isHttp(url)) || more.length > 0) {
      throw wrong(`${kind}: takes ${EXAMPLES[kind]}, or several with commas, or URL# before them`)
    }
    return connectKms({ kind, keys, url, signal })
  })
}

type Connect = (names: readonly string[], signal: AbortSignal) => Promise<Signers>

/** Those that are named, or those in a file, of which only new ones are connected later. */
async function openList(
  kind: Signers['kind'],
  list: string,
  signal: AbortSignal,
  connect: Connect,
): Promise<Signers> {
  const path = /^@(.+)$/.exec(list)?.[1]
  const read = async () => (path === undefined ? listOf(list) : linesOf(await readSmall(path)))
  let names: readonly string[] = []
  let signers: readonly Signer[] = []
  const refresh = async (signal: AbortSignal): Promise<void> => {
    const [wanted, known] = [await read(), names]
    if (known.some((name, place) => wanted[place] !== name)) throw wrong(MOVED)
    requireDistinct(wanted)
    const added = wanted.slice(known.length)
    if (added.length === 0) return
    const connected = await connect(added, signal)
    const all = [...signers, ...added.map((_, place) => connected.at(place))]
    requireDistinct(all.map(({ address }) => address))
    // Another refresh that ran meanwhile read the same lines of the same file.
    if (all.length > signers.length) [names, signers] = [wanted, all]
  }
  await refresh(signal)
  const listed = (): Signers => listSigners(kind, signers)
  return {
    ...listed(),
    get count() {
      return signers.length
    },
    at: (index) => listed().at(index),
    ...(path !== undefined && { refresh }),
  }
}

const MOVED = 'a signer that was in its file is gone or has moved: add new ones at the end'

function linesOf(text: string): string[] {
  return bounded(text.split('\n').flatMap((line) => line.trim() || []))
}

const KEY_RING = String.raw`projects/[\w.:-]+/locations/[\w-]+/keyRings/[\w-]+`
const FORMS = {
  'aws-kms': /^[\w/:-]{1,2048}$/,
  'gcp-kms': new RegExp(String.raw`^${KEY_RING}/cryptoKeys/[\w-]+/cryptoKeyVersions/\d+$`),
}
const EXAMPLES = {
  'aws-kms': 'a key id, an ARN or alias/NAME',
  'gcp-kms': 'projects/P/locations/L/keyRings/R/cryptoKeys/K/cryptoKeyVersions/1',
}

function isHttp(url: string): boolean {
  return ['http:', 'https:'].includes(URL.parse(url)?.protocol ?? '')
}

function listOf(text: string): string[] {
  return bounded(text.split(',').map((item) => item.trim()))
}

function bounded(list: string[]): string[] {
  if (list.length > MAX_SIGNERS) throw wrong(`it names more than ${MAX_SIGNERS} signers`)
  return list
}

/** Two lanes over one account would fight for its nonces. */
function requireDistinct(names: readonly string[]): void {
  if (new Set(names).size < names.length) throw wrong('it names an account twice')
}

async function readSmall(path: string): Promise<string> {
  try {
    const { size } = await stat(path)
    if (size <= MAX_FILE_BYTES) return await readFile(path, 'utf8')
  } catch (error) {
    throw fileUnreadable(path, codeOf(error) ?? 'it cannot be read')
  }
  throw fileUnreadable(path, `it is larger than ${MAX_FILE_BYTES} bytes`)
}

const MAX_SIGNERS = 10_000
const MAX_FILE_BYTES = 4 * 1024 * 1024

function wrong(reason: string): SignerSettingError {
  return new SignerSettingError(`QUITTANCE_SIGNER is not valid: ${reason}. Correct it.`, {
    code: 'signer_setting_wrong',
  })
}

function fileUnreadable(path: string, reason: string): SignerSettingError {
  const shown = /\s/.test(path) ? 'a file' : path
  return new SignerSettingError(
    `QUITTANCE_SIGNER names ${shown}, which cannot be read: ${reason}. Correct the path or its rights.`,
    { code: 'signer_file_unreadable' },
  )
}

class SignerSettingError extends BaseError {
  override readonly name = 'SignerSettingError'
}

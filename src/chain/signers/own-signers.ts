import type { Address, Hex } from 'viem'
import { keccak256 } from 'viem/utils'

import { untilAborted } from '../../base/clock.ts'
import { BaseError, codeOf, messageOf } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import { checksummed, parseAddress } from '../hex.ts'
import { createSigner, listSigners, type Signer, type Signers } from './signer.ts'

/**
 * A signer of your own: `startApp` signs with it, whatever keeps the key. It never chooses nonce,
 * fee or payee. A signature counts only if it is by `address` and of exactly what was asked, and it
 * is checked before anything is stored. You have four seconds. What you throw, and no answer in
 * time, is a 503, and nothing is paid.
 *
 * @example
 *   ```ts
 *   import type { OwnSigner } from 'quittance/server'
 *
 *   declare const vault: {
 *     sign: (key: string, digest: string, signal: AbortSignal) => Promise<`0x${string}`>
 *   }
 *
 *   export const platform: OwnSigner = {
 *     address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
 *     sign: ({ digest }, signal) => vault.sign('settlement', digest, signal),
 *   }
 *   ```
 */
export type OwnSigner = {
  address: Address
  /** Resolves to 65 bytes: r, s, and 27 or 28 (or 0 or 1). */
  sign: (request: SignRequest, signal: AbortSignal) => Promise<Hex>
}

/** What to sign. Use `digest`, or hash `payload` where the key is and read there what it pays. */
export type SignRequest = {
  /** A transaction without its signature, or typed data (EIP-712), which begins with 1901. */
  payload: Hex
  /** The keccak256 of the payload. */
  digest: Hex
}

/**
 * Your signers in their order, or a function that lists them. Signer 0 signs for the platform, and
 * signer N for user N. The function is called again when a user has no signer yet. Its list grows
 * at its end only, because an address belongs to its user.
 */
export type OwnSigners =
  readonly OwnSigner[] | ((signal: AbortSignal) => Promise<readonly OwnSigner[]>)

/** Signers that another program brings, with every signature checked as any other. */
export async function openOwnSigners(own: OwnSigners, signal: AbortSignal): Promise<Signers> {
  const list = typeof own === 'function' ? own : async () => own
  let signers: readonly Signer[] = []
  const refresh = async (signal: AbortSignal): Promise<void> => {
    const within = AbortSignal.any([signal, AbortSignal.timeout(limits.handlerTimeoutMs)])
    const found = read(await untilAborted(within, () => list(within)))
    const moved = signers.findIndex(({ address }, place) => found[place]?.address !== address)
    if (moved !== -1) throw wrong(`signers[${moved}] is no longer ${signers[moved]?.address}`)
    // Another refresh that ran meanwhile read the same list.
    if (found.length > signers.length) signers = [...signers, ...found.slice(signers.length)]
  }
  await refresh(signal)
  if (signers.length === 0) throw wrong('it is empty, and signer 0 signs for the platform')
  const listed = (): Signers => listSigners('own', signers)
  return {
    ...listed(),
    get count() {
      return signers.length
    },
    at: (index) => listed().at(index),
    ...(typeof own === 'function' && { refresh }),
  }
}

/** Mistakes in the list are reported, and none of them is guessed away. */
function read(list: readonly OwnSigner[]): Signer[] {
  if (!Array.isArray(list)) throw wrong('it is not a list')
  const places = new Map<Address, number>()
  return list.map((one: OwnSigner, place) => {
    const address = parseAddress(one.address)
    if (address === undefined) {
      throw wrong(`the address of signers[${place}] is not valid, or its checksum is wrong`)
    }
    if (typeof one.sign !== 'function') throw wrong(`signers[${place}] has no function sign`)
    const earlier = places.get(address)
    if (earlier !== undefined) {
      throw wrong(`signers[${earlier}] and signers[${place}] have the same address`)
    }
    places.set(address, place)
    return ownSigner(one, checksummed(address))
  })
}

function ownSigner(own: OwnSigner, address: Address): Signer {
  return createSigner({
    address,
    async signPayload(payload, signal) {
      const within = AbortSignal.any([signal, AbortSignal.timeout(limits.signerTimeoutMs)])
      const request = { payload, digest: keccak256(payload) }
      try {
        return await untilAborted(within, () => own.sign(request, within))
      } catch (error) {
        signal.throwIfAborted()
        throw failed(address, error)
      }
    },
  })
}

function wrong(reason: string): OwnSignerError {
  return new OwnSignerError(`\`signers\` of startApp is not valid: ${reason}. Correct it.`, {
    code: 'signers_wrong',
  })
}

function failed(address: Address, cause: unknown): OwnSignerError {
  return new OwnSignerError(
    `Your signer of ${address} did not sign: ${messageOf(cause)}. Check it; nothing was sent.`,
    { code: 'signer_failed', retryable: true, cause, details: { address, reason: codeOf(cause) } },
  )
}

class OwnSignerError extends BaseError {
  override readonly name = 'OwnSignerError'
}

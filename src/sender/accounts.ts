import { BaseError } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import type { SignatureNumbers } from '../chain/signers/secp256k1.ts'
import type { Signer, Signers } from '../chain/signers/signer.ts'
import type { Hex } from '../domain/orders.ts'
import type { Db } from '../store/database/database.ts'
import {
  claimAddress,
  findUserIdByAddress,
  listUsersWithOpenNonces,
} from '../store/transactions/addresses.ts'
import type { UnsignedTransaction } from './sign.ts'

/** Which signer signs for whom: number 0 for the platform itself, and a user's id for the user. */
export type Accounts = {
  /** Mints, and pays what no user pays. */
  platform: Hex
  /** The user's own address, in lower case. It stays what it was, or is refused. */
  addressOf: (userId: number) => Promise<Hex>
  sign: (by: Hex, transaction: UnsignedTransaction, signal: AbortSignal) => Promise<Hex>
  /** Signs the payload of typed data. */
  signTyped: (by: Hex, payload: Hex, signal: AbortSignal) => Promise<SignatureNumbers>
  /** Whether it is known who signs, with a key in this process. */
  isHere: (by: Hex) => boolean
}

export async function createAccounts(deps: { signers: Signers; db: Db }): Promise<Accounts> {
  const { signers, db } = deps
  const known = new Map<Hex, Signer>()
  const know = (place: number): Hex => {
    const signer = signers.at(place)
    const address = lower(signer.address)
    known.set(address, signer)
    return address
  }
  const platform = know(PLATFORM)
  // Who has something on its way is known from the start, and all others once they pay.
  for (const userId of await listUsersWithOpenNonces(db)) know(userId)
  // A signer that was added since the start is taken up when its user first needs it.
  const find = async (place: number, signal: AbortSignal): Promise<Hex> => {
    if (place >= signers.count) await signers.refresh?.(signal)
    return know(place)
  }
  const claimed = new Set<number>()
  const signerOf = async (by: Hex, signal: AbortSignal): Promise<Signer | undefined> => {
    if (!known.has(by)) {
      const userId = await findUserIdByAddress(db, by)
      if (userId !== undefined) await find(userId, signal)
    }
    return known.get(by)
  }
  return {
    platform,
    async addressOf(userId) {
      const address = await find(userId, AbortSignal.timeout(limits.handlerTimeoutMs))
      if (claimed.has(userId)) return address
      const first = await claimAddress(db, { userId, address })
      if (first !== address) throw new SignerChangedError({ userId, first, address })
      claimed.add(userId)
      return address
    },
    async sign(by, { nonce, fees, ...call }, signal) {
      const signer = await signerOf(by, signal)
      if (signer === undefined) throw new NoSignerError(by)
      return (await signer.sign({ ...call, nonce: Number(nonce), ...fees }, signal)).raw
    },
    async signTyped(by, payload, signal) {
      const signer = await signerOf(by, signal)
      if (signer === undefined) throw new NoSignerError(by)
      return signer.signTyped(payload, signal)
    },
    isHere: (by) => signers.areHere && known.has(by),
  }
}

export const PLATFORM = 0

export function lower(address: string): Hex {
  return address.toLowerCase() as Hex
}

class SignerChangedError extends BaseError {
  constructor({ userId, first, address }: { userId: number; first: Hex; address: Hex }) {
    super(
      `User ${userId} has the address ${first}, but the signer gives it ${address}. ` +
        'Set QUITTANCE_SIGNER to its old value, or use another database.',
      { code: 'signer_changed', details: { userId, first, address } },
    )
  }
}

class NoSignerError extends BaseError {
  constructor(address: Hex) {
    super(`QUITTANCE_SIGNER no longer has a key for ${address}. Set it to its old value.`, {
      code: 'signer_missing',
      details: { address },
    })
  }
}

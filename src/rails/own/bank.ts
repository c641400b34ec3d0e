import type { InstitutionKind } from '../../domain/gateways.ts'
import type { Bank, BankOrder, BankTransfer } from '../bank.ts'
import { RailError } from '../reply.ts'
import { askOwn, readCode, readText, readWord, requireText } from './ask-own.ts'

/**
 * A bank of your own: `startApp` sends wires and transfers through it.
 *
 * - Give `order.key` to your bank as its idempotency key. Two calls with one key must move money
 *   once, however far apart they are.
 * - Throw a `RefusedError` only if it is certain that no money moves. Anything else that you throw
 *   leaves the outcome unknown, and `find` is asked until it is known.
 * - The platform checks your answer against what it has recorded. A step back, such as from `paid`
 *   to `accepted`, and another `bankId` for the same key are refused.
 *
 * @example
 *   ```ts
 *   import type { BankTransfer, OwnBank } from 'quittance/server'
 *
 *   declare const core: {
 *     pay: (key: string, cents: bigint, to: string) => Promise<string>
 *     statusOf: (key: string) => Promise<{ id: string; status: BankTransfer['state'] } | undefined>
 *   }
 *
 *   export const bank: OwnBank = {
 *     name: 'house',
 *     institutions: [{ id: 7, kind: 'wire' }],
 *     async send({ key, amountMinor, beneficiary }) {
 *       const bankId = await core.pay(key, amountMinor, beneficiary.accountNumber ?? '')
 *       return { bankId, state: 'accepted' }
 *     },
 *     async find({ key }) {
 *       const found = await core.statusOf(key)
 *       return found && { bankId: found.id, state: found.status }
 *     },
 *   }
 *   ```
 */
export type OwnBank = {
  /** A lower-case letter, then up to 15 more or digits. Wires keep it, so never change it. */
  name: string
  /** The ids by which `POST /api/transfers` chooses this bank, and how each sends money. */
  institutions: ReadonlyArray<{ id: number; kind: InstitutionKind }>
  /** It also sends the wires of Group A: `POST /v1/payments` and redeems. One bank can. */
  isDefault?: boolean
  /** Sends the transfer, or finds the one that has this key. */
  send: (order: BankOrder, signal: AbortSignal) => Promise<BankTransfer>
  /** How the transfer stands; undefined only if the bank has certainly never had this key. */
  find: (order: BankOrder, signal: AbortSignal) => Promise<BankTransfer | undefined>
}

/** The bank as the rail asks any other: bounded in time, with answers that are checked. */
export function createOwnBank(own: OwnBank, limits: Limits = {}): Bank {
  const find: Bank['find'] = (order, signal) =>
    askOwn({ signal, ...limits }, async (within) => {
      const found = await own.find(order, within)
      return found === undefined ? undefined : readTransfer(found)
    })
  return {
    send: (order, signal) =>
      askOwn({ signal, ...limits }, async (within) => readTransfer(await own.send(order, within))),
    find,
    async read({ bankId, ...order }, signal) {
      const found = await find(order, signal)
      // The bank has named it before, so it cannot be that there is no such transfer.
      if (found === undefined) throw new RailError('rail_unknown', 'transfer_not_found')
      if (found.bankId !== bankId) throw new RailError('rail_reply_wrong', 'bank_id')
      return found
    },
  }
}

type Limits = { timeoutMs?: number }

const STATES = ['accepted', 'paid', 'returned', 'rejected'] as const

function readTransfer(transfer: BankTransfer): BankTransfer {
  const { bankId, state, reference, code } = transfer
  return {
    bankId: requireText(bankId, { name: 'bank_id' }),
    state: readWord(state, { name: 'state', words: STATES }),
    reference: readText(reference, { name: 'reference' }),
    code: readCode(code, 'code'),
  }
}

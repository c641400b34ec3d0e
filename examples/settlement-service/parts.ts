import { HDNodeWallet } from 'ethers'

import {
  RefusedError,
  type BankTransfer,
  type OwnBank,
  type OwnChargeView,
  type OwnGateway,
  type OwnSigner,
  type Screen,
} from 'quittance/server'

/** In place of your bank's API, which keeps each transfer under its key. */
const transfers = new Map<string, BankTransfer>()

export const bank: OwnBank = {
  name: 'house',
  institutions: [{ id: 7, kind: 'wire' }],
  isDefault: true,
  async send({ key, beneficiary }) {
    if (beneficiary.name === 'Nobody') throw new RefusedError('account_closed')
    // The same key finds the same transfer, so money moves once.
    const transfer = transfers.get(key) ?? { bankId: `house-${key}`, state: 'paid' }
    transfers.set(key, transfer)
    return transfer
  },
  find: async ({ key }) => transfers.get(key),
}

/** In place of your gateway's API. */
const vouchers = new Map<string, OwnChargeView>()
const WEBHOOK_TOKEN = 'a secret that you share with the gateway'

export const gateway: OwnGateway = {
  id: 9,
  kind: 'voucher',
  amounts: { USD: [100n, 50_000n] },
  payer: {
    approval_url: {
      of: 'url',
      description: 'Voucher: the page on which the payer enters its code.',
      example: 'https://vouchers.example/1',
      format: 'uri',
    },
  },
  async create({ transactionId }) {
    const url = `https://vouchers.example/${transactionId}`
    const voucher = vouchers.get(transactionId) ?? {
      status: 'pending',
      externalId: `voucher-${transactionId}`,
      url,
    }
    vouchers.set(transactionId, voucher)
    return voucher
  },
  async read({ transactionId }) {
    const voucher = vouchers.get(transactionId)
    // Not a refusal: the platform asks again.
    if (voucher === undefined) throw new Error('The gateway does not answer.')
    return voucher
  },
  refund: async (_, { refundId }) => ({ state: 'completed', externalId: refundId }),
  async verify({ headers, body }) {
    if (headers['voucher-token'] !== WEBHOOK_TOKEN) return undefined
    return { transactionId: String(body) }
  },
}

/** The payer enters the code, and the gateway reports it by a webhook. */
export async function redeem(platformUrl: string, transactionId: string): Promise<void> {
  const voucher = vouchers.get(transactionId)
  if (voucher !== undefined) vouchers.set(transactionId, { ...voucher, status: 'completed' })
  const headers = { 'voucher-token': WEBHOOK_TOKEN, 'content-type': 'text/plain' }
  const init = { method: 'POST', headers, body: transactionId }
  await fetch(`${platformUrl}/webhooks/gateways/9`, init)
}

/** In place of your vault: the keys of the sandbox, which have ether on its chain. */
const PHRASE = 'test test test test test test test test test test test junk'
const vault = [0, 1, 2].map((n) => HDNodeWallet.fromPhrase(PHRASE, '', `m/44'/60'/0'/0/${n}`))

export const signers: OwnSigner[] = vault.map(({ address, signingKey }) => ({
  address: address as `0x${string}`,
  sign: async ({ digest }) => signingKey.sign(digest).serialized as `0x${string}`,
}))

const sanctioned = new Set(['0x000000000000000000000000000000000000dEaD'])

export const screen: Screen = async ({ address = '' }) =>
  sanctioned.has(address) ? { allowed: false, rule: 'sanctions' } : { allowed: true }

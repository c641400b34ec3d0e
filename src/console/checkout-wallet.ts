import type { CheckoutPermit } from '../wire/checkout-permit.ts'

/** A call of a contract as a wallet takes it, and the chain that it is for. */
export type WalletCall = { chainId: number; to: string; data: string; value: string }

/** A wallet of the browser, by EIP-1193. */
type WalletProvider = {
  request: (call: { method: string; params?: readonly unknown[] }) => Promise<unknown>
}

/** What a wallet says of itself, by EIP-6963; its words are those of a stranger. */
export type AnnouncedWallet = { info: { uuid: string; name: string }; provider: WalletProvider }

/** How the functions that the page calls begin; each argument follows as a word of 32 bytes. */
const SELECTORS: ReadonlyMap<string, string> = new Map([
  ['settle', '0x7d4a9ab8'],
  ['settleToken', '0x44c15f34'],
  ['approve', '0x095ea7b3'],
])

/** Reads the page's link, by EIP-681, so that a wallet pays exactly what the code shows. */
export function callOf(link: string): WalletCall | undefined {
  const [, to = '', chain = '', name = '', query = ''] = LINK.exec(link) ?? []
  const selector = SELECTORS.get(name)
  if (selector === undefined) return undefined
  const fields = query.split('&').map((field) => field.split('=', 2))
  const value = fields.find(([type]) => type === 'value')?.[1] ?? '0'
  const words = fields.flatMap(([type, text = '']) => (type === 'value' ? [] : [wordOf(text)]))
  const data = selector + words.join('')
  return { chainId: Number(chain), to, data, value: hexOf(value) }
}

const LINK = /^ethereum:(0x[0-9a-fA-F]{40})@(\d+)\/(\w+)\?(.*)$/

function wordOf(text: string): string {
  const digits = text.startsWith('0x') ? text.slice(2).toLowerCase() : BigInt(text).toString(16)
  return digits.padStart(64, '0')
}

function hexOf(decimal: string): string {
  return `0x${BigInt(decimal).toString(16)}`
}

/** Asks the wallet to pay; resolves to the hash of the transaction. */
export async function payWith(wallet: AnnouncedWallet, call: WalletCall): Promise<string> {
  return send(wallet, await connect(wallet, call.chainId), call)
}

/** Asks it for a permit, and to pay by it: one signature and one transaction. */
export async function payByPermit(
  wallet: AnnouncedWallet,
  permit: CheckoutPermit,
): Promise<string> {
  const { chainId, token, settlement, reference, payee, amount, deadline } = permit
  const owner = await connect(wallet, chainId)
  const asked = { to: token, data: SELECTOR_OF_NONCES + wordOf(owner) }
  const request = { method: 'eth_call', params: [asked, 'latest'] }
  const nonce = BigInt(String(await wallet.provider.request(request)))
  const signed = await wallet.provider.request({
    method: 'eth_signTypedData_v4',
    params: [owner, JSON.stringify(typedData(permit, { owner, nonce: String(nonce) }))],
  })
  const [, r = '', s = '', last = ''] = SIGNATURE.exec(String(signed)) ?? []
  if (last === '') throw new Error('it cannot sign a permit. Use the two steps below.')
  // Some wallets end a signature with the parity itself.
  const v = (Number(`0x${last}`) % 27) + 27
  const words = [reference, token, payee, amount, String(deadline), String(v), `0x${r}`, `0x${s}`]
  const data = SELECTOR_OF_PERMIT + words.map(wordOf).join('')
  return send(wallet, owner, { chainId, to: settlement, data, value: '0x0' })
}

const SELECTOR_OF_NONCES = '0x7ecebe00'
const SELECTOR_OF_PERMIT = '0x8188b58e'

/** An account that is a contract signs in other forms, which the payment does not take. */
const SIGNATURE = /^0x([0-9a-f]{64})([0-9a-f]{64})(00|01|1b|1c)$/i

function typedData(permit: CheckoutPermit, { owner, nonce }: { owner: string; nonce: string }) {
  const { chainId, name, version, token, settlement: spender, amount: value, deadline } = permit
  return {
    domain: { name, version, chainId, verifyingContract: token },
    primaryType: 'Permit',
    types: {
      EIP712Domain: typed({
        name: 'string',
        version: 'string',
        chainId: 'uint256',
        verifyingContract: 'address',
      }),
      Permit: typed({
        owner: 'address',
        spender: 'address',
        value: 'uint256',
        nonce: 'uint256',
        deadline: 'uint256',
      }),
    },
    message: { owner, spender, value, nonce, deadline: String(deadline) },
  }
}

function typed(fields: Record<string, string>): { name: string; type: string }[] {
  return Object.entries(fields).map(([name, type]) => ({ name, type }))
}

/** Resolves to the account that the wallet lets this page use, on the chain that it pays on. */
async function connect({ provider }: AnnouncedWallet, chain: number): Promise<string> {
  const [account = ''] = (await provider.request({ method: 'eth_requestAccounts' })) as string[]
  const chainId = hexOf(String(chain))
  if ((await provider.request({ method: 'eth_chainId' })) !== chainId) {
    await provider.request({ method: 'wallet_switchEthereumChain', params: [{ chainId }] })
  }
  return account
}

async function send(
  { provider }: AnnouncedWallet,
  from: string,
  { to, data, value }: WalletCall,
): Promise<string> {
  const params = [{ from, to, data, value }]
  return String(await provider.request({ method: 'eth_sendTransaction', params }))
}

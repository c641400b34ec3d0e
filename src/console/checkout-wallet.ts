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
export async function payWith({ provider }: AnnouncedWallet, call: WalletCall): Promise<string> {
  const accounts = (await provider.request({ method: 'eth_requestAccounts' })) as string[]
  const chainId = hexOf(String(call.chainId))
  if ((await provider.request({ method: 'eth_chainId' })) !== chainId) {
    await provider.request({ method: 'wallet_switchEthereumChain', params: [{ chainId }] })
  }
  const { to, data, value } = call
  const transaction = { from: accounts[0], to, data, value }
  return String(await provider.request({ method: 'eth_sendTransaction', params: [transaction] }))
}

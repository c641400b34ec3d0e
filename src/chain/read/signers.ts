import type { Hex } from '../../domain/orders.ts'
import type { MintRight } from '../../domain/signers.ts'
import { data as bytes, quantity } from '../answers.ts'
import type { Providers } from '../rpc/providers.ts'
import { askOne } from './agreed.ts'
import { readIsFrozen } from './frozen.ts'
import { readBalance } from './holdings.ts'
import { readMintRight } from './mint-right.ts'

/** What the chain knows of an address that signs; what no provider says now is undefined. */
export type SignerOnChain = {
  balance: bigint | undefined
  nonce: bigint | undefined
  mint: MintRight | undefined
  /** Whether the token has frozen it. */
  isFrozen: boolean | undefined
}

type Asker = Pick<Providers, 'ask' | 'request'>

export async function readSignerOnChain(
  providers: Asker,
  of: { signer: Hex; mintsIn: Hex | undefined; signal: AbortSignal },
): Promise<SignerOnChain> {
  const { signer, mintsIn, signal } = of
  const [balance, nonce, mint, isFrozen] = await Promise.all([
    readBalance(providers, { holder: signer, signal }).catch(unknown),
    readNonce(providers, { signer, signal }).catch(unknown),
    mintsIn &&
      readMintRight((data) => callToken(providers, { to: mintsIn, data, signal }), signer).catch(
        unknown,
      ),
    mintsIn &&
      readIsFrozen(providers.request, { token: mintsIn, account: signer, signal }).catch(unknown),
  ])
  return { balance, nonce, mint, isFrozen }
}

function unknown(): undefined {
  return undefined
}

async function readNonce(
  providers: Asker,
  { signer, signal }: { signer: Hex; signal: AbortSignal },
): Promise<bigint> {
  const call = { method: 'eth_getTransactionCount', params: [signer, 'latest'], signal }
  return askOne(providers, call, (value) => quantity(value, 'transaction count'))
}

/** What a token answers to a call. */
export async function callToken(
  providers: Asker,
  { to, data, signal }: { to: Hex; data: Hex; signal: AbortSignal },
): Promise<Hex> {
  const call = { method: 'eth_call', params: [{ to, data }, 'latest'], signal }
  return askOne(providers, call, (value) => bytes(value, 'result'))
}

import { data as bytes } from '../../chain/answers.ts'
import { checksummed } from '../../chain/hex.ts'
import type { Quorum } from '../../chain/quorum.ts'
import { readMintRight } from '../../chain/read/mint-right.ts'
import { formatAmount, STABLECOIN_DECIMALS } from '../../domain/money.ts'
import type { Hex, Route } from '../../domain/orders.ts'
import type { MintRight } from '../../domain/signers.ts'
import { firstAnswer } from '../estimate.ts'
import { refused, type OrderRefusedError } from '../refused.ts'

/** Called only for a mint that fails, to report a failure that the right to mint explains. */
export async function mintRefused(
  quorum: Quorum,
  mint: { route: Route; token: Hex | undefined; minter: Hex; amount: bigint },
): Promise<OrderRefusedError | undefined> {
  const { route, token, minter, amount } = mint
  if (route !== 'mint' || token === undefined) return undefined
  const call = async (data: Hex): Promise<Hex> => {
    const params = [{ to: token, data }, 'latest']
    return firstAnswer(quorum, async (provider, signal) =>
      bytes(await provider.request({ method: 'eth_call', params, signal }), 'result'),
    )
  }
  const right = await readMintRight(call, minter).catch(() => undefined)
  const refusal = right && refusalOfMint({ token, minter, amount, right })
  return refusal && refused(refusal.code, refusal.sentence)
}

type MintRefusal = { code: string; sentence: string }

/** Why the platform cannot mint this, or undefined where its right is enough. */
function refusalOfMint(mint: {
  token: Hex
  minter: Hex
  amount: bigint
  right: MintRight
}): MintRefusal | undefined {
  const { amount, right } = mint
  const { allowance, isMinter } = right
  if (allowance >= amount) return undefined
  const [token, minter] = [checksummed(mint.token), checksummed(mint.minter)]
  const remedy = `Its admin calls configureMinter(${minter}, allowance).`
  if (!isMinter) {
    const who = `The platform's address ${minter}`
    const sentence = `${who} is not a minter of the token ${token}. ${remedy}`
    return { code: 'minter_missing', sentence: `Nothing was minted. ${sentence}` }
  }
  if (allowance === 0n) {
    const who = `The platform's address ${minter}`
    const sentence = `${who} has no allowance left to mint the token ${token}.`
    return { code: 'mint_allowance_used_up', sentence: `Nothing was minted. ${sentence} ${remedy}` }
  }
  return {
    code: 'mint_allowance_exceeded',
    sentence:
      `Nothing was minted. The platform can mint ${dollars(allowance)} more of the token ` +
      `${token}, and ${dollars(amount)} were requested. Mint less, or wait until its allowance is raised.`,
  }
}

function dollars(amount: bigint): string {
  return formatAmount({ amount, decimals: STABLECOIN_DECIMALS, minDecimals: 2 })
}

import { checksummed } from '../../chain/hex.ts'
import { formatAmount, STABLECOIN_DECIMALS } from '../../domain/money.ts'
import type { Hex } from '../../domain/orders.ts'
import type { MintRight } from '../../domain/signers.ts'

type MintRefusal = { code: string; sentence: string }

/** Why the platform cannot mint this, or undefined where its right is enough. */
export function refusalOfMint(mint: {
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
      `Nothing was minted. The platform may mint ${dollars(allowance)} more of the token ` +
      `${token}, and ${dollars(amount)} were asked for. Mint less, or wait until its allowance is raised.`,
  }
}

function dollars(amount: bigint): string {
  return formatAmount({ amount, decimals: STABLECOIN_DECIMALS, minDecimals: 2 })
}

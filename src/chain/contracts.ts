import { getAddress, isAddress } from 'viem/utils'

import { settlementAddress } from '../bindings/addresses.ts'
import { BaseError } from '../base/errors.ts'
import type { HexAddress } from '../base/config.ts'
import { callRpc } from './rpc.ts'

/** The contracts that payments go through; one that the chain lacks is undefined. */
export type Contracts = {
  settlement: HexAddress | undefined
  stablecoin: HexAddress | undefined
}

/**
 * What the operator names must be there, or the start fails. The settlement contract has the same
 * address everywhere, so it is found without being named; a stablecoin is not.
 */
export async function findContracts(url: string, named: Contracts): Promise<Contracts> {
  const settlement = await requireCode(url, 'SETTLEMENT_ADDRESS', named.settlement)
  const stablecoin = await requireCode(url, 'STABLECOIN_ADDRESS', named.stablecoin)
  if (settlement !== undefined) return { settlement, stablecoin }
  const isThere = await hasCode(url, settlementAddress)
  return { settlement: isThere ? settlementAddress : undefined, stablecoin }
}

async function requireCode(
  url: string,
  variable: string,
  address: HexAddress | undefined,
): Promise<HexAddress | undefined> {
  if (address === undefined) return undefined
  if (!isAddress(address)) throw new BadChecksumError(variable, address)
  if (!(await hasCode(url, address))) throw new NoContractError(variable, address)
  return getAddress(address)
}

async function hasCode(url: string, address: HexAddress): Promise<boolean> {
  const code = await callRpc({ url, method: 'eth_getCode', params: [address, 'latest'] })
  return typeof code === 'string' && code.length > 2
}

class BadChecksumError extends BaseError {
  constructor(variable: string, address: HexAddress) {
    super(`${variable} is ${address}, whose checksum is wrong. Copy it again.`, {
      code: 'bad_configuration',
    })
  }
}

class NoContractError extends BaseError {
  constructor(variable: string, address: HexAddress) {
    super(
      `There is no contract at ${address} on this chain. Correct ${variable}, or deploy it with: quittance deploy`,
      { code: 'contract_missing', details: { address } },
    )
  }
}

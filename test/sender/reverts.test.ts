import { expect } from 'chai'
import { encodeErrorResult, parseAbi, type Hex } from 'viem'

import { RpcError } from '../../src/chain/rpc/rpc-error.ts'
import { isPause, reasonOfRevert } from '../../src/sender/reverts.ts'

const PAYEE = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
const ABI = parseAbi([
  'error Error(string text)',
  'error EnforcedPause()',
  'error TransferRefused(address payee, uint256 amount, bytes reason)',
])

const reverted = (data: Hex) => new RpcError('it reverted', { code: 'rpc_reverted', data })
const text = (said: string) => encodeErrorResult({ abi: ABI, errorName: 'Error', args: [said] })
const paused = encodeErrorResult({ abi: ABI, errorName: 'EnforcedPause' })
const refused = (reason: Hex) =>
  encodeErrorResult({ abi: ABI, errorName: 'TransferRefused', args: [PAYEE, 5n, reason] })

describe('the reason of a revert', () => {
  it('names the payee whom a token refuses, and what the token said', () => {
    expect(reasonOfRevert(reverted(refused(text('account is blacklisted'))))).to.equal(
      `the token does not pay ${PAYEE}: the contract says "account is blacklisted"`,
    )
    expect(reasonOfRevert(reverted(refused('0x')))).to.contain('gives no reason')
  })

  it('tells a pause by itself, and behind a refused payment', () => {
    for (const data of [paused, text('Pausable: paused')]) {
      expect(isPause(reverted(data))).to.equal(true)
      expect(isPause(reverted(refused(data)))).to.equal(true)
    }
    expect(isPause(reverted(text('the payee paused')))).to.equal(false)
    expect(isPause(reverted(refused(text('frozen'))))).to.equal(false)
  })

  it('opens what a hostile contract has nested only once', () => {
    let data = paused
    for (let depth = 0; depth < 50; depth++) data = refused(data)
    expect(isPause(reverted(data))).to.equal(false)
    expect(reasonOfRevert(reverted(data))).to.have.length.below(200)
  })
})

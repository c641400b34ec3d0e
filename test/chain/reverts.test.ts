import { expect } from 'chai'
import { encodeErrorResult, parseAbi, toFunctionSelector, type Abi, type Hex } from 'viem'

import { referenceDollarAbi, settlementAbi } from '../../src/bindings/abis.ts'
import { reasonOfFailure, reasonOfRevert, sentenceOfSelector } from '../../src/chain/reverts.ts'
import { refusalOf } from '../../src/chain/rpc/rpc-error.ts'

const PAYEE = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
const ABI: Abi = [
  ...referenceDollarAbi,
  ...settlementAbi,
  ...parseAbi(['error Error(string text)']),
]

const data = (errorName: string, ...args: unknown[]) =>
  encodeErrorResult({ abi: ABI, errorName, args })
const text = (said: string) => data('Error', said)
const refused = (reason: Hex) => data('TransferRefused', PAYEE, 5n, reason)
const codeOf = (revert: Hex) => reasonOfRevert(revert)?.code

const answered = (message: string, more: { code?: number; data?: Hex } = {}) =>
  refusalOf({ provider: 'node', method: 'eth_estimateGas' }, { message, ...more })

describe('the reason of a revert', () => {
  it('names what the errors of our contracts and of ERC-6093 mean', () => {
    const meanings = [
      [data('EnforcedPause'), 'token_paused'],
      [data('AccountFrozen', PAYEE), 'account_frozen'],
      [data('MinterAllowanceExceeded', PAYEE, 0n, 5n), 'mint_allowance_exceeded'],
      [data('ERC20InsufficientBalance', PAYEE, 1n, 5n), 'token_balance_too_low'],
      [data('ERC20InsufficientAllowance', PAYEE, 1n, 5n), 'token_allowance_too_low'],
      [data('ERC20InvalidReceiver', PAYEE), 'payee_invalid'],
      [data('PaymentRefused', PAYEE, 5n), 'payee_refuses'],
      [data('IntentExpired', 1n, 2n), 'signature_expired'],
      [data('InsufficientGas', 1n, 2n), 'out_of_gas'],
      [data('ZeroMemo'), 'reverted'],
    ] as const
    for (const [revert, code] of meanings) expect(codeOf(revert), code).to.equal(code)
    expect(reasonOfRevert(data('AccountFrozen', PAYEE))).to.include({ account: PAYEE })
    const short = reasonOfRevert(data('ERC20InsufficientBalance', PAYEE, 1n, 5_000_000n))
    expect(short?.words).to.include('0.000001').and.include('5.00 are needed')
  })

  it('knows the texts of USDC, and quotes any other in one line', () => {
    const texts = [
      ['Pausable: paused', 'token_paused'],
      ['Blacklistable: account is blacklisted', 'account_frozen'],
      ['FiatToken: caller is not a minter', 'minter_missing'],
      ['FiatToken: mint amount exceeds minterAllowance', 'mint_allowance_exceeded'],
      ['ERC20: transfer amount exceeds balance', 'token_balance_too_low'],
      ['ERC20: transfer amount exceeds allowance', 'token_allowance_too_low'],
      ['FiatTokenV2: invalid signature', 'signature_invalid'],
      ['the payee paused', 'reverted'],
    ] as const
    for (const [said, code] of texts) expect(codeOf(text(said)), said).to.equal(code)
    const words = reasonOfRevert(text(`no\n\u001b[31mway ${'x'.repeat(300)}`))?.words
    expect(words).to.match(/^the contract says "no .{0,140}"$/)
  })

  it('names the payee whom a token refuses, and what the token said', () => {
    const reason = reasonOfRevert(refused(text('account is unwelcome')))
    expect(reason).to.include({ code: 'reverted', payee: PAYEE })
    expect(reason?.words).to.equal(
      `the token does not pay ${PAYEE}: the contract says "account is unwelcome"`,
    )
    expect(reasonOfRevert(refused('0x'))).to.include({ code: 'payee_refuses', payee: PAYEE })
    expect(codeOf(refused(data('EnforcedPause')))).to.equal('token_paused')
  })

  it('opens what a hostile contract has nested only once', () => {
    let nested = data('EnforcedPause')
    for (let depth = 0; depth < 50; depth++) nested = refused(nested)
    expect(codeOf(nested)).to.equal('reverted')
    expect(reasonOfRevert(nested)?.words).to.have.length.below(200)
  })

  it('has nothing to say of no data, of unknown data and of data cut short', () => {
    const cut = text('Pausable: paused').slice(0, 80) as Hex
    for (const revert of [undefined, '0x', '0x1234', '0xdeadbeef', cut] as const) {
      expect(reasonOfRevert(revert), revert).to.equal(undefined)
    }
  })
})

describe('the reason of a failed call', () => {
  it('is what the contract says, before what the node says', () => {
    const revert = { code: 3, data: data('EnforcedPause') }
    expect(reasonOfFailure(answered('execution reverted', revert))?.code).to.equal('token_paused')
  })

  it('is what the node says where there is no contract to speak', () => {
    for (const words of ['out of gas', 'gas required exceeds allowance (30000000)']) {
      expect(reasonOfFailure(answered(words))?.code, words).to.equal('out_of_gas')
    }
    for (const words of ['insufficient funds for gas * price + value', 'balance too low']) {
      expect(reasonOfFailure(answered(words))?.code, words).to.equal('no_funds_for_gas')
    }
  })

  it('lets no contract speak as the node', () => {
    const words = 'execution reverted: insufficient funds'
    expect(reasonOfFailure(answered(words, { code: 3 }))).to.equal(undefined)
    expect(reasonOfFailure(new Error('out of gas'))).to.equal(undefined)
  })
})

describe('the reason behind a selector', () => {
  it('is that of the whole error, without what it carries', () => {
    const of = (signature: string) => sentenceOfSelector(toFunctionSelector(signature))
    expect(of('AccountFrozen(address)')).to.equal('The token has frozen an account.')
    expect(of('EnforcedPause()')).to.equal('The token is paused.')
    expect(of('PaymentRefused(address,uint256)')).to.equal('The payee refuses it.')
    expect(of('Error(string)')).to.equal('The contract gives a reason.')
    expect(of('Unheard()')).to.match(/^The error 0x[0-9a-f]{8} is not known here\.$/)
    for (const none of ['0x', '0x00000000'] as const) {
      expect(sentenceOfSelector(none)).to.equal('The payee or the token gives no reason.')
    }
  })

  it('has words for each error of our contracts', () => {
    for (const item of ABI) {
      if (item.type !== 'error') continue
      const { name } = item
      const inputs: ReadonlyArray<{ type: string }> = item.inputs
      const signature = `${name}(${inputs.map(({ type }) => type).join(',')})`
      expect(sentenceOfSelector(toFunctionSelector(signature)), signature)
        .to.match(/^[A-Z]/)
        .and.not.include('undefined')
        .and.not.include('not known')
    }
  })
})

import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import { isShort, type SignerAlertKind, type SignerFacts } from '../../domain/signers.ts'
import type { Db } from '../../store/database/database.ts'
import { closeSignerAlert, openSignerAlert } from '../../store/orders/signers.ts'
import type { SignerReader } from './reader.ts'

/**
 * Opens an alert for what the platform's own signers lack, and closes it when the chain shows that
 * they have it. What no provider says at the moment changes nothing.
 */
export async function watchSigners(
  deps: { db: Db; clock: Clock; logger: Logger; chainId: number; signers: SignerReader },
  signal: AbortSignal,
): Promise<void> {
  const { db, clock, logger, chainId } = deps
  for (const facts of await deps.signers.platform(signal)) {
    for (const [kind, isLacking] of needsOf(facts)) {
      if (isLacking === facts.alerts.some((alert) => alert.kind === kind)) continue
      const key = { kind, chainId, signer: facts.address }
      const change = isLacking ? openSignerAlert : closeSignerAlert
      if (!(await change(db, key, clock.now()))) continue
      const told = { kind, signer: facts.address, balanceWei: String(facts.balance) }
      if (isLacking) logger.warn(told, 'a signer of the platform needs the operator')
      else logger.info(told, 'a signer of the platform has what it needs again')
    }
  }
}

/** Of each kind whether it holds; one that is not told stays as it is. */
function needsOf(facts: SignerFacts): Array<[SignerAlertKind, boolean]> {
  const needs: Array<[SignerAlertKind, boolean]> = []
  const short = isShort(facts)
  if (short !== undefined) needs.push(['signer_funds_low', short])
  const { mint, isFrozen } = facts
  if (isFrozen !== undefined) needs.push(['signer_frozen', isFrozen])
  if (mint === undefined) return needs
  const { isMinter, allowance } = mint
  needs.push(['mint_allowance_used_up', isMinter && allowance === 0n])
  // A platform that never was a minter lacks nothing until somebody asks it to mint.
  if (isMinter) needs.push(['minter_missing', false])
  // How much was asked for is not remembered: any allowance may be enough for the next one.
  if (isMinter && allowance > 0n) needs.push(['mint_allowance_exceeded', false])
  return needs
}

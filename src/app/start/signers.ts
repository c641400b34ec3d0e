import type { Config } from '../../base/config.ts'
import { openSigners } from '../../chain/signers/open-signers.ts'
import { openOwnSigners } from '../../chain/signers/own-signers.ts'
import type { Signers } from '../../chain/signers/signer.ts'
import { findWellKnownSigner } from '../../chain/signers/well-known-signers.ts'
import { SANDBOX_MNEMONIC } from '../chain.ts'
import type { OwnParts } from './own-parts.ts'

/** Opens those that the program brings, those of the setting, or those of the sandbox. */
export async function openAllSigners(
  { config, signers: own }: { config: Pick<Config, 'signer'> } & Pick<OwnParts, 'signers'>,
  signal: AbortSignal,
): Promise<{ signers: Signers; facts: SignerFacts }> {
  const signers = own
    ? await openOwnSigners(own, signal)
    : await openSigners(config.signer ?? `seed:${SANDBOX_MNEMONIC}`, signal)
  const findWellKnown = () => findWellKnownSigner(signers)
  return { signers, facts: { signer: own ? 'own' : config.signer, findWellKnown } }
}

/** What is asked about them before they may sign. */
type SignerFacts = { signer: string | undefined; findWellKnown: () => string | undefined }

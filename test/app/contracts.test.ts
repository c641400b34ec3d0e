import { expect } from 'chai'

import { startChain } from '../../src/app/chain.ts'
import { startContracts } from '../../src/app/contracts.ts'
import { parseConfig } from '../../src/base/config.ts'
import { createLogger } from '../../src/base/logger.ts'
import { createShutdown } from '../../src/base/shutdown.ts'
import { expectFailure } from '../fixtures/errors.ts'
import { temporaryFolder } from '../fixtures/folder.ts'

describe('the contracts of the embedded chain', () => {
  it('are there before the first block is due', async () => {
    const folder = temporaryFolder()
    const config = parseConfig({
      QUITTANCE_DATA: folder.path,
      QUITTANCE_BLOCK_MS: '60000',
      PORT: '0',
    })
    const shutdown = createShutdown()
    const logger = createLogger({ level: 'silent' })
    const ignore = () => undefined
    try {
      const given = { config, logger, shutdown, onEnd: ignore, onEvent: ignore }
      const chain = await startChain(given)
      const { settlement, stablecoin } = await startContracts({ config, chain })
      expect([settlement, stablecoin].every(Boolean)).to.equal(true)
      const expecting = { ...config, stablecoinProfile: 'fiat_token' }
      const start = () => startContracts({ config: expecting, chain })
      await expectFailure(start, 'wrong_profile')
    } finally {
      await shutdown.stop()
      folder.remove()
    }
  })
})

import { temporaryFolder } from '../fixtures/folder.ts'
import { runProgram } from '../fixtures/program.ts'

describe('up', () => {
  it('goes on after kill -9 at any moment of the start', async () => {
    const folder = temporaryFolder()
    const env = { QUITTANCE_DATA: folder.path, PORT: '0', QUITTANCE_BLOCK_MS: '100' }
    for (const delayMs of [150, 300, 450, 600, 900, 1300, 1800, 2500]) {
      const program = runProgram(['up'], env)
      await new Promise((later) => setTimeout(later, delayMs))
      program.kill('SIGKILL')
      await program.ended
    }
    const program = runProgram(['up'], env)
    try {
      await program.untilReady()
    } finally {
      program.kill('SIGTERM')
      await program.ended
      folder.remove()
    }
  })
})

const { writeFileSync } = require('node:fs')

/**
 * A reporter of mocha that writes what failed as JSON. Mocha's own one ends silently, and well, at a
 * value that JSON does not have, such as a bigint that was not the expected one.
 */
module.exports = class {
  constructor(runner, { reporterOptions: { output } }) {
    const failures = []
    let passed = 0
    runner.on('pass', () => void (passed += 1))
    runner.on('fail', (test, { message, stack, code }) => {
      const texts = { message: String(message), stack: String(stack), code: String(code ?? '') }
      failures.push({ title: test.fullTitle(), file: test.file ?? test.parent?.file, ...texts })
    })
    runner.on('end', () => writeFileSync(output, JSON.stringify({ passed, failures })))
  }
}

import { expect } from 'chai'

import { BaseError, codeOf } from '../../src/base/errors.ts'

/** The error that the work ends with; a work that ends well fails the test. */
export async function failureOf(work: () => unknown): Promise<BaseError> {
  try {
    await work()
  } catch (error) {
    if (error instanceof BaseError) return error
    throw error
  }
  throw new Error('expected a failure, but it ended well')
}

/** The error of that code that the work must end with, so that a test can look further into it. */
export async function expectFailure(work: () => unknown, code: string): Promise<BaseError> {
  const error = await failureOf(work)
  expect(error.code).to.equal(code)
  return error
}

/** The code that the database refuses a statement with; undefined where it accepts it. */
export async function databaseCodeOf(work: Promise<unknown>): Promise<string | undefined> {
  try {
    await work
    return undefined
  } catch (error) {
    return codeOf(error)
  }
}

import { BaseError, messageOf } from './errors.ts'
import { limits } from './limits.ts'

export type Shutdown = {
  /** Aborts as soon as the stop begins: from then on nothing new is accepted. */
  begun: AbortSignal
  /** Aborts when what others wait for has ended; every loop and wait watches it. */
  signal: AbortSignal
  /** Registers what others wait for, which is brought to its end before the signal aborts. */
  finish: (name: string, end: () => Promise<void>) => void
  /** Registers a step of the stop. The last one runs first: each depends on those before it. */
  add: (name: string, stop: () => Promise<void> | void) => void
  /**
   * Runs all steps once, however often it is called. Resolves to what went wrong, empty when all
   * was well.
   */
  stop: () => Promise<BaseError[]>
}

export function createShutdown(options: { stepLimitMs?: number } = {}): Shutdown {
  const begun = new AbortController()
  const controller = new AbortController()
  const ends: Step[] = []
  const steps: Step[] = []
  const stepLimitMs = options.stepLimitMs ?? limits.shutdownStepMs
  let stopping: Promise<BaseError[]> | undefined

  return {
    begun: begun.signal,
    signal: controller.signal,
    finish(name, end) {
      if (stopping) throw new StoppingError(name)
      ends.push({ name, stop: end })
    },
    add(name, stop) {
      if (stopping) throw new StoppingError(name)
      steps.push({ name, stop })
    },
    stop() {
      stopping ??= (async () => {
        begun.abort()
        // Each of them has a limit of its own.
        const ended = await Promise.all(ends.map((end) => runStep(end)))
        controller.abort()
        const failures = ended.filter((failure) => failure !== undefined)
        for (const step of steps.toReversed()) {
          const failure = await runStep(step, stepLimitMs)
          if (failure) failures.push(failure)
        }
        return failures
      })()
      return stopping
    },
  }
}

type Step = { name: string; stop: () => Promise<void> | void }

/**
 * A step that hangs must not keep the next ones, the chain's process among them, from being
 * stopped.
 */
async function runStep(step: Step, limitMs?: number): Promise<BaseError | undefined> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<BaseError>((resolve) => {
    if (limitMs === undefined) return
    timer = setTimeout(
      () => resolve(new StopStepError(step.name, `took over ${limitMs} ms`)),
      limitMs,
    )
  })
  const work = (async () => {
    try {
      await step.stop()
      return undefined
    } catch (error) {
      return new StopStepError(step.name, messageOf(error), error)
    }
  })()
  const failure = await Promise.race([work, limit])
  clearTimeout(timer)
  return failure
}

class StoppingError extends BaseError {
  constructor(name: string) {
    super(`${name} was started while the program was stopping. Start the program again.`, {
      code: 'stopping',
    })
  }
}

class StopStepError extends BaseError {
  constructor(name: string, reason: string, cause?: unknown) {
    super(`Stopping ${name} failed: ${reason}.`, { code: 'stop_failed', cause })
  }
}

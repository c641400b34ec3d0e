import { describeFinality } from '../../base/chains/config.ts'
import { systemClock } from '../../base/clock.ts'
import type { Config } from '../../base/config.ts'
import { findRunning } from '../../base/ready.ts'
import { quantity } from '../../chain/answers.ts'
import { createFinal } from '../../chain/read/final.ts'
import { readChainId } from '../../chain/rpc/chain-id.ts'
import { createProviders, type Providers } from '../../chain/rpc/providers.ts'
import { callRpc, nameOfProvider } from '../../chain/rpc/rpc.ts'
import { problemOf, type Report } from './finding.ts'

export type FoundChain = { chainId: number; providers: Providers }

type Asking = { config: Config; signal: AbortSignal; report: Report; clock: Report }

/** Undefined where no provider says which chain it serves. */
export async function checkChain(asking: Asking): Promise<FoundChain | undefined> {
  const { config, report } = asking
  const running = findRunning(config.dataFolder)?.rpcUrl
  const urls = config.rpcUrls.length > 0 ? config.rpcUrls : running === undefined ? [] : [running]
  if (urls.length === 0) {
    report({
      status: 'ok',
      message: 'the program will start its own chain, which is for tests only',
    })
    return undefined
  }
  const chainId = await findChainId(urls, asking)
  if (chainId === undefined) return undefined
  const heads = await Promise.all(urls.map((url) => checkProvider(url, chainId, asking)))
  const known = heads.filter((head) => head !== undefined)
  reportLag(known, asking)
  if (known.length > 0) checkClock(known, asking.clock)
  const providers = createProviders({ urls, chainId, clock: systemClock, random: Math.random })
  if (known.length > 0 && config.name !== undefined) await reportFinal(providers, asking)
  return { chainId, providers }
}

/** Of a chain that a file names it is known; else its providers must agree on it. */
async function findChainId(
  urls: string[],
  { config, report, signal }: Asking,
): Promise<number | undefined> {
  try {
    return config.chainId ?? (await readChainId({ urls, signal, timeoutMs: ANSWER_MS }))
  } catch (error) {
    report(problemOf(error))
    return undefined
  }
}

/** A chain whose nodes know no final block would complete no payment. */
async function reportFinal(
  providers: Providers,
  { config: { confirmations }, report, signal }: Asking,
): Promise<void> {
  const how = describeFinality(confirmations)
  const read = createFinal({ providers, finality: confirmations })
  const final = await read(signal).catch(() => undefined)
  report(
    final === undefined
      ? {
          status: 'warning',
          message: `no block is final yet (${how})`,
          remedy: 'Wait for the chain, or correct `finality` in QUITTANCE_CHAINS.',
        }
      : { status: 'ok', message: `block ${final} is final (${how})` },
  )
}

type Head = { name: string; number: bigint; time: Date }

async function checkProvider(
  url: string,
  chainId: number,
  { config, report, signal }: Asking,
): Promise<Head | undefined> {
  const name = nameOfProvider(url)
  const line = { url, signal, timeoutMs: ANSWER_MS }
  try {
    const served = Number(quantity(await callRpc({ ...line, method: 'eth_chainId' }), 'chain id'))
    if (served !== chainId) {
      const isNamed = config.name !== undefined
      const what = isNamed ? `${config.name} is chain` : 'the others serve chain'
      report({
        status: 'problem',
        message: `${name} serves chain ${served}, and ${what} ${chainId}`,
        remedy: isNamed ? 'Correct its providers in QUITTANCE_CHAINS.' : 'Correct ETH_RPC_URL.',
      })
      return undefined
    }
    const params = ['latest', false]
    const block = await callRpc({ ...line, method: 'eth_getBlockByNumber', params })
    const { number, timestamp } = block as Record<string, unknown>
    const head = {
      name,
      number: quantity(number, 'block number'),
      time: new Date(Number(quantity(timestamp, 'timestamp')) * 1000),
    }
    report({ status: 'ok', message: `${name} serves chain ${chainId}, block ${head.number}` })
    return head
  } catch (error) {
    const { message } = problemOf(error)
    const remedy = 'Check the address, the network and the key of the provider.'
    report({
      status: 'problem',
      message: `${name} does not answer as it should: ${message}`,
      remedy,
    })
    return undefined
  }
}

const ANSWER_MS = 5_000
const MAX_LAG_BLOCKS = 5n

function reportLag(heads: readonly Head[], { report }: Asking): void {
  const highest = heads.reduce((most, { number }) => (number > most ? number : most), 0n)
  for (const { name, number } of heads.filter((head) => highest - head.number > MAX_LAG_BLOCKS)) {
    report({
      status: 'warning',
      message: `${name} is ${highest - number} blocks behind`,
      remedy: 'Wait until it has synchronised, or use another provider.',
    })
  }
}

/** A block is never from the future, and on a chain that lives the newest one is not old. */
function checkClock(heads: readonly Head[], report: Report): void {
  const newest = Math.max(...heads.map(({ time }) => time.getTime()))
  const aheadMs = newest - systemClock.now().getTime()
  if (aheadMs > MAX_AHEAD_MS) {
    const seconds = Math.round(aheadMs / 1000)
    report({
      status: 'problem',
      message: `the clock of this machine is ${seconds} s behind the newest block`,
      remedy: 'Synchronise the clock, for example with chrony or systemd-timesyncd.',
    })
  } else if (-aheadMs > MAX_BEHIND_MS) {
    const minutes = Math.round(-aheadMs / 60_000)
    report({
      status: 'warning',
      message: `the newest block is ${minutes} minutes old: the providers stand still, or the clock is fast`,
      remedy: 'Compare the clock of this machine with another one.',
    })
  } else {
    report({ status: 'ok', message: 'the clock agrees with the newest block' })
  }
}

const MAX_AHEAD_MS = 15_000
const MAX_BEHIND_MS = 10 * 60_000

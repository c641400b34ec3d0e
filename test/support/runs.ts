import { randomBytes } from 'node:crypto'

import type { Endpoint } from '../../src/api/endpoint.ts'
import { breakEndpoints } from '../../src/api/group-b/breaks.ts'
import { runEndpoints } from '../../src/api/group-b/runs.ts'
import { settlementAddress } from '../../src/bindings/addresses.ts'
import { systemClock, type Clock } from '../../src/base/clock.ts'
import { createLogger } from '../../src/base/logger.ts'
import type { Hex } from '../../src/chain/hex.ts'
import { createProviders } from '../../src/chain/providers.ts'
import { breakId } from '../../src/domain/break-ids.ts'
import type { BreakKind } from '../../src/domain/breaks.ts'
import { createExaminer } from '../../src/reconciler/examine.ts'
import { createNode } from '../../src/reconciler/node.ts'
import { createRuns, requestRun, type RunsDeps } from '../../src/reconciler/runs.ts'
import { listBreaks, recordFindings, type OpenBreak } from '../../src/store/breaks.ts'
import type { Db } from '../../src/store/database.ts'
import { findRun, type Run } from '../../src/store/runs.ts'
import { CHAIN_ID } from './sim/world.ts'

/** What runs stand on in a test: a chain of three confirmations, and chunks of two records. */
export function runsDeps(parts: { db: Db; urls: readonly string[] } & Partial<RunsDeps>): RunsDeps {
  const { db, urls, clock = systemClock, ...rest } = parts
  const providers = createProviders({ urls, chainId: CHAIN_ID, clock, random: () => 0.5 })
  const nodes = providers.all.map((provider) => createNode({ provider, confirmations: 3, clock }))
  const settlement = settlementAddress.toLowerCase() as Hex
  const contracts = { settlement, tokens: new Map() }
  return {
    db,
    clock,
    nodes,
    settlement,
    chainId: CHAIN_ID,
    examiner: createExaminer({ chainId: CHAIN_ID, nodes, contracts, clock }),
    providers: providers.all,
    logger: createLogger({ level: 'silent' }),
    randomBytes,
    everyMs: 60_000,
    pollMs: 10,
    chunkRecords: 2,
    ...rest,
  }
}

/** Asks for a run and performs it to its end. */
export async function runOnce(
  deps: RunsDeps,
  of: { since?: Date; until?: Date } = {},
): Promise<Run> {
  const { runId } = await requestRun(deps, { chainId: CHAIN_ID, requestedBy: 'test', ...of })
  await createRuns(deps).pass(new AbortController().signal)
  return (await findRun(deps.db, runId))!
}

/** All breaks, oldest first. */
export async function allBreaks(db: Db, state?: 'open' | 'closed'): Promise<OpenBreak[]> {
  const page = { before: undefined, limit: 1000, now: new Date() }
  return (await listBreaks(db, { chainId: CHAIN_ID, state }, page)).toReversed()
}

export function makeRun(db: Db, clock: Clock = systemClock): Promise<Run> {
  const deps = { db, clock, randomBytes }
  return requestRun(deps, { chainId: CHAIN_ID, requestedBy: 'test' })
}

let made = 0

/** A new break of the kind, as a run found it; gives its id. */
export async function makeBreak(
  db: Db,
  _userId = 0,
  kind: BreakKind = 'missing',
  transactionId = `TXmade${(made += 1)}`,
): Promise<string> {
  const run = await makeRun(db)
  const about = { kind, transactionId, hash: `0x${'ab'.repeat(32)}` }
  const id = breakId({ chainId: CHAIN_ID, ...about })
  const facts = { recorded: { amount: '1' }, onChain: { status: 'not_known' }, evidence: {} }
  await recordFindings(db, [{ id, ...about, ...facts }], {
    chainId: CHAIN_ID,
    source: 'store',
    run: run.id,
    actor: run.runId,
    now: new Date(),
  })
  return id
}

/** The operations, with a check that finds every break as it was. */
export function reconciliationEndpoints(clock: Clock): Endpoint[] {
  return [
    ...runEndpoints({
      chainId: CHAIN_ID,
      requestRun: (db, request) =>
        requestRun({ db, clock, randomBytes }, { ...request, chainId: CHAIN_ID }),
    }),
    ...breakEndpoints({
      chainId: CHAIN_ID,
      clock,
      checks: { check: async () => 'stands', settle: async () => undefined },
    }),
  ]
}

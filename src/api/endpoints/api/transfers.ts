import type { Clock } from '../../../base/clock.ts'
import { actorOf, type Caller } from '../../../domain/access.ts'
import type { Institution } from '../../../domain/gateways.ts'
import { createId, type RandomBytes } from '../../../domain/ids.ts'
import { CURRENCY_DECIMALS } from '../../../domain/money.ts'
import { isRoutingNumber } from '../../../domain/routing-numbers.ts'
import { spendAmount } from '../../../domain/spending.ts'
import { drawForTransfer } from '../../../ledger/wires.ts'
import type { Db } from '../../../store/database/database.ts'
import { spend } from '../../../store/orders/spending.ts'
import {
  findTransferId,
  findWire,
  insertTransfer,
  orderWire,
  type Beneficiary,
} from '../../../store/rails/wires.ts'
import {
  findTransaction,
  recordTransaction,
  type Transaction,
} from '../../../store/transactions/transactions.ts'
import { amountFields, decimalOf, readAmount } from '../../../wire/amounts.ts'
import { RequestError } from '../../../wire/errors.ts'
import { TransactionParamsSchema } from '../../../wire/group-b/transactions.ts'
import {
  TransferCreatedSchema,
  TransferCreateSchema,
  TransferStatusSchema,
  type TransferCreate,
} from '../../../wire/group-b/transfers.ts'
import { invalidRequest } from '../../admission/checks.ts'
import { defineEndpoint, type Endpoint } from '../../admission/endpoint.ts'
import { LIMIT_REFUSALS } from '../../admission/refusals.ts'
import type { Move } from '../../admission/screen.ts'
import { answeringFunds } from '../v1/sides.ts'
import { institutionListEndpoint } from './institutions.ts'
import { requireAmount } from './payments/charges.ts'

export type TransferDeps = {
  institutions: readonly Institution[]
  randomBytes: RandomBytes
  clock: Clock
  /** What is ordered is sent soon even without it. */
  kickWires: () => void
}

export function transferEndpoints(deps: TransferDeps): Endpoint[] {
  return [transferCreate(deps), transferStatus, institutionListEndpoint(deps)]
}

function transferCreate(deps: TransferDeps): Endpoint {
  const { institutions, randomBytes, clock } = deps
  return defineEndpoint({
    route: 'POST /api/transfers',
    operationId: 'createTransfer',
    summary: 'Send money to a bank account',
    description:
      'The money comes from your main wallet, or from the credit line that an administrator set, ' +
      'and returns there. The answer arrives at once; the bank receives the transfer a ' +
      'little later. Without `recipient_info` it goes to the account that the bank keeps on file ' +
      'for the institution. A transfer that is returned after it was completed is `refunded`.',
    tag: 'Transfers',
    access: 'transfers:write',
    body: TransferCreateSchema,
    status: 201,
    answer: TransferCreatedSchema,
    failures: ['insufficient_funds', 'limit_exceeded'],
    refusals: LIMIT_REFUSALS,
    moves: ({ body, caller }) => [moveOf(body, caller)],
    handle: async ({ body, caller, db }) => {
      const institution = requireInstitution(institutions, body)
      const { currency } = body
      const amount = readAmount({ amount: body.amount, currency })
      requireAmount({ amount, currency, limits: institution })
      const transactionId = createId('TX', randomBytes)
      const transferId = createId('TRF', randomBytes)
      const { userId } = caller
      await spend(db, {
        spender: actorOf(caller),
        way: 'transfer',
        currency,
        payee: undefined,
        amount: spendAmount({ amount, decimals: CURRENCY_DECIMALS[currency] }),
        now: clock.now(),
      })
      await answeringFunds(() =>
        drawForTransfer(db, { userId, subject: transactionId, cents: amount }),
      )
      const transaction = await recordTransaction(db, {
        transactionId,
        userId,
        type: 'transfer',
        amount,
        currency,
        description: body.description,
        institutionId: institution.id,
        actor: actorOf(caller),
        reason: 'transfer created',
      })
      await insertTransfer(db, { transactionId, transferId })
      await orderWire(db, {
        userId,
        purpose: 'transfer',
        subject: transactionId,
        method: institution.kind,
        bank: institution.bank,
        amountMinor: amount,
        currency: 'USD',
        beneficiary: beneficiaryOf(body, institution),
      })
      return shown(transaction, transferId)
    },
    subjectsOf: ({ transaction_id: id }) => [id],
    onCommitted: deps.kickWires,
  })
}

/** What it moves, for the screen. */
function moveOf(body: TransferCreate, { userId }: Caller): Move {
  const { institution_id: institutionId, currency, description, recipient_info: to } = body
  const amount = readAmount({ amount: body.amount, currency })
  const beneficiary = to && {
    name: to.name,
    accountNumber: to.account_number,
    routingNumber: to.routing_number,
  }
  return {
    field: to === undefined ? 'institution_id' : 'recipient_info',
    way: 'transfer',
    userId,
    amount: decimalOf({ amount, currency }),
    currency,
    institutionId,
    beneficiary,
    description,
  }
}

const transferStatus = defineEndpoint({
  route: 'GET /api/transfers/{transaction_id}/status',
  operationId: 'getTransferStatus',
  summary: 'Read the state of a transfer',
  tag: 'Transfers',
  access: 'transfers:read',
  params: TransactionParamsSchema,
  answer: TransferStatusSchema,
  handle: async ({ params, caller, db }) => {
    const { transaction, transferId } = await requireTransfer(db, {
      userId: caller.userId,
      transactionId: params.transaction_id,
    })
    const { transactionId: subject } = transaction
    const wire = await findWire(db, { purpose: 'transfer', subject })
    return {
      ...shown(transaction, transferId),
      institution_reference: wire?.reference ?? wire?.bankId ?? null,
      error_code: wire?.code ?? null,
    }
  },
})

async function requireTransfer(
  db: Db,
  wanted: { userId: number; transactionId: string },
): Promise<{ transaction: Transaction; transferId: string }> {
  const transaction = await findTransaction(db, wanted)
  const transferId = transaction && (await findTransferId(db, transaction.transactionId))
  if (transaction === undefined || transferId === undefined) {
    throw new RequestError('not_found', 'You have no transfer of this id.')
  }
  return { transaction, transferId }
}

function requireInstitution(
  institutions: readonly Institution[],
  body: TransferCreate,
): Institution {
  const institution = institutions.find(({ id }) => id === body.institution_id)
  if (institution === undefined) {
    const message = 'There is no institution of this id. GET /api/institutions lists them.'
    throw invalidRequest([{ field: 'institution_id', code: 'unknown_institution', message }])
  }
  if (!institution.currencies.includes(body.currency)) {
    const message = `This institution accepts ${institution.currencies.join(', ')}. Use one.`
    throw invalidRequest([{ field: 'currency', code: 'currency_not_taken', message }])
  }
  const routingNumber = body.recipient_info?.routing_number
  if (routingNumber !== undefined && !isRoutingNumber(routingNumber)) {
    const field = 'recipient_info.routing_number'
    const message = 'Its check digit is wrong. Copy the number once more.'
    throw invalidRequest([{ field, code: 'routing_number_checksum', message }])
  }
  return institution
}

function beneficiaryOf({ recipient_info: recipient }: TransferCreate, institution: Institution) {
  const beneficiary: Beneficiary =
    recipient === undefined
      ? { name: `institution ${institution.id}` }
      : {
          name: recipient.name ?? `account ending in ${recipient.account_number.slice(-4)}`,
          accountNumber: recipient.account_number,
          routingNumber: recipient.routing_number,
        }
  return beneficiary
}

function shown(transaction: Transaction, transferId: string) {
  const { transactionId, status, amount, currency } = transaction
  return {
    success: true as const,
    transaction_id: transactionId,
    transfer_id: transferId,
    status,
    ...amountFields({ amount, currency }),
    currency,
  }
}

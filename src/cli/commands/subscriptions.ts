import { Command, InvalidArgumentError, Option } from 'commander'

import { BaseError } from '../../base/errors.ts'
import { findDelivery, replayDelivery } from '../../store/webhooks/delivery-log.ts'
import {
  deleteSubscription,
  listAllSubscriptions,
  type Subscription,
} from '../../store/webhooks/subscriptions.ts'
import { parseLimit, requireUser, withAccess } from '../access.ts'
import { createOutput, formatTable, formatTime } from '../output.ts'

export function subscriptionsCommand(): Command {
  return new Command('subscriptions')
    .addCommand(listCommand())
    .addCommand(deleteCommand())
    .addCommand(replayCommand())
    .addHelpText('after', `\nExamples:\n${EXAMPLES}`)
}

const EXAMPLES = `  $ quittance subscriptions list --user alice
  $ quittance subscriptions delete b8627ae8-732b-4d25-b947-1df8f4007a29
  $ quittance subscriptions replay 0d9d7a3c-7a0e-4c39-8a3c-2f1b0f3f6f0e   an id of a delivery`

type JsonOption = { json?: boolean }

function listCommand(): Command {
  return new Command('list')
    .description('List the subscriptions, oldest first')
    .option('--user <username>', 'only those of this user')
    .addOption(
      new Option('--limit <count>', 'rows to show, from 1 to 1000')
        .default(100)
        .argParser(parseLimit),
    )
    .addOption(new Option('--after <id>', 'start after this one').argParser(parseUuid))
    .option('--json', 'print the answer as JSON')
    .action(async (options: JsonOption & { user?: string; limit: number; after?: string }) => {
      const output = createOutput(options)
      const { limit, after } = options
      const subscriptions = await withAccess(async (db) => {
        const user = options.user === undefined ? undefined : await requireUser(db, options.user)
        return listAllSubscriptions(db, { userId: user?.id, after, limit })
      })
      output.result({ subscriptions: subscriptions.map(describe) })
      if (subscriptions.length === 0) {
        output.line('There are no subscriptions. Users create them through the API.')
        return
      }
      const headings = ['id', 'user', 'created', 'state', 'types', 'url']
      output.line(formatTable(headings, subscriptions.flatMap(rowsOf)))
      if (subscriptions.length === limit) {
        output.line(`There may be more: --after ${subscriptions.at(-1)?.id}`)
      }
    })
}

function deleteCommand(): Command {
  return new Command('delete')
    .description('Delete a subscription of any user, so that it receives nothing more')
    .argument('<id>', 'from `subscriptions list`', parseUuid)
    .option('--json', 'print the answer as JSON')
    .action(async (id: string, options: JsonOption) => {
      const output = createOutput(options)
      const isDeleted = await withAccess((db) => deleteSubscription(db, { id }))
      if (!isDeleted) throw new SubscriptionNotFoundError(id)
      output.result({ id, deleted: true })
      output.line(`Deleted ${id}. Its deliveries in progress are canceled.`)
    })
}

function replayCommand(): Command {
  return new Command('replay')
    .description('Send a notification again, by the id of its delivery')
    .argument('<id>', 'an id from the list of deliveries', parseUuid)
    .option('--json', 'print the answer as JSON')
    .action(async (id: string, options: JsonOption) => {
      const output = createOutput(options)
      const { delivery, isReplayed } = await withAccess(async (db) => {
        if (!(await findDelivery(db, { id }))) throw new DeliveryNotFoundError(id)
        const replayed = await replayDelivery(db, id)
        return { delivery: await findDelivery(db, { id }), isReplayed: replayed }
      })
      if (!isReplayed && delivery?.endpointState === 'disabled') {
        throw new EndpointDisabledError(delivery.url)
      }
      output.result({ id, url: delivery?.url, replayed: isReplayed })
      output.line(
        isReplayed
          ? `It is sent to ${delivery?.url} as soon as a worker runs.`
          : `It is being sent to ${delivery?.url} now.`,
      )
    })
}

function describe(subscription: Subscription) {
  const { id, userId, username, url, endpoints, createdAt, updatedAt } = subscription
  return { id, userId, username, url, endpoints, createdAt, updatedAt }
}

/** A line for each address. */
function rowsOf({ id, username, createdAt, endpoints }: Subscription): string[][] {
  return endpoints.map(({ url, types, state, disabledCode }) => [
    id,
    username,
    formatTime(createdAt),
    disabledCode ? `${state}: ${disabledCode}` : state,
    types.length === 3 ? 'all' : types.join(' '),
    url,
  ])
}

function parseUuid(text: string): string {
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text)) {
    throw new InvalidArgumentError('An id must be a UUID in lower case.')
  }
  return text
}

class SubscriptionNotFoundError extends BaseError {
  constructor(id: string) {
    super(`There is no subscription ${id}. See: quittance subscriptions list`, {
      code: 'subscription_not_found',
      details: { id },
    })
  }
}

class DeliveryNotFoundError extends BaseError {
  constructor(id: string) {
    super(
      `There is no delivery ${id}. Take an id of ` +
        'GET /v1/notifications/subscriptions/{id}/deliveries.',
      { code: 'delivery_not_found', details: { id } },
    )
  }
}

class EndpointDisabledError extends BaseError {
  constructor(url: string) {
    super(`${url} is disabled. Replay its ping first, or ask its user to subscribe again.`, {
      code: 'endpoint_disabled',
      details: { url },
    })
  }
}

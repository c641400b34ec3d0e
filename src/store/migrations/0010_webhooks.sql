-- What users are told of their payments, transfers and chargebacks, where they want to be told, and every try to do so.

-- The last sequence of each user. Whoever writes a notification holds the row to the end of the transaction, so that
-- sequences have no gaps and stand in the order of the commits: a change that is rolled back gives its number back.
create table notification_counters (
  user_id integer primary key references users (id),
  last_sequence bigint not null check (last_sequence > 0)
);

create table notifications (
  id uuid primary key default gen_random_uuid(),
  user_id integer not null references users (id),
  -- A ping asks an endpoint whether it listens; it tells of no change and has no place among those that do.
  type text not null check (type in ('payments', 'transfers', 'chargebacks', 'transactions', 'batches', 'ping')),
  sequence bigint check (sequence > 0),
  -- The id of the payment or transfer that it tells of; a chargeback tells of the payment that it takes back. It stands
  -- beside the body, which PostgreSQL cannot look into where it has a zero character.
  about text,
  -- The full object as it was; `json` keeps its text, so that each try sends the same bytes.
  body json not null check (json_typeof(body) = 'object'),
  created_at timestamptz(3) not null default now(),
  unique (user_id, sequence),
  check ((type = 'ping') = (sequence is null))
);
create index notifications_age on notifications (created_at);
create index notifications_about on notifications (about) where about is not null;

create table webhook_subscriptions (
  id uuid primary key default gen_random_uuid(),
  user_id integer not null references users (id),
  -- The address for all entries that name none.
  url text check (length(url) between 1 and 2048),
  -- Needed to sign, so it cannot be kept as a hash. A subscription that is deleted keeps none.
  secret text check (secret ~ '^whsec_[A-Za-z0-9+/]{43}=$'),
  -- Signs beside the current one until the receiver has had the time to change.
  previous_secret text check (previous_secret ~ '^whsec_[A-Za-z0-9+/]{43}=$'),
  previous_secret_until timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  check ((previous_secret is null) = (previous_secret_until is null)),
  check ((deleted_at is null) = (secret is not null))
);
create index webhook_subscriptions_user on webhook_subscriptions (user_id, created_at, id) where deleted_at is null;

-- One address of a subscription, with the types that go there.
create table webhook_endpoints (
  id bigint generated always as identity primary key,
  subscription_id uuid not null references webhook_subscriptions (id),
  user_id integer not null references users (id),
  url text not null check (length(url) between 1 and 2048),
  types text[] not null check (
    types <@ array['payments', 'transfers', 'chargebacks', 'transactions', 'batches'] and cardinality(types) > 0
  ),
  -- Pending until it has answered a ping. Only confirmed ones are told anything.
  state text not null default 'pending' check (state in ('pending', 'confirmed', 'disabled')),
  disabled_code text check (disabled_code in ('gone', 'failing', 'unconfirmed', 'deleted')),
  -- Since when no try has succeeded; null after one that has.
  failing_since timestamptz(3),
  unique (subscription_id, url),
  check ((state = 'disabled') = (disabled_code is not null))
);
create index webhook_endpoints_confirmed on webhook_endpoints (user_id) where state = 'confirmed';

-- How far in the log of events a user was told of them.
create table event_followers (
  user_id integer primary key references users (id),
  log_key bigint not null,
  event_id bigint not null
);

-- A notification on its way to one endpoint.
create table webhook_deliveries (
  id uuid primary key default gen_random_uuid(),
  endpoint_id bigint not null references webhook_endpoints (id),
  notification_id uuid not null references notifications (id) on delete cascade,
  state text not null default 'pending' check (state in ('pending', 'delivered', 'failed', 'canceled')),
  -- Tries since it was written or replayed.
  tries integer not null default 0 check (tries >= 0),
  -- While it is leased, the end of the lease.
  due_at timestamptz(3) not null default now(),
  is_leased boolean not null default false,
  -- Raised by each lease: a worker whose lease ran out no longer knows the number, and changes nothing.
  fence integer not null default 0 check (fence >= 0),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  unique (endpoint_id, notification_id),
  check (state = 'pending' or not is_leased)
);
create index webhook_deliveries_waiting on webhook_deliveries (endpoint_id, due_at, id) where state = 'pending';
create index webhook_deliveries_due on webhook_deliveries (due_at) where state = 'pending';
create index webhook_deliveries_list on webhook_deliveries (endpoint_id, created_at, id);
create index webhook_deliveries_newest on webhook_deliveries (created_at, id);
create index webhook_deliveries_notification on webhook_deliveries (notification_id);

-- Every request that was made, and what came of it.
create table webhook_tries (
  id bigint generated always as identity primary key,
  delivery_id uuid not null references webhook_deliveries (id) on delete cascade,
  started_at timestamptz(3) not null,
  duration_ms integer not null check (duration_ms >= 0),
  outcome text not null check (
    outcome in ('delivered', 'refused', 'gone', 'redirected', 'timed_out', 'unreachable', 'forbidden')
  ),
  status integer check (status between 100 and 999),
  -- What a receiver answered may be a secret of whatever the url really is, so its length is kept and not its content.
  answer_bytes integer check (answer_bytes >= 0),
  error text check (length(error) <= 256),
  check ((outcome in ('timed_out', 'unreachable', 'forbidden')) = (error is not null))
);
create index webhook_tries_of on webhook_tries (delivery_id, id);

-- Transactions, every move they made, the log of events, the tallies that make lists fast, and the stored answers of
-- idempotent requests.
--
-- Hashes and addresses are checked by their length and their digits apart: a count in braces takes the engine 5 to 10
-- microseconds a value, six times as long, and such rows are written three or four times for each payment.

-- THE LOG KEY. A reader that asks "what is new since …" must not miss a row whose transaction commits late: sequences
-- are drawn in one order and become visible in another. So each row of a log carries a key from the clock that rules
-- visibility itself, the transaction id, and a reader takes only keys below the horizon: below the oldest transaction
-- that can still write. Under the horizon nothing is ever added, so a place in the log is a place for good.
--
-- Transaction ids begin anew when a dump is restored on another server, and keys must not. The base is what to add to
-- them; `continueLogs` raises it at the start of a program that finds keys from the future.
create table log_clock (
  id boolean primary key default true check (id),
  base bigint not null check (base >= 0)
);

create function log_key_now() returns bigint language sql stable as $$
  select coalesce((select base from log_clock), 0) + pg_current_xact_id()::text::bigint
$$;

create function log_horizon() returns bigint language sql stable as $$
  select coalesce((select base from log_clock), 0) + pg_snapshot_xmin(pg_current_snapshot())::text::bigint
$$;

-- Payments on the chain that were asked for together, of which each is a transaction of its own.
create table batches (
  id bigint generated always as identity primary key,
  batch_id text not null unique check (length(batch_id) = 23 and batch_id ~ '^BAT[0-9]+$'),
  user_id integer not null references users (id),
  currency text not null check (length(currency) between 1 and 32),
  token_decimals integer check (token_decimals between 0 and 18),
  on_failure text not null check (on_failure in ('all_or_nothing', 'each')),
  count integer not null check (count between 1 and 1000),
  amount numeric not null check (amount > 0),
  created_at timestamptz(3) not null default now(),
  -- When the last of them was final.
  done_at timestamptz(3),
  check ((currency in ('USD', 'ETH')) = (token_decimals is null))
);
create index batches_list on batches (user_id, id);

create table transactions (
  id bigint generated always as identity primary key,
  transaction_id text not null unique check (length(transaction_id) = 22 and transaction_id ~ '^TX[0-9]+$'),
  user_id integer not null references users (id),
  type text not null check (type in ('deposit', 'withdrawal', 'transfer', 'payment', 'settlement')),
  status text not null check (status in ('pending', 'processing', 'completed', 'failed', 'refunded')),
  amount numeric not null check (amount > 0 and amount < 1e13),
  currency text not null check (length(currency) between 1 and 32),
  -- How many decimals amounts have where the currency is a token's symbol.
  token_decimals integer check (token_decimals between 0 and 18),
  description text not null check (length(description) between 1 and 512),
  eth_transaction_hash text check (length(eth_transaction_hash) = 66 and eth_transaction_hash ~ '^0x[0-9a-f]+$'),
  institution_id integer check (institution_id > 0),
  gateway_id integer check (gateway_id > 0),
  -- What the client wants to find again. Never an amount: JSON numbers would not be exact.
  metadata jsonb not null default '{}' check (jsonb_typeof(metadata) = 'object'),
  -- Under what the client knows it, which pays it at most once.
  external_id text check (length(external_id) between 1 and 128),
  batch_id text references batches (batch_id),
  batch_place integer check (batch_place >= 0),
  -- Whom it pays on a chain: another one, or for a deposit the user.
  to_address text check (length(to_address) = 42 and to_address ~ '^0x[0-9a-f]+$'),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  -- Of the latest move. The next move takes the greater of this and its own, so that the moves of one transaction stand
  -- in the log in the order in which they were made.
  log_key bigint not null,
  check ((batch_id is null) = (batch_place is null)),
  check ((currency in ('USD', 'EUR', 'GBP', 'ETH')) = (token_decimals is null)),
  -- Dollars that come or leave on a chain have the decimals of the stablecoin.
  check (
    scale(amount) <= case
      when token_decimals is not null then token_decimals
      when currency = 'ETH' then 18
      when currency = 'USD' and type in ('deposit', 'withdrawal') then 6
      else 2 end
  )
);

-- Each filter of the list has an index of its own, in the order of the list: a page is one walk along one of them.
create index transactions_list on transactions (user_id, created_at, id);
create index transactions_list_type on transactions (user_id, type, created_at, id);
create index transactions_list_status on transactions (user_id, status, created_at, id);
create index transactions_list_both on transactions (user_id, type, status, created_at, id);
-- What an operator looks at: everybody's, in one order.
create index transactions_everyones on transactions (created_at, id);
-- An operator looks for the id without the user.
create unique index transactions_external on transactions (external_id, user_id) where external_id is not null;
create unique index transactions_batch on transactions (batch_id, batch_place) where batch_id is not null;
create index transactions_hash on transactions (eth_transaction_hash) where eth_transaction_hash is not null;

-- THE FEATURES. What a transaction is found again by and keeps for good. They stand beside it, since a row that moves
-- writes all of its indexes anew at every move, and these need to be written once. No foreign key: it would be checked
-- for each row, and the trigger below alone writes them.
create table transaction_features (
  internal_id bigint not null,
  user_id integer not null,
  created_at timestamptz(3) not null,
  currency text not null,
  amount numeric not null,
  to_address text
);
create index transaction_features_currency
  on transaction_features (currency, user_id, created_at, internal_id);
create index transaction_features_amount on transaction_features (user_id, currency, amount);
create index transaction_features_address
  on transaction_features (to_address, user_id, created_at, internal_id) where to_address is not null;

-- Each word of the metadata behind its key, which has no "=", as a digest, so that long words fit into the index. Who makes
-- two words of one digest finds both among the own transactions.
create table transaction_words (
  digest uuid not null,
  user_id integer not null,
  created_at timestamptz(3) not null,
  internal_id bigint not null,
  primary key (digest, user_id, created_at, internal_id)
);

create function word_digest(key text, word text) returns uuid language sql immutable as $$
  select md5(key || '=' || word)::uuid
$$;

create function keep_features() returns trigger language plpgsql as $$
begin
  insert into transaction_features (internal_id, user_id, created_at, currency, amount, to_address)
  select id, user_id, created_at, currency, amount, to_address from inserted;
  if exists (select from inserted where metadata <> '{}') then
    insert into transaction_words (digest, user_id, created_at, internal_id)
    select word_digest(key, value), user_id, created_at, id
    from inserted, jsonb_each_text(metadata);
  end if;
  return null;
end $$;

create trigger transactions_features after insert on transactions
  referencing new table as inserted for each statement execute function keep_features();

-- Who moved a transaction, when and why. The first move comes from nowhere.
create table transaction_moves (
  id bigint generated always as identity primary key,
  internal_id bigint not null references transactions (id),
  user_id integer not null references users (id),
  from_status text,
  to_status text not null,
  actor text not null check (length(actor) between 1 and 128),
  reason text not null check (length(reason) between 1 and 512),
  moved_at timestamptz(3) not null default now(),
  log_key bigint not null,
  -- Unknown passes a check, so nowhere has a name here.
  check (
    (coalesce(from_status, ''), to_status) in (
      ('', 'pending'), ('pending', 'processing'), ('pending', 'failed'), ('processing', 'completed'),
      ('processing', 'failed'), ('completed', 'refunded')
    )
  )
);
create index transaction_moves_of on transaction_moves (internal_id, id);
create index transaction_moves_log on transaction_moves (user_id, log_key);

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'rows of % are never changed', tg_table_name using errcode = 'restrict_violation';
end $$;

create trigger transaction_moves_immutable before update or delete on transaction_moves
  for each row execute function refuse_change();

-- What a client can follow with GET /api/events.
create table events (
  id bigint generated always as identity primary key,
  log_key bigint not null,
  user_id integer not null references users (id),
  type text not null check (type ~ '^[a-z_]+\.[a-z_]+$'),
  -- The public id of what it happened to.
  subject text not null check (length(subject) between 1 and 64),
  data jsonb not null check (jsonb_typeof(data) = 'object'),
  created_at timestamptz(3) not null default now()
);
create index events_log on events (user_id, log_key, id);
create index events_everyones on events (log_key, id);

create trigger events_immutable before update or delete on events
  for each row execute function refuse_change();

-- THE TALLIES. One row counts the transactions of one user from `since` up to the next row's `since`, by type and
-- status: about a thousand of them, so that a million transactions are a thousand rows to add up, and an offset is found
-- by adding up and walking through one of them. Moves since the horizon are not counted in yet; a reader adds them.
create table transaction_tallies (
  user_id integer not null references users (id),
  since_at timestamptz(3) not null,
  since_id bigint not null,
  total integer not null,
  counts integer[] not null check (cardinality(counts) = 25 and 0 <= all (counts)),
  primary key (user_id, since_at, since_id)
);

-- Up to where the moves of a user are counted in.
create table tally_horizons (
  user_id integer primary key references users (id),
  log_key bigint not null
);

-- The place of a type and a status in `counts`, from 1.
create function tally_slot(of_type text, of_status text) returns integer language sql immutable as $$
  select (array_position(array['deposit', 'withdrawal', 'transfer', 'payment', 'settlement'], of_type) - 1) * 5
    + array_position(array['pending', 'processing', 'completed', 'failed', 'refunded'], of_status)
$$;

-- The answer to a POST with an Idempotency-Key, written in the transaction that did what it tells of.
create table idempotent_requests (
  user_id integer not null references users (id),
  -- It begins with its group: both have a createPayment and a createTransfer.
  operation text not null check (length(operation) between 1 and 64),
  key text not null check (length(key) between 1 and 255),
  fingerprint text not null check (length(fingerprint) between 1 and 128),
  status integer not null check (status between 200 and 399),
  body text not null,
  created_at timestamptz(3) not null default now(),
  primary key (user_id, operation, key)
);
create index idempotent_requests_age on idempotent_requests (created_at);

-- Reconciliation: runs that compare the records with the chain, the settlements that were read for them, and the breaks
-- that they found.

create table runs (
  id bigint generated always as identity primary key,
  run_id text not null unique check (run_id ~ '^RUN[0-9a-f]{24}$'),
  chain_id bigint not null check (chain_id > 0),
  source text not null check (length(source) between 1 and 128),
  state text not null default 'queued' check (state in ('queued', 'running', 'completed', 'failed')),
  -- Where a run that was stopped goes on: what it was at, and how far it had come with it.
  phase text not null default 'sweep' check (phase in ('sweep', 'records', 'nonces', 'repeats')),
  cursor text,
  -- Counts so far; the program alone reads and writes them.
  totals jsonb not null default '{}' check (jsonb_typeof(totals) = 'object'),
  -- How many records there were when it began, for the time that is left.
  expected bigint not null default 0 check (expected >= 0),
  since_at timestamptz(3),
  until_at timestamptz(3),
  requested_by text not null check (length(requested_by) between 1 and 128),
  error text check (length(error) <= 1000),
  created_at timestamptz(3) not null,
  started_at timestamptz(3),
  updated_at timestamptz(3) not null,
  ended_at timestamptz(3),
  -- How long workers were at it: the time that it lay still between a stop and the next start is none of it.
  worked_ms bigint not null default 0 check (worked_ms >= 0),
  -- Raised by each worker that takes the run: one whose lease ran out no longer knows the number, and writes nothing.
  fence bigint not null default 0,
  leased_until timestamptz(3) not null default '-infinity',
  check ((state in ('completed', 'failed')) = (ended_at is not null))
);
create index runs_open on runs (chain_id, id) where state in ('queued', 'running');
create index runs_latest on runs (chain_id, source, id);

-- What the settlement contract logged in blocks that are final.
create table settled_logs (
  chain_id bigint not null,
  contract text not null,
  block_number bigint not null,
  log_index integer not null,
  block_hash text not null,
  hash text not null,
  reference text not null,
  payer text not null,
  payee text not null,
  token text,
  amount numeric(78, 0) not null check (amount > 0),
  -- What the transaction of a settlement of ours has cost, in wei, by its receipt; null of strangers' and where too few
  -- providers told.
  fee numeric(78, 0) check (fee >= 0),
  -- Which order it pays is known when it is read, since what we sign is stored before it is sent. So a run looks each one
  -- up by its order, and looks for strays among the others alone.
  order_id bigint,
  primary key (chain_id, contract, block_number, log_index),
  constraint settled_logs_words check (
    length(block_hash) = 66 and block_hash ~ '^0x[0-9a-f]+$' and length(hash) = 66 and hash ~ '^0x[0-9a-f]+$'
    and length(reference) = 66 and reference ~ '^0x[0-9a-f]+$'
  ),
  constraint settled_logs_addresses check (
    length(contract) = 42 and contract ~ '^0x[0-9a-f]+$' and length(payer) = 42 and payer ~ '^0x[0-9a-f]+$'
    and length(payee) = 42 and payee ~ '^0x[0-9a-f]+$'
    and (token is null or (length(token) = 42 and token ~ '^0x[0-9a-f]+$'))
  )
);
create index settled_logs_order on settled_logs (order_id) where order_id is not null;
create index settled_logs_strange on settled_logs (chain_id, contract, block_number, log_index) where order_id is null;

-- How far they were read, and the block that stood there: where another one stands now, they are read again.
create table sweep_cursors (
  chain_id bigint not null,
  contract text not null,
  block_number bigint not null,
  block_hash text not null,
  primary key (chain_id, contract)
);

create table breaks (
  id bigint generated always as identity primary key,
  break_id text not null unique check (break_id ~ '^BRK[0-9a-f]{24}$'),
  chain_id bigint not null,
  source text not null check (length(source) between 1 and 128),
  kind text not null check (kind ~ '^[a-z_]{1,64}$'),
  transaction_id text check (length(transaction_id) between 1 and 128),
  hash text check (hash ~ '^0x[0-9a-f]{64}$'),
  recorded jsonb not null check (jsonb_typeof(recorded) = 'object'),
  on_chain jsonb not null check (jsonb_typeof(on_chain) = 'object'),
  evidence jsonb not null check (jsonb_typeof(evidence) = 'object'),
  state text not null default 'open' check (state in ('open', 'closed')),
  -- `resolved`: a run found the cause gone. `operator`: a person decided so.
  closed_as text check (closed_as in ('resolved', 'operator')),
  first_seen_at timestamptz(3) not null,
  last_seen_at timestamptz(3) not null,
  last_run bigint not null references runs (id),
  closed_at timestamptz(3),
  check ((state = 'closed') = (closed_at is not null) and (state = 'closed') = (closed_as is not null))
);
create index breaks_open on breaks (chain_id, kind, first_seen_at) where state = 'open';
create index breaks_open_transaction on breaks (chain_id, source, transaction_id) where state = 'open';
create index breaks_reorged on breaks (transaction_id) where state = 'open' and kind = 'reorged';

-- What happened to a break, and by whom.
create table break_moves (
  id bigint generated always as identity primary key,
  break_key bigint not null references breaks (id),
  action text not null check (action in ('opened', 'reopened', 'resolved', 'closed', 'verified')),
  actor text not null check (length(actor) between 1 and 128),
  note text check (length(note) between 1 and 1000),
  moved_at timestamptz(3) not null
);
create index break_moves_of on break_moves (break_key, id);

create trigger break_moves_immutable before update or delete on break_moves
  for each row execute function refuse_change();

-- What speaks against a transaction, open breaks and alerts, is shown beside it: these find them by it.
create index breaks_against on breaks (transaction_id) where state = 'open' and transaction_id is not null;
create index sender_alerts_of_order on sender_alerts (order_id) where closed_at is null and order_id is not null;

-- Whoever follows the events of a transaction hears of each break and alert about it, whatever opens or closes it.
create function tell_of_objection(about text, event_type text, why text) returns void language sql as $$
  insert into events (log_key, user_id, type, subject, data)
  select greatest(log_key, log_key_now()), user_id, event_type, transaction_id,
    jsonb_build_object('status', status, 'previous_status', status, 'reason', why,
      'eth_transaction_hash', eth_transaction_hash)
  from transactions where transaction_id = about
$$;

create function tell_of_break() returns trigger language plpgsql as $$
begin
  perform tell_of_objection(new.transaction_id,
    case new.state when 'open' then 'transaction.break_opened' else 'transaction.break_closed' end, new.kind);
  return null;
end $$;
create trigger breaks_opened after insert on breaks
  for each row when (new.transaction_id is not null and new.state = 'open') execute function tell_of_break();
create trigger breaks_moved after update of state on breaks
  for each row when (new.transaction_id is not null and new.state <> old.state) execute function tell_of_break();

create function tell_of_alert() returns trigger language plpgsql as $$
begin
  perform tell_of_objection(subject,
    case when new.closed_at is null then 'transaction.alert_opened' else 'transaction.alert_closed' end, new.kind)
  from orders where id = new.order_id or bundle = new.order_id;
  return null;
end $$;
create trigger sender_alerts_opened after insert on sender_alerts
  for each row when (new.order_id is not null) execute function tell_of_alert();
create trigger sender_alerts_moved after update of closed_at on sender_alerts
  for each row when (new.order_id is not null and (new.closed_at is null) <> (old.closed_at is null))
  execute function tell_of_alert();

-- Reconciliation: runs that hold the records against the chain, the settlements that were read for them, and the breaks
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
  contract text not null check (contract ~ '^0x[0-9a-f]{40}$'),
  block_number bigint not null,
  log_index integer not null,
  block_hash text not null check (block_hash ~ '^0x[0-9a-f]{64}$'),
  hash text not null check (hash ~ '^0x[0-9a-f]{64}$'),
  reference text not null check (reference ~ '^0x[0-9a-f]{64}$'),
  payer text not null check (payer ~ '^0x[0-9a-f]{40}$'),
  payee text not null check (payee ~ '^0x[0-9a-f]{40}$'),
  token text check (token ~ '^0x[0-9a-f]{40}$'),
  amount numeric(78, 0) not null check (amount > 0),
  primary key (chain_id, contract, block_number, log_index)
);
create index settled_logs_reference on settled_logs (chain_id, reference);
create index settled_logs_payer on settled_logs (chain_id, payer, block_number);

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

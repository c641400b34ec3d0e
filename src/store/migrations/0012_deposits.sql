-- What arrives on a chain at the addresses of users, by transactions that are not ours.

-- How far the final blocks were read, and from which one on.
create table deposit_cursors (
  chain_id bigint primary key,
  block_number bigint not null check (block_number >= first_block),
  block_hash text not null check (block_hash ~ '^0x[0-9a-f]{64}$'),
  first_block bigint not null check (first_block >= 0),
  -- How often final blocks were replaced. What was read before one of those is not written behind it.
  rewinds bigint not null default 0
);

create table deposits (
  -- The transaction is written behind its deposit, in the same SQL transaction.
  transaction_id text primary key references transactions (transaction_id) deferrable initially deferred,
  chain_id bigint not null,
  transaction_hash text not null check (transaction_hash ~ '^0x[0-9a-f]{64}$'),
  -- The place of the log that tells of it; -1 where the transaction itself carries the coin.
  log_index integer not null check (log_index >= -1),
  payer text not null check (payer ~ '^0x[0-9a-f]{40}$'),
  payee text not null check (payee ~ '^0x[0-9a-f]{40}$' and payee <> payer),
  -- Null: the native coin.
  token text check (token ~ '^0x[0-9a-f]{40}$'),
  amount numeric(78, 0) not null check (amount > 0),
  -- Where it came by the settlement contract, and under which reference.
  contract text check (contract ~ '^0x[0-9a-f]{40}$'),
  reference text check (reference ~ '^0x[0-9a-f]{64}$'),
  block_number bigint not null,
  block_hash text not null check (block_hash ~ '^0x[0-9a-f]{64}$'),
  -- What comes by a bridge takes no gas on some chains.
  gas_used bigint not null check (gas_used >= 0),
  gas_price numeric(78, 0) not null check (gas_price >= 0),
  paid_at timestamptz(3) not null,
  -- Its block is gone. The same transaction may come to stand in another one.
  gone_at timestamptz(3),
  check ((contract is null) = (reference is null))
);
-- One that is gone keeps no place: another one of its transaction may come to stand there.
create unique index deposits_once on deposits (chain_id, transaction_hash, log_index) where gone_at is null;
create index deposits_gone on deposits (chain_id, transaction_hash) where gone_at is not null;
create index deposits_blocks on deposits (chain_id, block_number);

create trigger deposits_immutable before delete on deposits for each row execute function refuse_change();

-- What a transaction of somebody else has brought for a transaction of ours: a deposit, or what has closed a checkout.
create view arrivals as
  select d.transaction_id, d.chain_id, d.transaction_hash, d.log_index, d.payer, d.payee, d.token, d.amount,
    d.contract, d.reference, d.block_number, d.block_hash, d.paid_at, d.gone_at, d.gas_used, d.gas_price
  from deposits d
  union all
  select c.transaction_id, p.chain_id, p.transaction_hash, p.log_index, p.payer, p.payee, p.token, p.amount,
    p.contract, p.reference, p.block_number, p.block_hash, p.paid_at, p.gone_at, c.gas_used, c.gas_price
  from charges c join checkout_payments p on p.id = c.closed_by;

-- What arrives there otherwise and is no deposit: payments of ours, what pays a checkout, and what comes to the platform's
-- own address.
create table own_arrivals (
  chain_id bigint not null,
  transaction_hash text not null check (transaction_hash ~ '^0x[0-9a-f]{64}$'),
  log_index integer not null check (log_index >= -1),
  payee text not null check (payee ~ '^0x[0-9a-f]{40}$'),
  token text check (token ~ '^0x[0-9a-f]{40}$'),
  amount numeric(78, 0) not null check (amount > 0),
  block_number bigint not null,
  primary key (chain_id, transaction_hash, log_index)
);
create index own_arrivals_account on own_arrivals (chain_id, payee, block_number);
create index own_arrivals_blocks on own_arrivals (chain_id, block_number);
create index deposits_account on deposits (chain_id, payee, block_number);

-- What each address of ours held of each coin at a final block, the native coin being the empty token. What it holds
-- later has to be this, and what was recorded since.
create table balances (
  chain_id bigint not null,
  address text not null check (address ~ '^0x[0-9a-f]{40}$'),
  token text not null check (token ~ '^(0x[0-9a-f]{40})?$'),
  block_number bigint not null,
  -- How many transactions the address had signed.
  nonce bigint not null,
  balance numeric(78, 0) not null,
  -- Where it held something else than the records explained then: they may still follow.
  seen_block bigint check (seen_block > block_number),
  seen_nonce bigint,
  seen_balance numeric(78, 0),
  seen_at timestamptz(3),
  checked_at timestamptz(3) not null,
  due_at timestamptz(3) not null,
  primary key (chain_id, address, token),
  check ((seen_block is null) = (seen_at is null) and (seen_block is null) = (seen_balance is null)),
  check ((seen_block is null) = (seen_nonce is null))
);
create index balances_due on balances (chain_id, due_at);

-- Up to which block it is known whose balances moved.
create table balance_cursors (
  chain_id bigint primary key,
  block_number bigint not null
);

-- What no record explains: behind each open break of that kind. A record that comes late closes it.
create table balance_gaps (
  break_id text primary key references breaks (break_id),
  chain_id bigint not null,
  address text not null,
  token text not null,
  from_block bigint not null,
  from_nonce bigint not null,
  to_block bigint not null check (to_block > from_block),
  to_nonce bigint not null,
  -- By what the balance changed between the two.
  moved numeric(78, 0) not null
);

-- What an operator looks at: the platform's health over time, and the receipts that payees were given.

-- One row a minute for each chain, whoever of the workers writes it. Amounts are in wei, and of what was accepted in the last day.
create table overview_samples (
  chain_id bigint not null check (chain_id > 0),
  at timestamptz(3) not null,
  claimed numeric(78, 0) not null check (claimed >= 0),
  settled numeric(78, 0) not null check (settled >= 0),
  in_flight integer not null check (in_flight >= 0),
  oldest_seconds integer not null check (oldest_seconds >= 0),
  providers_well integer not null check (providers_well >= 0),
  open_breaks integer check (open_breaks >= 0),
  -- In millionths of a dollar; null where there is no stablecoin.
  supply numeric(78, 0) check (supply >= 0),
  liability numeric(38, 0),
  primary key (chain_id, at),
  check ((supply is null) = (liability is null))
);

-- What the overview adds up each minute is read once: spans of acceptance in which every order is decided and the claims
-- are what the chain has settled.
create table overview_spans (
  chain_id bigint not null,
  start_at timestamptz(3) not null,
  count bigint not null check (count >= 0),
  wei numeric(78, 0) not null check (wei >= 0),
  primary key (chain_id, start_at)
);

-- A page for the payee. Whoever has the token may read it, so it is as long as a key.
create table receipts (
  token text primary key check (token ~ '^[A-Za-z0-9_-]{43}$'),
  transaction_id text not null unique references transactions (transaction_id),
  -- The file as it was made, since a node may have forgotten the block by the time that somebody asks.
  quittance text not null check (length(quittance) <= 4194304),
  created_at timestamptz(3) not null default now()
);
create trigger receipts_immutable before update or delete on receipts
  for each row execute function refuse_change();

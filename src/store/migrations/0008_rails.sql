-- Money that moves outside of the chain: what was asked of banks and gateways, and how far each has got. Every row that
-- somebody must still look at says so in due_at; a worker takes it by raising the lease, and writes only while it holds.

create table wires (
  id bigint generated always as identity primary key,
  user_id integer not null references users (id),
  purpose text not null check (purpose in ('payment', 'redeem', 'transfer')),
  subject text not null check (length(subject) between 1 and 64),
  method text not null check (method in ('wire', 'ach')),
  amount_minor bigint not null check (amount_minor > 0),
  currency text not null check (currency = 'USD'),
  beneficiary_name text not null check (length(beneficiary_name) between 1 and 140),
  address_line1 text check (length(address_line1) between 1 and 140),
  account_number text check (account_number ~ '^[0-9A-Za-z-]{1,34}$'),
  routing_number text check (routing_number ~ '^[0-9]{9}$'),
  state text not null default 'ordered' check (state in ('ordered', 'accepted', 'paid', 'returned', 'rejected')),
  -- The bank's name for it. Two of ours can never be one of theirs.
  bank_id text unique check (length(bank_id) between 1 and 128),
  reference text check (length(reference) between 1 and 128),
  code text check (code ~ '^[a-z0-9_]{1,64}$'),
  -- What kept the last look from telling anything.
  trouble text check (length(trouble) between 1 and 64),
  ordered_at timestamptz(3) not null default now(),
  paid_at timestamptz(3),
  due_at timestamptz(3) default '-infinity',
  lease integer not null default 0,
  tries integer not null default 0,
  unique (purpose, subject),
  check ((account_number is null) = (routing_number is null)),
  check (state not in ('accepted', 'paid', 'returned') or bank_id is not null)
);
create index wires_due on wires (due_at) where due_at is not null;

create function keep_wire() returns trigger language plpgsql as $$
begin
  if (old.user_id, old.purpose, old.subject, old.method, old.amount_minor, old.currency, old.beneficiary_name,
      old.address_line1, old.account_number, old.routing_number, old.ordered_at)
    is distinct from
    (new.user_id, new.purpose, new.subject, new.method, new.amount_minor, new.currency, new.beneficiary_name,
      new.address_line1, new.account_number, new.routing_number, new.ordered_at)
    or (old.bank_id is not null and old.bank_id is distinct from new.bank_id)
  then
    raise exception 'a wire that was ordered is never changed' using errcode = 'restrict_violation';
  end if;
  if old.state <> new.state and not (
    (old.state = 'ordered' and new.state in ('accepted', 'rejected'))
    or (old.state = 'accepted' and new.state in ('paid', 'returned', 'rejected'))
    or (old.state = 'paid' and new.state = 'returned')
  ) then
    raise exception 'a wire does not become % from %', new.state, old.state using errcode = 'restrict_violation';
  end if;
  return new;
end $$;

create trigger wires_kept before update on wires for each row execute function keep_wire();

-- What a transfer to an institution is beside its transaction; the wire has the transaction's id as its subject.
create table bank_transfers (
  transaction_id text primary key references transactions (transaction_id),
  transfer_id text not null unique check (length(transfer_id) between 1 and 64)
);

-- A payment at a gateway. How far it has got is the status of its transaction; here stands what the gateway says of it.
create table charges (
  transaction_id text primary key references transactions (transaction_id),
  gateway_id integer not null,
  kind text not null check (kind in ('card', 'crypto_checkout', 'wallet_checkout')),
  -- The gateway's name for it, known once the gateway has answered. It never changes.
  external_id text check (length(external_id) between 1 and 128),
  -- What the payer needs, and the answer to the same request tells again.
  client_secret text check (length(client_secret) between 1 and 512),
  url text check (length(url) between 1 and 2048),
  -- What a refund is asked for with, where that is another name.
  capture_id text check (length(capture_id) between 1 and 128),
  gateway_status text check (length(gateway_status) between 1 and 64),
  error_code text check (error_code ~ '^[a-z0-9_]{1,64}$'),
  -- In the smallest unit of the currency; what has arrived at a crypto checkout.
  received numeric(78, 0) check (received >= 0),
  -- Under it the payment stands on the chain.
  reference text unique check (reference ~ '^0x[0-9a-f]{64}$'),
  expires_at timestamptz(3),
  trouble text check (length(trouble) between 1 and 64),
  due_at timestamptz(3),
  -- Raised by whoever has news. A look that began before them does not put off the next one.
  wakes integer not null default 0,
  lease integer not null default 0,
  tries integer not null default 0,
  unique (gateway_id, external_id)
);
create index charges_due on charges (due_at) where due_at is not null;

create function keep_charge() returns trigger language plpgsql as $$
begin
  if (old.transaction_id, old.gateway_id, old.kind, old.reference, old.expires_at)
    is distinct from (new.transaction_id, new.gateway_id, new.kind, new.reference, new.expires_at)
    or (old.external_id is not null and old.external_id is distinct from new.external_id)
  then
    raise exception 'a charge is one and the same for ever' using errcode = 'restrict_violation';
  end if;
  return new;
end $$;

create trigger charges_kept before update on charges for each row execute function keep_charge();

create table refunds (
  refund_id text primary key check (length(refund_id) between 1 and 64),
  transaction_id text not null references charges (transaction_id),
  state text not null default 'pending' check (state in ('pending', 'completed', 'failed')),
  external_id text check (length(external_id) between 1 and 128),
  error_code text check (error_code ~ '^[a-z0-9_]{1,64}$'),
  trouble text check (length(trouble) between 1 and 64),
  created_at timestamptz(3) not null default now(),
  due_at timestamptz(3) default '-infinity',
  lease integer not null default 0,
  tries integer not null default 0
);
-- THE RULE. Money goes back once: only after a refund has failed may there be another.
create unique index refunds_of_charge on refunds (transaction_id) where state <> 'failed';
create index refunds_due on refunds (due_at) where due_at is not null;

-- A payer who disputes a charge. The gateway tells its id; the rest is asked for.
create table disputes (
  dispute_id text primary key check (length(dispute_id) between 1 and 128),
  transaction_id text not null references charges (transaction_id),
  status text check (status ~ '^[a-z_]{1,64}$'),
  reason text check (length(reason) between 1 and 64),
  amount_minor bigint check (amount_minor > 0),
  trouble text check (length(trouble) between 1 and 64),
  created_at timestamptz(3) not null default now(),
  due_at timestamptz(3) default '-infinity',
  wakes integer not null default 0,
  lease integer not null default 0,
  tries integer not null default 0
);
create index disputes_due on disputes (due_at) where due_at is not null;
create index disputes_of_charge on disputes (transaction_id);

create table dispute_moves (
  id bigint generated always as identity primary key,
  dispute_id text not null references disputes (dispute_id),
  status text not null,
  moved_at timestamptz(3) not null
);
create index dispute_moves_of on dispute_moves (dispute_id, id);

create trigger dispute_moves_immutable before update or delete on dispute_moves
  for each row execute function refuse_change();

-- How far the final blocks were read for payments at our own checkout.
create table checkout_cursors (
  chain_id bigint not null,
  settlement text not null check (settlement ~ '^0x[0-9a-f]{40}$'),
  payee text not null check (payee ~ '^0x[0-9a-f]{40}$'),
  block_number bigint not null check (block_number >= 0),
  block_hash text not null check (block_hash ~ '^0x[0-9a-f]{64}$'),
  primary key (chain_id, settlement, payee)
);

-- Every settlement of a charge in a final block, read once, whatever it is worth to the charge.
create table checkout_payments (
  chain_id bigint not null,
  transaction_hash text not null check (transaction_hash ~ '^0x[0-9a-f]{64}$'),
  log_index integer not null check (log_index >= 0),
  transaction_id text not null references charges (transaction_id),
  payer text not null check (payer ~ '^0x[0-9a-f]{40}$'),
  -- Null: the native coin.
  token text check (token ~ '^0x[0-9a-f]{40}$'),
  amount numeric(78, 0) not null check (amount >= 0),
  verdict text not null check (verdict in ('counted', 'late', 'wrong_token')),
  block_number bigint not null,
  paid_at timestamptz(3) not null,
  primary key (chain_id, transaction_hash, log_index)
);
create index checkout_payments_of on checkout_payments (transaction_id);

create trigger checkout_payments_immutable before update or delete on checkout_payments
  for each row execute function refuse_change();

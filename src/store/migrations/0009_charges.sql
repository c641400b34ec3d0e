-- Payments at gateways, their refunds and disputes, and what has come in on chain for a crypto checkout.

-- A payment at a gateway. How far it has got is the status of its transaction; here stands what the gateway says of it.
create table charges (
  transaction_id text primary key references transactions (transaction_id),
  gateway_id integer not null,
  kind text not null check (kind ~ '^[a-z_]{1,32}$'),
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
  -- Where it is paid on a chain: on which one. Under the reference the payment stands there.
  chain_id bigint check (chain_id > 0),
  reference text unique check (reference ~ '^0x[0-9a-f]{64}$'),
  expires_at timestamptz(3),
  trouble text check (length(trouble) between 1 and 64),
  due_at timestamptz(3),
  -- Raised by whoever has news. A look that began before them does not put off the next one.
  wakes integer not null default 0,
  lease integer not null default 0,
  tries integer not null default 0,
  unique (gateway_id, external_id),
  check ((chain_id is null) = (reference is null))
);
-- A charge may be paid in parts, each under a reference of its own: those that share all but the last byte.
create unique index charges_parts on charges (left(reference, 64)) where reference is not null;
create index charges_due on charges (due_at) where due_at is not null;

create function keep_charge() returns trigger language plpgsql as $$
begin
  if (old.transaction_id, old.gateway_id, old.kind, old.chain_id, old.reference, old.expires_at)
    is distinct from (new.transaction_id, new.gateway_id, new.kind, new.chain_id, new.reference, new.expires_at)
    or (old.external_id is not null and old.external_id is distinct from new.external_id)
  then
    raise exception 'a charge is one and the same for ever' using errcode = 'restrict_violation';
  end if;
  return new;
end $$;

create trigger charges_kept before update on charges for each row execute function keep_charge();

-- What is completed on a chain has its hash there: a payment of ours, a withdrawal, a deposit, and one that came to a
-- checkout, which alone has a reference among the charges.
create function require_hash() returns trigger language plpgsql as $$
begin
  if new.type in ('settlement', 'deposit', 'withdrawal')
    or exists (select from charges c where c.transaction_id = new.transaction_id and c.reference is not null)
  then
    raise exception 'transaction % is completed on the chain without a hash', new.transaction_id
      using errcode = 'restrict_violation';
  end if;
  return new;
end $$;

create trigger transactions_on_chain before update of status on transactions for each row
  when (new.status = 'completed' and new.eth_transaction_hash is null) execute function require_hash();

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
-- It is known by its block as well. Where that block is gone, the row stays and counts no more; the same transaction may
-- then stand in another block, at another place.
create table checkout_payments (
  id bigint generated always as identity primary key,
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
  block_hash text check (block_hash ~ '^0x[0-9a-f]{64}$'),
  -- Under which it was paid, where, and to whom.
  reference text not null check (reference ~ '^0x[0-9a-f]{64}$'),
  contract text check (contract ~ '^0x[0-9a-f]{40}$'),
  payee text check (payee ~ '^0x[0-9a-f]{40}$'),
  paid_at timestamptz(3) not null,
  gone_at timestamptz(3),
  check ((contract is null) = (payee is null))
);
create unique index checkout_payments_once on checkout_payments (chain_id, transaction_hash, log_index)
  where gone_at is null;
create index checkout_payments_blocks on checkout_payments (chain_id, block_number) where gone_at is null;
create index checkout_payments_of on checkout_payments (transaction_id);

create function keep_checkout_payment() returns trigger language plpgsql as $$
begin
  if (old.gone_at is not null and old.gone_at is distinct from new.gone_at)
    or (old.payee is not null and (old.contract, old.payee) is distinct from (new.contract, new.payee))
    or (to_jsonb(old) - '{gone_at,contract,payee}'::text[])
      is distinct from (to_jsonb(new) - '{gone_at,contract,payee}'::text[])
  then
    raise exception 'a payment at the checkout is never changed, it can only be gone' using errcode = 'restrict_violation';
  end if;
  return new;
end $$;

create trigger checkout_payments_immutable before delete on checkout_payments
  for each row execute function refuse_change();
create trigger checkout_payments_kept before update on checkout_payments
  for each row execute function keep_checkout_payment();

-- What closes a charge: the arrival with which the whole had come, or the last one of a charge that was accepted as it
-- is. Its transaction is the charge's on the chain; gas is known once a receipt was read.
alter table charges
  add column closed_by bigint references checkout_payments (id),
  add column gas_used bigint check (gas_used > 0),
  add column gas_price numeric(78, 0) check (gas_price >= 0),
  add check ((gas_used is null) = (gas_price is null) and (gas_used is null or closed_by is not null));
create index charges_unpriced on charges (transaction_id) where closed_by is not null and gas_used is null;

create table refunds (
  refund_id text primary key check (length(refund_id) between 1 and 64),
  transaction_id text not null references charges (transaction_id),
  -- A refund may be a part of its charge, so there may be several. In the smallest unit of the currency.
  amount numeric(78, 0) not null check (amount > 0),
  -- Where several have paid for one charge, whose money goes back.
  payer text check (payer ~ '^0x[0-9a-f]{40}$'),
  state text not null default 'pending' check (state in ('pending', 'completed', 'failed')),
  external_id text check (length(external_id) between 1 and 128),
  error_code text check (error_code ~ '^[a-z0-9_]{1,64}$'),
  trouble text check (length(trouble) between 1 and 64),
  created_at timestamptz(3) not null default now(),
  due_at timestamptz(3) default '-infinity',
  lease integer not null default 0,
  tries integer not null default 0
);
create index refunds_of_charge on refunds (transaction_id, created_at);
create index refunds_due on refunds (due_at) where due_at is not null;

create function keep_refund() returns trigger language plpgsql as $$
begin
  if (old.refund_id, old.transaction_id, old.amount, old.payer)
      is distinct from (new.refund_id, new.transaction_id, new.amount, new.payer)
    or (old.state <> 'pending' and old.state <> new.state)
  then
    raise exception 'refund % is decided', old.refund_id using errcode = 'restrict_violation';
  end if;
  return new;
end $$;

create trigger refunds_kept before update on refunds for each row execute function keep_refund();

-- THE RULE. What goes back, and has not failed, is never more than what has come, of the charge and of each payer; and
-- nothing goes back while the block in which it came is gone.
create function keep_refunds_within() returns trigger language plpgsql as $$
declare
  most numeric;
  most_of_payer numeric;
  others numeric;
  others_of_payer numeric;
begin
  -- Refunds of one charge come one after the other.
  perform 1 from charges where transaction_id = new.transaction_id for update;
  if exists (select from breaks where transaction_id = new.transaction_id and state = 'open' and kind = 'reorged') then
    raise exception 'refunds of % are frozen', new.transaction_id using errcode = 'restrict_violation';
  end if;
  select case c.kind
      when 'crypto_checkout' then trunc(coalesce(c.received, 0) / case t.currency when 'ETH' then 1 else 10000 end)
      else trunc(t.amount * case t.currency when 'ETH' then 1e18 else 100 end) end,
      (select trunc(coalesce(sum(p.amount), 0) / case t.currency when 'ETH' then 1 else 10000 end)
        from checkout_payments p
        where p.transaction_id = c.transaction_id and p.payer = new.payer and p.gone_at is null
          and p.verdict <> 'wrong_token')
    into most, most_of_payer
    from charges c join transactions t on t.transaction_id = c.transaction_id
    where c.transaction_id = new.transaction_id;
  select coalesce(sum(r.amount), 0), coalesce(sum(r.amount) filter (where r.payer = new.payer), 0)
    into others, others_of_payer
    from refunds r where r.transaction_id = new.transaction_id and r.state <> 'failed';
  if others + new.amount > most then
    raise exception 'refunds of % would be more than its charge', new.transaction_id using errcode = 'restrict_violation';
  end if;
  if new.payer is not null and others_of_payer + new.amount > most_of_payer then
    raise exception 'refunds of % to % would be more than it paid', new.transaction_id, new.payer
      using errcode = 'restrict_violation';
  end if;
  return new;
end $$;

create trigger refunds_within before insert on refunds for each row execute function keep_refunds_within();

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

-- Orders, the nonces that they are paid at, and every transaction that was ever signed for them. The constraints here
-- hold "paid at most once" even against a program that is wrong.

-- One lane of nonces per chain and signer. Whoever hands out a nonce or signs holds its row.
create table nonce_lanes (
  chain_id bigint not null check (chain_id > 0),
  signer text not null check (signer ~ '^0x[0-9a-f]{40}$'),
  next_nonce bigint not null check (next_nonce >= 0),
  -- The counter behind the next order's reference. It only grows, whatever becomes of the order.
  next_counter bigint not null default 0 check (next_counter >= 0),
  primary key (chain_id, signer)
);

-- Whoever accepts orders hands out nonces, and whoever works on a lane writes down what became of them. Neither touches
-- what the other holds, so neither waits for the other.
create table lane_leases (
  chain_id bigint not null,
  signer text not null,
  -- Raised by each worker that takes the lane: one whose lease ran out no longer knows the number, and writes nothing.
  fence bigint not null default 0,
  leased_until timestamptz(3) not null default '-infinity',
  primary key (chain_id, signer),
  foreign key (chain_id, signer) references nonce_lanes
);

create table orders (
  id bigint generated always as identity primary key,
  -- What is paid by it. There is one order for a subject, however often it is asked for.
  subject text not null unique check (length(subject) between 1 and 64),
  spender text not null check (length(spender) between 1 and 64),
  chain_id bigint not null,
  signer text not null,
  reference text not null check (length(reference) = 66 and reference ~ '^0x[0-9a-f]+$'),
  counter bigint not null check (counter >= 0),
  -- It pays native coin or a token, by a plain transfer or through the settlement contract; it lets that contract take
  -- exactly what the order after it pays, or carries a permit for what it pays itself; it mints dollars for the payee; or it burns the signer's, to nobody. A bundle
  -- pays other orders.
  route text not null check (route in (
    'direct', 'transfer', 'contract', 'token', 'permit', 'allowance', 'mint', 'burn', 'bundle', 'open_bundle',
    'token_bundle', 'open_token_bundle'
  )),
  -- What is called: the settlement contract, or the token that moves, gives the allowance, mints or burns.
  contract text check (length(contract) = 42 and contract ~ '^0x[0-9a-f]+$'),
  -- What leaves the signer, where that is a token.
  token text check (token ~ '^0x[0-9a-f]{40}$'),
  payee text not null check (length(payee) = 42 and payee ~ '^0x[0-9a-f]+$' and payee <> signer),
  -- An allowance of nothing takes back what is left of one.
  amount numeric(78, 0) not null check (amount > 0 or (amount = 0 and route = 'allowance')),
  gas bigint not null check (gas >= 21000),
  -- The one whose transaction pays it, and which holds what all of them are paid by. An order of a bundle has no nonce.
  bundle bigint references orders (id),
  calldata text check (calldata ~ '^0x[0-9a-f]+$'),
  signed_for bigint not null generated always as (coalesce(bundle, id)) stored,
  state text not null default 'accepted' check (state in ('accepted', 'mined', 'completed', 'failed')),
  error_code text check (error_code ~ '^[a-z_]{1,64}$'),
  -- The selector of the error that stopped a payment of a bundle, of its payee or its token.
  refusal text check (length(refusal) = 10 and refusal ~ '^0x[0-9a-f]+$'),
  -- Why the order is to be cancelled. What is mined decides whether it was.
  cancel_code text check (cancel_code ~ '^[a-z_]{1,64}$'),
  accepted_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  foreign key (chain_id, signer) references nonce_lanes,
  unique (chain_id, signer, reference),
  unique (chain_id, signer, counter),
  constraint orders_contract_of_route check ((route = 'direct') = (contract is null)),
  constraint orders_token_of_route check (
    (route in ('token', 'permit', 'transfer', 'burn', 'token_bundle', 'open_token_bundle')) = (token is not null)
  ),
  constraint orders_bundled check (
    -- A mint has it where the token has no memo.
    route = 'mint'
    or (route in ('permit', 'bundle', 'open_bundle', 'token_bundle', 'open_token_bundle')) = (calldata is not null)
    and (bundle is null or route in ('contract', 'token'))
  ),
  check ((state = 'failed') = (error_code is not null))
);
-- Whoever settles under a reference of ours, which all can see, is looked up by it alone.
create index orders_reference on orders (chain_id, reference);
create index orders_accepted on orders (chain_id, accepted_at);
create index orders_open on orders (chain_id, accepted_at) where state in ('accepted', 'mined');
-- Which permit of a signer was the last.
create index orders_permits on orders (chain_id, signer, id) where route = 'permit';
create index orders_of_bundle on orders (bundle, id) where bundle is not null;

create function keep_order() returns trigger language plpgsql as $$
begin
  if (old.subject, old.spender, old.chain_id, old.signer, old.reference, old.counter, old.route, old.contract, old.token,
      old.payee, old.amount, old.gas, old.bundle, old.calldata, old.accepted_at)
    is distinct from
    (new.subject, new.spender, new.chain_id, new.signer, new.reference, new.counter, new.route, new.contract, new.token,
      new.payee, new.amount, new.gas, new.bundle, new.calldata, new.accepted_at)
  then
    raise exception 'an accepted order is never changed' using errcode = 'restrict_violation';
  end if;
  if old.state <> new.state and not (
    (old.state = 'accepted' and new.state in ('mined', 'failed'))
    or (old.state = 'mined' and new.state in ('accepted', 'completed', 'failed'))
  ) then
    raise exception 'an order does not become % from %', new.state, old.state using errcode = 'restrict_violation';
  end if;
  return new;
end $$;

create trigger orders_kept before update on orders for each row execute function keep_order();

-- Every nonce that was handed out, and which transaction took it for good. `used` is one of ours, `foreign` is not.
create table lane_nonces (
  chain_id bigint not null,
  signer text not null,
  nonce bigint not null check (nonce >= 0),
  -- Null where an empty transaction fills a gap.
  order_id bigint references orders (id),
  state text not null default 'open' check (state in ('open', 'used', 'foreign')),
  taken_by text check (length(taken_by) = 66 and taken_by ~ '^0x[0-9a-f]+$'),
  taken_at_block bigint,
  primary key (chain_id, signer, nonce),
  unique (chain_id, signer, nonce, order_id),
  foreign key (chain_id, signer) references nonce_lanes,
  check ((state = 'open') = (taken_by is null)),
  check ((taken_by is null) = (taken_at_block is null))
);
-- THE RULE. An order has another nonce only after somebody else's transaction took the one before for good.
create unique index lane_nonces_of_order on lane_nonces (order_id) where state <> 'foreign';
create index lane_nonces_open on lane_nonces (chain_id, signer, nonce) where state = 'open';

create function keep_nonce() returns trigger language plpgsql as $$
begin
  if old.state <> 'open' or old.order_id is distinct from new.order_id then
    raise exception 'nonce % of % is decided', old.nonce, old.signer using errcode = 'restrict_violation';
  end if;
  return new;
end $$;

create trigger lane_nonces_kept before update on lane_nonces for each row execute function keep_nonce();

create table attempts (
  id bigint generated always as identity primary key,
  chain_id bigint not null,
  signer text not null,
  nonce bigint not null,
  order_id bigint,
  kind text not null check (kind in ('payment', 'cancel', 'filler')),
  hash text not null check (length(hash) = 66 and hash ~ '^0x[0-9a-f]+$'),
  raw text not null check (raw ~ '^0x[0-9a-f]+$'),
  gas bigint not null check (gas >= 21000),
  max_fee_per_gas numeric(78, 0) not null check (max_fee_per_gas > 0),
  max_priority_fee_per_gas numeric(78, 0) not null check (max_priority_fee_per_gas between 0 and max_fee_per_gas),
  -- What a rollup may charge beside the gas, by the estimate when the order was accepted.
  max_rollup_fee numeric(78, 0) not null default 0 check (max_rollup_fee >= 0),
  state text not null default 'signed' check (state in ('signed', 'mined', 'final', 'superseded')),
  block_number bigint,
  block_hash text check (length(block_hash) = 66 and block_hash ~ '^0x[0-9a-f]+$'),
  succeeded boolean,
  gas_used bigint,
  gas_price numeric(78, 0),
  -- What it has charged, of one that is in a block.
  rollup_fee numeric(78, 0) check (rollup_fee >= 0),
  signed_at timestamptz(3) not null,
  sent_at timestamptz(3),
  last_sent_at timestamptz(3),
  -- What the providers last said to it.
  last_answer text check (length(last_answer) <= 64 and last_answer ~ '^[a-z_]+$'),
  -- Since when they have said nothing but that there are no funds for it; null after any other answer. The time since
  -- it was signed says nothing of it: that may be the wait for its turn.
  no_funds_since timestamptz(3),
  unique (chain_id, hash),
  unique (chain_id, signer, nonce, hash),
  foreign key (chain_id, signer, nonce) references lane_nonces,
  foreign key (chain_id, signer, nonce, order_id) references lane_nonces (chain_id, signer, nonce, order_id),
  check ((kind = 'filler') = (order_id is null)),
  check ((state in ('mined', 'final')) = (block_hash is not null)),
  check ((block_hash is null) = (block_number is null) and (block_hash is null) = (succeeded is null)),
  check ((block_hash is null) = (gas_used is null) and (block_hash is null) = (gas_price is null)),
  check ((block_hash is null) = (rollup_fee is null))
);
create index attempts_of_nonce on attempts (chain_id, signer, nonce, id);
create index attempts_of_order on attempts (order_id, id);
create index attempts_of_block on attempts (chain_id, block_number) where state = 'final';
create unique index attempts_taking_nonce on attempts (chain_id, signer, nonce) where state in ('mined', 'final');
create unique index attempts_paying_order on attempts (order_id) where state = 'final' and kind = 'payment';

-- What each spender sent in one day (UTC), by way out and currency, in all and to each payee on a chain. Kept together
-- with the payment that it counts. Amounts, here and in limits, have eighteen decimals whatever the currency has.
create table spends (
  spender text not null,
  day date not null,
  way text not null check (way in ('chain', 'mint', 'withdrawal', 'wire', 'transfer', 'refund')),
  currency text not null check (length(currency) between 1 and 32),
  payee text not null check (payee = '' or (length(payee) = 42 and payee ~ '^0x[0-9a-f]+$')),
  amount numeric(78, 0) not null check (amount > 0),
  -- The limit that was in force when it was last added to; null where there was none.
  most numeric(78, 0),
  primary key (spender, day, way, currency, payee),
  constraint spends_within_limit check (amount <= most)
);

-- What administrators have set, for everybody or for one user. Null: the limit of everybody counts, or the default.
create table spend_limits (
  user_id integer references users (id),
  -- As in `spends`; empty: everybody.
  spender text not null generated always as (coalesce('user:' || user_id::text, '')) stored,
  way text not null check (way in ('chain', 'mint', 'withdrawal', 'wire', 'transfer', 'refund')),
  currency text not null check (length(currency) between 1 and 32),
  per_transaction numeric(78, 0) check (per_transaction >= 0),
  per_day numeric(78, 0) check (per_day >= 0),
  -- Of one day, to one payee on a chain.
  per_payee numeric(78, 0) check (per_payee >= 0),
  primary key (spender, way, currency)
);

-- Every change of them, as it left them, with who made it.
create table spend_limit_changes (
  id bigint generated always as identity primary key,
  user_id integer references users (id),
  way text not null,
  currency text not null,
  per_transaction numeric(78, 0),
  per_day numeric(78, 0),
  per_payee numeric(78, 0),
  changed_by text not null check (length(changed_by) between 1 and 64),
  changed_at timestamptz(3) not null default now()
);
create index spend_limit_changes_of on spend_limit_changes (user_id, id);

create function keep_row() returns trigger language plpgsql as $$
begin
  raise exception 'a row of % is never changed', tg_table_name using errcode = 'restrict_violation';
end $$;
create trigger spend_limit_changes_kept before update or delete on spend_limit_changes
  for each row execute function keep_row();

-- How far the follower has read, and which block stood there.
create table chain_cursors (
  chain_id bigint primary key,
  head_number bigint not null check (head_number >= 0),
  head_hash text not null check (head_hash ~ '^0x[0-9a-f]{64}$'),
  -- The last block that counts as final; null until the chain has one.
  final_number bigint check (final_number <= head_number),
  final_hash text check (final_hash ~ '^0x[0-9a-f]{64}$'),
  reorgs bigint not null default 0,
  updated_at timestamptz(3) not null,
  check ((final_number is null) = (final_hash is null))
);

-- What should not happen, and is shown to an operator instead of being repaired in silence.
create table sender_alerts (
  id bigint generated always as identity primary key,
  kind text not null check (kind in ('reorg_after_final', 'settlement_mismatch', 'nonce_taken_by_like_payment')),
  chain_id bigint not null,
  order_id bigint references orders (id),
  hash text not null check (hash ~ '^0x[0-9a-f]{64}$'),
  opened_at timestamptz(3) not null,
  -- When it was looked after last, so that it is neither repeated at each pass nor keeps the others from their turn.
  tended_at timestamptz(3),
  closed_at timestamptz(3),
  -- What an operator has written who knows of it. It stays open all the same.
  note text check (length(note) between 1 and 300),
  acknowledged_by text,
  acknowledged_at timestamptz(3),
  check ((note is null) = (acknowledged_by is null) and (note is null) = (acknowledged_at is null))
);
create unique index sender_alerts_open on sender_alerts (kind, chain_id, hash) where closed_at is null;

-- What the platform's own signer lacks, so that an operator has to act. It closes by itself once the chain shows that the
-- signer has it.
create table signer_alerts (
  id bigint generated always as identity primary key,
  kind text not null check (
    kind in (
      'signer_funds_low', 'minter_missing', 'mint_allowance_used_up', 'mint_allowance_exceeded', 'signer_frozen'
    )
  ),
  chain_id bigint not null,
  signer text not null check (signer ~ '^0x[0-9a-f]{40}$'),
  opened_at timestamptz(3) not null,
  closed_at timestamptz(3)
);
create unique index signer_alerts_open on signer_alerts (kind, chain_id, signer) where closed_at is null;

-- The ledger: wallets, the accounts behind them and the postings between those; what users ask for (payments, transfers,
-- mints, redeems); and what the chain said of the stablecoin. Amounts are in millionths of a dollar.

create table wallets (
  id bigint generated always as identity (start with 1000000001) primary key,
  user_id integer not null references users (id),
  type text not null check (type in ('merchant', 'end_user_wallet')),
  description text not null default '' check (length(description) <= 100),
  created_at timestamptz(3) not null default now()
);
create index wallets_user on wallets (user_id, id);
-- The one that money comes from and goes back to where a request names none.
create unique index wallets_merchant on wallets (user_id) where type = 'merchant';

-- Where money is: in a wallet, held for something of that wallet that is on its way, at the bank, out as stablecoin,
-- burnt by somebody who ordered no redeem, or the platform's own, which has paid it out of its holdings. The bank's
-- account is what is left of all the others, and alone below zero.
create table accounts (
  id bigint generated always as identity primary key,
  kind text not null check (kind in ('wallet', 'held', 'bank', 'stablecoin', 'unclaimed', 'treasury')),
  wallet_id bigint references wallets (id),
  currency text not null check (currency = 'USD'),
  balance numeric(38, 0) not null default 0,
  -- How far an administrator lets transfers to a bank take a wallet below zero.
  credit_line numeric(38, 0) not null default 0 check (credit_line >= 0 and (kind = 'wallet' or credit_line = 0)),
  unique (id, currency),
  check ((kind in ('wallet', 'held')) = (wallet_id is not null)),
  constraint accounts_not_overdrawn check (kind = 'bank' or balance + credit_line >= 0)
);
create unique index accounts_of_wallet on accounts (wallet_id, kind, currency) where wallet_id is not null;
create unique index accounts_of_system on accounts (kind, currency) where wallet_id is null;
insert into accounts (kind, currency) values
  ('bank', 'USD'), ('stablecoin', 'USD'), ('unclaimed', 'USD'), ('treasury', 'USD');

-- One row takes from one account what it gives to another, in one currency: a posting that does not sum to zero cannot
-- be written down.
create table postings (
  id bigint generated always as identity primary key,
  kind text not null check (
    kind in (
      'deposit', 'transfer', 'hold', 'draw', 'release', 'pay_out', 'return', 'mint', 'redeem', 'unclaimed', 'withdraw'
    )
  ),
  -- What it is for. Each of its steps is posted once.
  subject text not null check (length(subject) between 1 and 150),
  from_account bigint not null,
  to_account bigint not null check (to_account <> from_account),
  currency text not null,
  amount numeric(38, 0) not null check (amount > 0),
  posted_at timestamptz(3) not null default now(),
  unique (subject, kind),
  foreign key (from_account, currency) references accounts (id, currency),
  foreign key (to_account, currency) references accounts (id, currency)
);
-- What is held goes back, or out, or onto the chain: one of them, once.
create unique index postings_ending_hold on postings (subject) where kind in ('release', 'pay_out', 'mint', 'withdraw');
create index postings_from on postings (from_account, id);
create index postings_to on postings (to_account, id);

-- Both rows are locked in the order of their ids, so that two postings never wait for each other.
create function apply_posting() returns trigger language plpgsql as $$
begin
  perform from accounts where id in (new.from_account, new.to_account) order by id for no key update;
  update accounts set balance = balance - new.amount where id = new.from_account
    and (kind = 'bank' or new.kind = 'draw' or balance >= new.amount);
  -- Only a draw may take of the credit line, so that nothing is minted or paid on credit.
  if not found then
    raise exception 'the account has less than that'
      using errcode = 'check_violation', constraint = 'accounts_not_overdrawn';
  end if;
  update accounts set balance = balance + new.amount where id = new.to_account;
  return null;
end $$;
create trigger postings_applied after insert on postings for each row execute function apply_posting();

create trigger postings_kept before update or delete on postings for each row execute function keep_row();

-- A balance is the sum of its postings, since nothing but a posting changes it.
create function keep_balance() returns trigger language plpgsql as $$
begin
  if (pg_trigger_depth() < 2 and old.balance <> new.balance) or (old.id, old.kind, old.wallet_id, old.currency)
    is distinct from (new.id, new.kind, new.wallet_id, new.currency)
  then
    raise exception 'only a posting changes an account' using errcode = 'restrict_violation';
  end if;
  return new;
end $$;
create trigger accounts_kept before update on accounts for each row execute function keep_balance();
create trigger accounts_never_gone before delete on accounts for each row execute function keep_row();

create function open_accounts() returns trigger language plpgsql as $$
begin
  insert into accounts (kind, wallet_id, currency) values ('wallet', new.id, 'USD'), ('held', new.id, 'USD');
  return null;
end $$;
create trigger wallets_opened after insert on wallets for each row execute function open_accounts();

-- Every user has a wallet from the start.
create function open_wallet() returns trigger language plpgsql as $$
begin
  insert into wallets (user_id, type, description) values (new.id, 'merchant', 'Main wallet');
  return null;
end $$;
create trigger users_opened after insert on users for each row execute function open_wallet();

create table payments (
  id uuid primary key default gen_random_uuid(),
  seq bigint generated always as identity unique,
  user_id integer not null references users (id),
  wallet_id bigint not null references wallets (id),
  currency text not null,
  amount numeric(38, 0) not null check (amount > 0),
  beneficiary_name text not null check (length(beneficiary_name) between 1 and 140),
  address_line1 text not null check (length(address_line1) between 1 and 140),
  account_number text check (account_number ~ '^[0-9A-Za-z-]{1,34}$'),
  routing_number text check (routing_number ~ '^[0-9]{9}$'),
  -- The caller's own name for the destination.
  destination_id text check (length(destination_id) between 1 and 64),
  beneficiary_email text check (length(beneficiary_email) between 3 and 254),
  status text not null default 'pending' check (status in ('pending', 'confirmed', 'paid', 'failed')),
  tracking_ref text check (length(tracking_ref) between 1 and 128),
  error_code text check (error_code ~ '^[a-z0-9_]{1,64}$'),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  check ((account_number is null) = (routing_number is null)),
  check (status <> 'failed' or error_code is not null)
);
create index payments_list on payments (user_id, seq);

create table recipient_addresses (
  id uuid primary key default gen_random_uuid(),
  seq bigint generated always as identity unique,
  user_id integer not null references users (id),
  chain text not null check (chain ~ '^[A-Z0-9]{2,16}$'),
  address text not null check (address ~ '^0x[0-9a-f]{40}$'),
  currency text not null,
  description text not null check (length(description) between 1 and 100),
  created_at timestamptz(3) not null default now()
);
create index recipient_addresses_list on recipient_addresses (user_id, seq);

-- From wallet to wallet; from a wallet onto the chain (mint); from the chain to a bank (redeem).
create table transfers (
  id uuid primary key default gen_random_uuid(),
  seq bigint generated always as identity unique,
  user_id integer not null references users (id),
  kind text not null check (kind in ('wallet', 'mint', 'redeem', 'withdrawal')),
  -- Of a redeem: where its money goes when the bank sends it back.
  wallet_id bigint not null references wallets (id),
  to_wallet_id bigint references wallets (id),
  chain text check (chain ~ '^[A-Z0-9]{2,16}$'),
  -- Of a withdrawal: under which it stands among the transactions.
  transaction_id text unique references transactions (transaction_id),
  -- Who receives a mint or a withdrawal, or who alone may redeem.
  address text check (address ~ '^0x[0-9a-f]{40}$'),
  address_id uuid references recipient_addresses (id),
  destination jsonb not null default '{}' check (jsonb_typeof(destination) = 'object'),
  currency text not null,
  amount numeric(38, 0) not null check (amount > 0),
  status text not null check (status in ('pending', 'running', 'complete', 'failed')),
  error_code text check (error_code ~ '^[a-z0-9_]{1,64}$'),
  transaction_hash text check (transaction_hash ~ '^0x[0-9a-f]{64}$'),
  -- Where the mint or the burn stands on the chain, once that is final. A withdrawal out of holdings mints nothing.
  block_number bigint check (block_number >= 0),
  -- The memo that the mint or the burn carries, so that whoever ordered it can tell it from another one of the same
  -- amount.
  reference text unique check (reference ~ '^0x[0-9a-f]{64}$'),
  expires_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  check ((kind = 'wallet') = (to_wallet_id is not null) and (kind = 'wallet') = (chain is null)),
  constraint transfers_memo
    check ((kind = 'wallet') = (reference is null) and (kind = 'redeem') = (expires_at is not null)),
  check (kind not in ('mint', 'withdrawal') or address is not null),
  check ((kind = 'withdrawal') = (transaction_id is not null)),
  -- What is completed on a chain has its hash there.
  constraint transfers_on_chain check (kind = 'wallet' or status <> 'complete' or transaction_hash is not null),
  -- A wire that comes back when all was complete leaves its code, too.
  check (status <> 'failed' or error_code is not null)
);
create index transfers_list on transfers (user_id, seq);
create index transfers_expiring on transfers (expires_at) where kind = 'redeem' and status = 'pending';
create index transfers_open on transfers (kind)
  where kind in ('mint', 'withdrawal') and status in ('pending', 'running');
create index transfers_minted on transfers (block_number)
  where kind in ('mint', 'withdrawal') and status = 'complete';

create function keep_request() returns trigger language plpgsql as $$
begin
  if old.status in ('paid', 'complete', 'failed') and new.status <> old.status then
    raise exception 'a % one stays so', old.status using errcode = 'restrict_violation';
  end if;
  if (old.id, old.user_id, old.wallet_id, old.amount, old.currency, old.created_at)
    is distinct from (new.id, new.user_id, new.wallet_id, new.amount, new.currency, new.created_at)
  then
    raise exception 'what was asked for is never changed' using errcode = 'restrict_violation';
  end if;
  return new;
end $$;
create trigger payments_kept before update on payments for each row execute function keep_request();
create trigger transfers_kept before update on transfers for each row execute function keep_request();

-- How far the final blocks of a stablecoin were read.
create table token_cursors (
  chain_id bigint not null,
  token text not null check (token ~ '^0x[0-9a-f]{40}$'),
  block_number bigint not null check (block_number >= 0),
  block_hash text not null check (block_hash ~ '^0x[0-9a-f]{64}$'),
  primary key (chain_id, token)
);

-- Every mint and burn of the stablecoin in a final block, read once; of a token without memos the memo is the hash of
-- the transaction, and what a holder sends back to the issuer is a burn. Where there are memos, the
-- token lets one be used once by each holder,
-- so the same event in another block after a reorg is known again. A finding is what does not fit; null where it does.
create table supply_events (
  chain_id bigint not null,
  token text not null check (token ~ '^0x[0-9a-f]{40}$'),
  kind text not null check (kind in ('mint', 'burn')),
  holder text not null check (holder ~ '^0x[0-9a-f]{40}$'),
  memo text not null check (memo ~ '^0x[0-9a-f]{64}$'),
  amount numeric(78, 0) not null check (amount > 0),
  transaction_hash text not null check (transaction_hash ~ '^0x[0-9a-f]{64}$'),
  block_number bigint not null check (block_number >= 0),
  block_hash text not null check (block_hash ~ '^0x[0-9a-f]{64}$'),
  transfer_id uuid references transfers (id),
  finding text check (
    finding in ('no_order', 'wrong_amount', 'wrong_holder', 'wrong_token', 'late', 'doubled', 'unbacked',
      'unknown_mint')
  ),
  read_at timestamptz(3) not null default now(),
  primary key (chain_id, token, kind, holder, memo),
  -- An issuer among others also burns for no transfer.
  check (finding is not null or transfer_id is not null or kind = 'burn')
);
create index supply_events_of on supply_events (transfer_id) where transfer_id is not null;
create index supply_events_found on supply_events (read_at) where finding is not null;
create trigger supply_events_kept before update or delete on supply_events
  for each row execute function keep_row();

-- What the last comparison of the ledger with the chain found.
create table solvency (
  chain_id bigint not null,
  token text not null,
  block_number bigint not null,
  supply numeric(78, 0) not null,
  liability numeric(38, 0) not null,
  -- Minted in a block that was read, and not yet complete in the ledger.
  mints_ahead numeric(38, 0) not null,
  -- Complete in the ledger, and in a block that was not yet read.
  mints_behind numeric(38, 0) not null,
  checked_at timestamptz(3) not null,
  primary key (chain_id, token)
);

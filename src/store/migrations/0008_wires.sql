-- What was asked of banks, and how far each order has got. Every row that somebody must still look at says so in due_at;
-- a worker takes it by raising the lease, and writes only while it holds. Charges, refunds and disputes do the same.

create table wires (
  id bigint generated always as identity primary key,
  user_id integer not null references users (id),
  purpose text not null check (purpose in ('payment', 'redeem', 'transfer')),
  subject text not null check (length(subject) between 1 and 64),
  method text not null check (method in ('wire', 'ach')),
  -- Where several banks are configured. A wire stays with the one that it was ordered from, which alone knows whether it
  -- was sent; null stands for the one without a name.
  bank text check (bank ~ '^[a-z][a-z0-9]{0,15}$'),
  amount_minor bigint not null check (amount_minor > 0),
  currency text not null check (currency = 'USD'),
  beneficiary_name text not null check (length(beneficiary_name) between 1 and 140),
  address_line1 text check (length(address_line1) between 1 and 140),
  account_number text check (account_number ~ '^[0-9A-Za-z-]{1,34}$'),
  routing_number text check (routing_number ~ '^[0-9]{9}$'),
  state text not null default 'ordered' check (state in ('ordered', 'accepted', 'paid', 'returned', 'rejected')),
  -- The bank's name for it.
  bank_id text check (length(bank_id) between 1 and 128),
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
-- Two of ours can never be one of theirs.
create unique index wires_bank_id on wires (coalesce(bank, ''), bank_id);
create index wires_due on wires (due_at) where due_at is not null;

create function keep_wire() returns trigger language plpgsql as $$
begin
  if (old.user_id, old.purpose, old.subject, old.method, old.bank, old.amount_minor, old.currency, old.beneficiary_name,
      old.address_line1, old.account_number, old.routing_number, old.ordered_at)
    is distinct from
    (new.user_id, new.purpose, new.subject, new.method, new.bank, new.amount_minor, new.currency, new.beneficiary_name,
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

-- A payment at the checkout is known by its block as well. Where that block is gone, the row stays and counts no more;
-- the same transaction may then stand in another block, at another place. Rows from before do not know their block.
alter table checkout_payments
  add column id bigint generated always as identity,
  add column block_hash text check (block_hash ~ '^0x[0-9a-f]{64}$'),
  add column gone_at timestamptz(3);
alter table checkout_payments drop constraint checkout_payments_pkey, add primary key (id);
create unique index checkout_payments_once on checkout_payments (chain_id, transaction_hash, log_index)
  where gone_at is null;
create index checkout_payments_blocks on checkout_payments (chain_id, block_number) where gone_at is null;

create function keep_checkout_payment() returns trigger language plpgsql as $$
begin
  if old.gone_at is not null or new.gone_at is null
    or (to_jsonb(old) - 'gone_at') is distinct from (to_jsonb(new) - 'gone_at')
  then
    raise exception 'a payment at the checkout is never changed, it can only be gone' using errcode = 'restrict_violation';
  end if;
  return new;
end $$;

drop trigger checkout_payments_immutable on checkout_payments;
create trigger checkout_payments_immutable before delete on checkout_payments
  for each row execute function refuse_change();
create trigger checkout_payments_kept before update on checkout_payments
  for each row execute function keep_checkout_payment();

create index breaks_reorged on breaks (transaction_id) where state = 'open' and kind = 'reorged';

-- THE RULE. What goes back, and has not failed, is never more than what has come; and nothing goes back while the block
-- in which it came is gone.
create or replace function keep_refunds_within() returns trigger language plpgsql as $$
declare
  most numeric;
  others numeric;
begin
  -- Refunds of one charge come one after the other.
  perform 1 from charges where transaction_id = new.transaction_id for update;
  if exists (select from breaks where transaction_id = new.transaction_id and state = 'open' and kind = 'reorged') then
    raise exception 'refunds of % are frozen', new.transaction_id using errcode = 'restrict_violation';
  end if;
  select case c.kind
      when 'crypto_checkout' then trunc(coalesce(c.received, 0) / case t.currency when 'ETH' then 1 else 10000 end)
      else trunc(t.amount * case t.currency when 'ETH' then 1e18 else 100 end) end
    into most
    from charges c join transactions t on t.transaction_id = c.transaction_id
    where c.transaction_id = new.transaction_id;
  select coalesce(sum(r.amount), 0) into others
    from refunds r where r.transaction_id = new.transaction_id and r.state <> 'failed';
  if others + new.amount > most then
    raise exception 'refunds of % would be more than its charge', new.transaction_id using errcode = 'restrict_violation';
  end if;
  return new;
end $$;

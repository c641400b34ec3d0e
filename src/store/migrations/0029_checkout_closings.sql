-- What closes a charge: the arrival with which the whole had come, or the last one of a charge that was accepted as it
-- is. Its transaction is the charge's on the chain; gas is known once a receipt was read.
alter table checkout_payments
  add column reference text check (reference ~ '^0x[0-9a-f]{64}$'),
  add column contract text check (contract ~ '^0x[0-9a-f]{40}$'),
  add column payee text check (payee ~ '^0x[0-9a-f]{40}$'),
  add check ((contract is null) = (payee is null));

alter table checkout_payments disable trigger checkout_payments_kept;
update checkout_payments p set reference = c.reference from charges c where c.transaction_id = p.transaction_id;
-- Where several places were read, the receipt tells which one it was.
update checkout_payments p set contract = c.settlement, payee = c.payee
  from checkout_cursors c
  where c.chain_id = p.chain_id
    and not exists (
      select from checkout_cursors other
      where other.chain_id = c.chain_id and (other.settlement, other.payee) <> (c.settlement, c.payee)
    );
alter table checkout_payments enable trigger checkout_payments_kept;
alter table checkout_payments alter column reference set not null;

create or replace function keep_checkout_payment() returns trigger language plpgsql as $$
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

alter table charges
  add column closed_by bigint references checkout_payments (id),
  add column gas_used bigint check (gas_used > 0),
  add column gas_price numeric(78, 0) check (gas_price >= 0),
  add check ((gas_used is null) = (gas_price is null) and (gas_used is null or closed_by is not null));
create index charges_unpriced on charges (transaction_id) where closed_by is not null and gas_used is null;

with summed as (
  select p.id, p.transaction_id, p.block_number, p.log_index,
    sum(p.amount) over (partition by p.transaction_id order by p.block_number, p.log_index)
      >= t.amount * case t.currency when 'ETH' then 1e18 else 1e6 end as is_whole
  from checkout_payments p join transactions t on t.transaction_id = p.transaction_id
  where p.gone_at is null and p.verdict <> 'wrong_token' and t.status in ('completed', 'refunded')
), closing as (
  select distinct on (transaction_id) transaction_id, id from summed
  order by transaction_id, is_whole desc,
    case when is_whole then block_number else -block_number end,
    case when is_whole then log_index else -log_index end
)
update charges c set closed_by = closing.id from closing where closing.transaction_id = c.transaction_id;

update transactions t set eth_transaction_hash = p.transaction_hash
  from charges c join checkout_payments p on p.id = c.closed_by
  where c.transaction_id = t.transaction_id;

-- A charge may be paid in parts, each under a reference of its own: those that share all but the last byte.
create unique index charges_parts on charges (left(reference, 64)) where reference is not null;

-- Where several have paid for one charge, a refund may name whose money goes back.
alter table refunds add column payer text check (payer ~ '^0x[0-9a-f]{40}$');

create or replace function keep_refund() returns trigger language plpgsql as $$
begin
  if (old.refund_id, old.transaction_id, old.amount, old.payer)
      is distinct from (new.refund_id, new.transaction_id, new.amount, new.payer)
    or (old.state <> 'pending' and old.state <> new.state)
  then
    raise exception 'refund % is decided', old.refund_id using errcode = 'restrict_violation';
  end if;
  return new;
end $$;

-- THE RULE. What goes back, and has not failed, is never more than what has come, of the charge and of each payer; and
-- nothing goes back while the block in which it came is gone.
create or replace function keep_refunds_within() returns trigger language plpgsql as $$
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

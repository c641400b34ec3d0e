-- A refund may be a part of its charge, so there may be several. Its amount is in the smallest unit of the currency.
alter table refunds add column amount numeric(78, 0) check (amount > 0);

-- Until now each was the whole. Dollars on the chain are counted in millionths.
update refunds r set amount = coalesce(
  (select case o.route when 'token' then trunc(o.amount / 10000) else o.amount end from orders o
    where o.subject = r.external_id),
  (select trunc(t.amount * case t.currency when 'ETH' then 1e18 else 100 end) from transactions t
    where t.transaction_id = r.transaction_id));

alter table refunds alter column amount set not null;
drop index refunds_of_charge;
create index refunds_of_charge on refunds (transaction_id, created_at);

-- THE RULE. What goes back, and has not failed, is never more than what has come.
create function keep_refunds_within() returns trigger language plpgsql as $$
declare
  most numeric;
  others numeric;
begin
  -- Refunds of one charge come one after the other.
  perform 1 from charges where transaction_id = new.transaction_id for update;
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

create trigger refunds_within before insert on refunds for each row execute function keep_refunds_within();

create function keep_refund() returns trigger language plpgsql as $$
begin
  if (old.refund_id, old.transaction_id, old.amount) is distinct from (new.refund_id, new.transaction_id, new.amount)
    or (old.state <> 'pending' and old.state <> new.state)
  then
    raise exception 'refund % is decided', old.refund_id using errcode = 'restrict_violation';
  end if;
  return new;
end $$;

create trigger refunds_kept before update on refunds for each row execute function keep_refund();

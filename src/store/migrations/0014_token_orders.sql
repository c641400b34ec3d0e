-- An order may pay in a token through the settlement contract, and the order before it lets the contract take exactly
-- that: `contract` is what is called, `token` what moves.
alter table orders
  drop constraint orders_route_check,
  add column token text check (token ~ '^0x[0-9a-f]{40}$'),
  add constraint orders_route_check check (route in ('direct', 'contract', 'token', 'allowance', 'mint')),
  add constraint orders_token_of_route check ((route = 'token') = (token is not null));

create or replace function keep_order() returns trigger language plpgsql as $$
begin
  if (old.subject, old.spender, old.chain_id, old.signer, old.reference, old.counter, old.route, old.contract, old.token,
      old.payee, old.amount, old.gas, old.accepted_at)
    is distinct from
    (new.subject, new.spender, new.chain_id, new.signer, new.reference, new.counter, new.route, new.contract, new.token,
      new.payee, new.amount, new.gas, new.accepted_at)
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

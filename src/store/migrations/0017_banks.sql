-- Several banks may be configured. A wire stays with the one that it was ordered from, which alone knows whether it was
-- sent; null stands for the one without a name.
alter table wires
  add column bank text check (bank ~ '^[a-z][a-z0-9]{0,15}$'),
  drop constraint wires_bank_id_key;
-- Two of ours can never be one of theirs.
create unique index wires_bank_id on wires (coalesce(bank, ''), bank_id);

create or replace function keep_wire() returns trigger language plpgsql as $$
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

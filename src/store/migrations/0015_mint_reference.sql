-- The memo that the chain logs stands with the mint as with the redeem, so that whoever ordered it can tell it from another
-- one of the same amount.
update transfers t set reference = o.reference from orders o
where t.kind = 'mint' and o.route = 'mint' and o.subject = t.id::text;
alter table transfers drop constraint transfers_check1;
alter table transfers add constraint transfers_memo
  check ((kind = 'wallet') = (reference is null) and (kind = 'redeem') = (expires_at is not null));
drop index orders_minting;

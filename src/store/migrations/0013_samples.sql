-- More of what the overview plots over time; null in the rows from before, and where there is no stablecoin. Supply and
-- liability are in millionths of a dollar.
alter table overview_samples
  add column open_breaks integer check (open_breaks >= 0),
  add column supply numeric(78, 0) check (supply >= 0),
  add column liability numeric(38, 0),
  add check ((supply is null) = (liability is null));

-- What was told of one payment or transfer; a chargeback tells of the payment that it takes back.
create index notifications_about on notifications ((coalesce(body ->> 'paymentId', body ->> 'id')));

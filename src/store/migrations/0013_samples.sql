-- More of what the overview plots over time; null in the rows from before, and where there is no stablecoin. Supply and
-- liability are in millionths of a dollar.
alter table overview_samples
  add column open_breaks integer check (open_breaks >= 0),
  add column supply numeric(78, 0) check (supply >= 0),
  add column liability numeric(38, 0),
  add check ((supply is null) = (liability is null));

-- The id of the payment or transfer that was told of; a chargeback tells of the payment that it takes back. It stands
-- beside the body, which PostgreSQL cannot look into where it has a zero character.
alter table notifications add column about text;
create index notifications_about on notifications (about) where about is not null;

-- Each block asks for the charges that may be paid in it, or whose time is over by it, among all that ever were.
create index charges_awaited on charges (chain_id, expires_at)
  where chain_id is not null and coalesce(gateway_status, 'NEW') in ('NEW', 'UNDERPAID');
create index charges_in_time on charges (chain_id, expires_at) where chain_id is not null;

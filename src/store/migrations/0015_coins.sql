-- What gas is paid in on a chain, by its symbol. Each start records it anew.
alter table chains add column coin text not null default 'ETH' check (coin ~ '^[A-Z]{2,8}$');

-- Ether on a chain that is not known any more.
create function chain_coin(of_chain bigint) returns text language sql stable as $$
  select coalesce((select coin from chains where chain_id = of_chain), 'ETH')
$$;

-- What the overview adds up each minute is read once: spans of acceptance in which every order is decided and the claims
-- are what the chain has settled.
create table overview_spans (
  chain_id bigint not null,
  start_at timestamptz(3) not null,
  count bigint not null check (count >= 0),
  wei numeric(78, 0) not null check (wei >= 0),
  primary key (chain_id, start_at)
);
create index orders_accepted on orders (chain_id, accepted_at);

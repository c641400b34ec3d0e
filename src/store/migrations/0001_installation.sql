-- What this database belongs to. A program that points it at another environment or chain is refused: its records
-- would be checked against the wrong facts.
create table installation (
  id boolean primary key default true check (id),
  environment text not null check (environment in ('sandbox', 'production')),
  chain_id bigint not null check (chain_id > 0),
  -- References are keyed by it, so all processes of one installation must share it. It is no key to money.
  reference_key bytea not null
    default uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) check (octet_length(reference_key) = 32),
  created_at timestamptz(3) not null default now()
);

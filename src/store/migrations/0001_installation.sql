-- What this database belongs to. A program that points it at another environment, or makes another chain the default one,
-- is refused: its records would be checked against the wrong facts.
create table installation (
  id boolean primary key default true check (id),
  environment text not null check (environment in ('sandbox', 'production')),
  chain_id bigint not null check (chain_id > 0),
  -- References are keyed by it, so all processes of one installation must share it. It is no key to money.
  reference_key bytea not null
    default uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) check (octet_length(reference_key) = 32),
  created_at timestamptz(3) not null default now()
);

-- Every chain that the installation has served, by the name under which requests and records speak of it. Neither the name
-- nor the code of Group A ever stands for another chain.
create table chains (
  chain_id bigint primary key check (chain_id > 0),
  name text not null unique check (name ~ '^[a-z][a-zA-Z0-9_-]{0,31}$'),
  code text not null unique check (code ~ '^[A-Z0-9]{2,16}$'),
  created_at timestamptz(3) not null default now()
);

-- The name of a chain; of one that has none, its id.
create function chain_name(of_chain bigint) returns text language sql stable as $$
  select coalesce((select name from chains where chain_id = of_chain), of_chain::text)
$$;

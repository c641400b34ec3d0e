-- Who may come in, and by which credential. Secrets are kept as hashes; only the signing key is kept as it is.
create table users (
  id integer generated always as identity primary key,
  username text not null check (username ~ '^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$'),
  password_hash text not null check (password_hash like '$argon2id$%'),
  scopes text[] not null check (
    scopes <@ array[
      'transactions:read', 'transactions:write', 'payments:read', 'payments:write', 'transfers:read',
      'transfers:write', 'blockchain:read', 'blockchain:write', 'wallets:read', 'wallets:write', 'mint:read',
      'mint:write', 'notifications:read', 'notifications:write', 'admin'
    ]
  ),
  -- The address that the user's signer has, from its first use on. Whoever signs for an address finds the signer by it,
  -- and a change of QUITTANCE_SIGNER does not silently give a user another address.
  address text unique check (address ~ '^0x[0-9a-f]{40}$'),
  -- A token carries the generation that it was issued in. Raising it ends all tokens of the user for good.
  token_generation integer not null default 1 check (token_generation > 0),
  -- The sandbox's own accounts. A production start refuses a database that has any.
  is_demo boolean not null default false,
  created_at timestamptz(3) not null default now(),
  disabled_at timestamptz(3)
);
create unique index users_username on users (lower(username));

create table api_keys (
  id integer generated always as identity primary key,
  user_id integer not null references users (id),
  name text not null check (length(name) between 1 and 100),
  key_sha256 bytea not null unique check (octet_length(key_sha256) = 32),
  -- Enough to recognise the key in a list, far too little to use it.
  shown text not null check (length(shown) <= 24),
  scopes text[] not null check (
    scopes <@ array[
      'transactions:read', 'transactions:write', 'payments:read', 'payments:write', 'transfers:read',
      'transfers:write', 'blockchain:read', 'blockchain:write', 'wallets:read', 'wallets:write', 'mint:read',
      'mint:write', 'notifications:read', 'notifications:write', 'admin'
    ]
    and cardinality(scopes) > 0
  ),
  dialect text not null default 'flat' check (dialect in ('flat', 'nested')),
  created_at timestamptz(3) not null default now(),
  revoked_at timestamptz(3)
);
create index api_keys_user on api_keys (user_id);

-- The keys that access tokens are signed with: one signs, the retired ones verify until their last token has expired.
create table signing_keys (
  kid text primary key check (kid ~ '^[A-Za-z0-9_-]{43}$'),
  public_jwk jsonb not null check (public_jwk ->> 'crv' = 'Ed25519' and not public_jwk ? 'd'),
  private_jwk jsonb check (private_jwk ->> 'crv' = 'Ed25519' and private_jwk ? 'd'),
  created_at timestamptz(3) not null default now(),
  retired_at timestamptz(3),
  -- A retired key signs nothing any more, so its private half is destroyed.
  check ((retired_at is null) = (private_jwk is not null))
);
create unique index signing_keys_current on signing_keys ((retired_at is null)) where retired_at is null;

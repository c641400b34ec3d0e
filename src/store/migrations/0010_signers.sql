-- An order may mint dollars for the payee; the contract is then the token, and the amount is in its smallest unit.
alter table orders
  drop constraint orders_route_check,
  drop constraint orders_check1,
  add constraint orders_route_check check (route in ('direct', 'contract', 'mint')),
  add constraint orders_contract_of_route check ((route = 'direct') = (contract is null));

-- References are keyed by it, so all processes of one installation must share it. It is no key to money.
alter table installation add column reference_key bytea not null
  default uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) check (octet_length(reference_key) = 32);

-- The address that a user's signer has, from its first use on. Whoever signs for an address finds the signer by it, and
-- a change of QUITTANCE_SIGNER does not silently give a user another address.
alter table users add column address text unique check (address ~ '^0x[0-9a-f]{40}$');

-- What a signer still owes is added up for each list of payments, while its lane is locked.
create index orders_waiting on orders (chain_id, signer) where state = 'accepted' and bundle is null;

-- A row writes all of its indexes anew at every move. A hash is one of a kind on its chain, at whatever nonce; and one
-- index both keeps a reference for its signer and finds it without.
alter table attempts drop constraint attempts_chain_id_signer_nonce_hash_key;
alter table orders drop constraint orders_chain_id_signer_reference_key, add unique (chain_id, reference, signer);
drop index orders_reference;

-- One statement writes the move and the event of a transaction, with the user of its row, whose key is checked.
alter table transaction_moves drop constraint transaction_moves_user_id_fkey;
alter table events drop constraint events_user_id_fkey;

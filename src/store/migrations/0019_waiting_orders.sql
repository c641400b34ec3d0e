-- What a signer still owes is added up for each list of payments, while its lane is locked.
create index orders_waiting on orders (chain_id, signer) where state = 'accepted' and bundle is null;

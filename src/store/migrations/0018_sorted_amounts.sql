-- The largest and the smallest amounts of a currency, of one user and of all. Behind an amount that many have, the id
-- says where a page goes on.
drop index transaction_features_amount;
create index transaction_features_amount on transaction_features (user_id, currency, amount, internal_id);
create index transaction_features_sorted on transaction_features (currency, amount, internal_id);

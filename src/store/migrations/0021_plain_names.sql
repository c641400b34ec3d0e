-- What each of these looked up stands in the statements themselves: a function began a statement of its own for each
-- row.
drop function chain_name(bigint);
drop function chain_coin(bigint);

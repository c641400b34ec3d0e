-- What each of these looked up stands in the statements themselves: a function began a statement of its own for each
-- row, in a list of fifty half of its time.
drop function chain_name(bigint);
drop function chain_coin(bigint);

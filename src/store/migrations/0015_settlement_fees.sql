-- What the transaction of a settlement of ours has cost, in wei, by its receipt; null of strangers' and where too few
-- providers told. The settlements are read again with it.
alter table settled_logs add column fee numeric(78, 0) check (fee >= 0);
delete from settled_logs;
delete from sweep_cursors;

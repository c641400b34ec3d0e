-- Which order a settlement pays is known when it is read, since what we sign is stored before it is sent. So a run looks
-- each one up by its order, and looks for strays among the others alone.
alter table settled_logs add column order_id bigint;
update settled_logs s set order_id = a.order_id from attempts a where a.chain_id = s.chain_id and a.hash = s.hash;
drop index settled_logs_reference;
drop index settled_logs_payer;
create index settled_logs_order on settled_logs (order_id) where order_id is not null;
create index settled_logs_strange on settled_logs (chain_id, contract, block_number, log_index) where order_id is null;

-- Whoever settles under a reference of ours, which all can see, is looked up by it alone.
create index orders_reference on orders (chain_id, reference);

-- The same checks, where `{64}` took most of the time of storing a million settlements.
alter table settled_logs
  drop constraint settled_logs_contract_check,
  drop constraint settled_logs_block_hash_check,
  drop constraint settled_logs_hash_check,
  drop constraint settled_logs_reference_check,
  drop constraint settled_logs_payer_check,
  drop constraint settled_logs_payee_check,
  drop constraint settled_logs_token_check,
  add constraint settled_logs_words check (
    length(block_hash) = 66 and block_hash ~ '^0x[0-9a-f]+$' and length(hash) = 66 and hash ~ '^0x[0-9a-f]+$'
    and length(reference) = 66 and reference ~ '^0x[0-9a-f]+$'
  ),
  add constraint settled_logs_addresses check (
    length(contract) = 42 and contract ~ '^0x[0-9a-f]+$' and length(payer) = 42 and payer ~ '^0x[0-9a-f]+$'
    and length(payee) = 42 and payee ~ '^0x[0-9a-f]+$'
    and (token is null or (length(token) = 42 and token ~ '^0x[0-9a-f]+$'))
  );

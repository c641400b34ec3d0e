-- What an operator finds anything by: words of descriptions, amounts, and who paid.

-- Its words in lower case, without ASCII signs: other letters stay, whatever the collation of the server.
create function words_of(description text) returns text[] language sql immutable parallel safe as $$
  select array_remove(regexp_split_to_array(lower(description), '[\s!-/:-@[-`{-~]+'), '')
$$;

-- No word has a sign, so that an amount is never taken for one.
create function amount_word(amount numeric) returns text language sql immutable parallel safe as $$
  select '=' || trim_scale(amount)
$$;

-- The words and the amount of each transaction, beside it for the reason of its features: they are written once.
create table transaction_texts (
  internal_id bigint not null,
  words tsvector not null
);

insert into transaction_texts (internal_id, words)
select id, array_to_tsvector(words_of(description) || amount_word(amount)) from transactions;

-- A short list of what is new makes a write cheap; a longer one would make some payment wait for its turn.
create index transaction_texts_words on transaction_texts using gin (words) with (gin_pending_list_limit = 256);

create or replace function keep_features() returns trigger language plpgsql as $$
begin
  insert into transaction_features (internal_id, user_id, created_at, currency, amount, to_address, chain_id)
  select id, user_id, created_at, currency, amount, to_address, chain_id from inserted;
  insert into transaction_texts (internal_id, words)
  select id, array_to_tsvector(words_of(description) || amount_word(amount)) from inserted;
  if exists (select from inserted where metadata <> '{}') then
    insert into transaction_words (digest, user_id, created_at, internal_id)
    select word_digest(key, value), user_id, created_at, id
    from inserted, jsonb_each_text(metadata);
  end if;
  return null;
end $$;

-- Transactions with the amount, or with all of the words, of which the last may be open: the beginning of one. Of words
-- that most transactions have, the index gives a sample: what is asked while somebody types has to end.
create function transactions_with_words(text text, amount numeric, is_open boolean, most integer) returns setof bigint
language sql stable
set gin_fuzzy_search_limit = 5000
set enable_seqscan = off
set max_parallel_workers_per_gather = 0
as $$
  select internal_id from transaction_texts where words @@ nullif(concat_ws(
    ' | ',
    quote_literal(amount_word(amount)),
    '(' || (
      select string_agg(quote_literal(word) ||
        case when is_open and place = last and length(word) > 2 then ':*' else '' end, ' & ')
      from (
        select word, place, max(place) over () as last
        from unnest((words_of(text))[:8]) with ordinality as of (word, place)
      ) as words
    ) || ')'
  ), '')::tsquery
  order by internal_id desc limit most
$$;

create index deposits_payer on deposits (payer);
create index checkout_payments_payer on checkout_payments (payer);
create index transfers_address on transfers (address, seq) where address is not null;
create index transfers_hash on transfers (transaction_hash) where transaction_hash is not null;
create index breaks_hash on breaks (hash) where state = 'open' and hash is not null;

-- How much of each limit was taken, in 61 slots of a sixtieth of its window each. The slot that is being filled and the
-- 60 before it always cover the whole window, so what it counts is never less than what was taken within it. Losing the
-- table in a crash costs one window, so it is not written to the log of the database.
create unlogged table rate_limits (
  bucket text primary key check (length(bucket) <= 200),
  -- Slot n stands at place 1 + n % 61.
  units integer[] not null check (cardinality(units) = 61),
  last_slot bigint not null check (last_slot >= 0),
  updated_at timestamptz(3) not null
) with (fillfactor = 50);

-- Gives back what was left of an earlier grant, then grants as much of the wanted as the limit allows. The row is locked
-- meanwhile, so that processes take turns. A clock that is behind the others counts in their slot.
create function take_rate(
  in_bucket text,
  in_limit integer,
  in_window_ms integer,
  in_wanted integer,
  in_now timestamptz,
  in_returned integer,
  in_returned_slot bigint,
  out granted integer,
  out taken integer,
  out slot bigint,
  out free_after_ms integer
) language plpgsql as $body$
declare
  slot_ms constant bigint := in_window_ms / 60;
  now_ms constant bigint := floor(extract(epoch from in_now) * 1000);
  held rate_limits;
  place integer;
begin
  insert into rate_limits (bucket, units, last_slot, updated_at)
    values (in_bucket, array_fill(0, array[61]), now_ms / slot_ms, in_now)
    on conflict (bucket) do update set updated_at = excluded.updated_at
    returning * into held;
  slot := greatest(now_ms / slot_ms, held.last_slot);
  for passed in greatest(held.last_slot + 1, slot - 60) .. slot loop
    held.units[1 + passed % 61] := 0;
  end loop;
  if in_returned > 0 and in_returned_slot between slot - 60 and slot then
    place := 1 + in_returned_slot % 61;
    held.units[place] := greatest(held.units[place] - in_returned, 0);
  end if;
  select sum(unit) into taken from unnest(held.units) as unit;
  granted := greatest(least(in_wanted, in_limit - taken), 0);
  taken := taken + granted;
  place := 1 + slot % 61;
  held.units[place] := held.units[place] + granted;
  -- The oldest slot that holds something is the next to become free.
  select min(counted + 61) * slot_ms - greatest(now_ms, slot * slot_ms) into free_after_ms
    from generate_series(slot - 60, slot) as counted where held.units[1 + counted % 61] > 0;
  update rate_limits set units = held.units, last_slot = slot where bucket = in_bucket;
end $body$;

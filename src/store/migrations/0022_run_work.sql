-- How long workers were at a run: the time that it lay still between a stop and the next start is none of it.
alter table runs add column worked_ms bigint not null default 0 check (worked_ms >= 0);

-- Where in a trace of OpenTelemetry later spans about something belong, by the id that an order, a transaction, a transfer
-- or a batch has. A row is written only where traces are on, in the SQL transaction that makes what it is about, and
-- nothing depends on it.
create table traces (
  subject text primary key check (length(subject) between 1 and 64),
  -- As W3C Trace Context writes it.
  traceparent text not null check (length(traceparent) = 55 and traceparent ~ '^00-[0-9a-f]+-[0-9a-f]+-[0-9a-f]+$'),
  created_at timestamptz(3) not null default now()
);
create index traces_age on traces (created_at);

-- What speaks against a transaction, open breaks and alerts, is shown beside it: these find them by it.
create index breaks_against on breaks (transaction_id) where state = 'open' and transaction_id is not null;
create index sender_alerts_of_order on sender_alerts (order_id) where closed_at is null and order_id is not null;

-- Whoever follows the events of a transaction hears of each break and alert about it, whatever opens or closes it.
create function tell_of_objection(about text, event_type text, why text) returns void language sql as $$
  insert into events (log_key, user_id, type, subject, data)
  select greatest(log_key, log_key_now()), user_id, event_type, transaction_id,
    jsonb_build_object('status', status, 'previous_status', status, 'reason', why)
  from transactions where transaction_id = about
$$;

create function tell_of_break() returns trigger language plpgsql as $$
begin
  perform tell_of_objection(new.transaction_id,
    case new.state when 'open' then 'transaction.break_opened' else 'transaction.break_closed' end, new.kind);
  return null;
end $$;
create trigger breaks_opened after insert on breaks
  for each row when (new.transaction_id is not null and new.state = 'open') execute function tell_of_break();
create trigger breaks_moved after update of state on breaks
  for each row when (new.transaction_id is not null and new.state <> old.state) execute function tell_of_break();

create function tell_of_alert() returns trigger language plpgsql as $$
begin
  perform tell_of_objection(subject,
    case when new.closed_at is null then 'transaction.alert_opened' else 'transaction.alert_closed' end, new.kind)
  from orders where id = new.order_id;
  return null;
end $$;
create trigger sender_alerts_opened after insert on sender_alerts
  for each row when (new.order_id is not null) execute function tell_of_alert();
create trigger sender_alerts_moved after update of closed_at on sender_alerts
  for each row when (new.order_id is not null and (new.closed_at is null) <> (old.closed_at is null))
  execute function tell_of_alert();

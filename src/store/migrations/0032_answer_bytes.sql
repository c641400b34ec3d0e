-- What a receiver answered may be a secret of whatever the url really is, so its length is kept and
-- not its content.
alter table webhook_tries add column answer_bytes integer check (answer_bytes >= 0);
update webhook_tries set answer_bytes = octet_length(answer) where answer is not null;
alter table webhook_tries drop column answer;

-- When an alert was looked after last, so that it is neither repeated at each pass nor keeps the others from their turn.
alter table sender_alerts add column tended_at timestamptz(3);

-- Since when the providers have said nothing but that there are no funds for it; null after any other answer. The time
-- since it was signed says nothing of it: that may be the wait for its turn.
alter table attempts add column no_funds_since timestamptz(3);

-- Until when a key opens the door, and when it last did. A request writes its use at most once a minute, so the time is
-- right to a minute.
alter table api_keys
  add column expires_at timestamptz(3),
  add column used_at timestamptz(3);

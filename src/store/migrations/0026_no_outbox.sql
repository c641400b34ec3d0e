-- Each move of a transaction left a row here that nobody read: events tell clients, and notifications the webhooks.
drop table outbox;

-- +goose Up
-- The list of a workspace's outbox, in its order. Without it, 200 rows were sorted from all.
create index outbox_listed on outbox (workspace_id, failures desc, created_at, id);

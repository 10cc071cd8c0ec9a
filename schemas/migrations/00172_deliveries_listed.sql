-- +goose Up
-- The list of a workspace's deliveries, in its order.
create index deliveries_listed on deliveries (workspace_id, (state = 'dead') desc, id desc);

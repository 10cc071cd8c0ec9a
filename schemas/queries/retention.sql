-- name: CallsPrune :one
-- System role, like the other statements here.
select cairn.prune_calls(@keep::interval, @max_rows::int)::bigint;

-- name: RunsPrune :one
select cairn.prune_runs(@keep::interval, @max_rows::int)::bigint;

-- name: OperationsPrune :one
select cairn.prune_operations(@keep::interval, @max_rows::int)::bigint;

-- name: AuditPrune :one
select cairn.prune_audit(@keep::interval, @max_rows::int)::bigint;

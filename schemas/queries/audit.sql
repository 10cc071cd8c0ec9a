-- Audit events.

-- name: AuditInsert :exec
insert into audit_events (workspace_id, action, object, actor, key_id, account, request, address)
values (sqlc.narg(workspace_id), @action, @object, @actor, sqlc.narg(key_id), @account, @request, @address);

-- name: AuditHas :one
-- Whether an act was recorded before. The caller has locked its object.
select exists (select from audit_events where workspace_id is not distinct from sqlc.narg(workspace_id) and action = @action and object = @object);

-- name: AuditOfWorkspace :many
-- The latest first. Names are read from the keys, so that an erasure of the workspace removes them.
select e.id, e.at, e.action, e.object, e.actor, e.key_id, coalesce(k.name, e.account)::text as name, e.request, e.address
from audit_events e left join api_keys k on e.actor = 'key' and k.workspace_id = e.workspace_id and k.id = e.key_id
where e.workspace_id = @workspace_id and (@cursor::bigint = 0 or e.id < @cursor) and (@action::text = '' or e.action = @action)
  and (sqlc.narg(since)::timestamptz is null or e.at >= sqlc.narg(since)) and (sqlc.narg(until)::timestamptz is null or e.at < sqlc.narg(until))
order by e.id desc limit @most;

-- name: AuditOfOperators :many
-- The same for the acts of operators, which belong to no workspace.
select e.id, e.at, e.action, e.object, e.actor, e.key_id, coalesce(k.name, e.account)::text as name, e.request, e.address
from audit_events e left join operator_keys k on e.actor = 'operator' and k.id = e.key_id
where e.workspace_id is null and (@cursor::bigint = 0 or e.id < @cursor) and (@action::text = '' or e.action = @action)
  and (sqlc.narg(since)::timestamptz is null or e.at >= sqlc.narg(since)) and (sqlc.narg(until)::timestamptz is null or e.at < sqlc.narg(until))
order by e.id desc limit @most;

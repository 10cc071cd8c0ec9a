-- Sign-ins of the web console.

-- name: ConsoleSessionInsert :exec
insert into console_sessions (workspace_id, hash, key_id, account, scopes)
values (@workspace_id, @hash, sqlc.narg(key_id), @account, @scopes);

-- name: ConsoleSessionMove :exec
update console_sessions set hash = @hash where workspace_id = @workspace_id and id = @id;

-- name: ConsoleSessionsEnded :exec
-- Deletes what has ended in the workspace, so that the tables stay small.
with codes as (delete from console_codes c where c.workspace_id = @workspace_id and c.ends_at <= now())
delete from console_sessions s where s.workspace_id = @workspace_id and (s.ends_at <= now() or s.used_at <= now() - interval '8 hours');

-- name: ConsoleSessionUsed :exec
update console_sessions set used_at = now()
where workspace_id = @workspace_id and id = @id and used_at <= now() - interval '1 minute';

-- name: ConsoleSessionDelete :execrows
delete from console_sessions where workspace_id = @workspace_id and id = @id;

-- name: ConsoleSessionsList :many
select s.id, coalesce(s.key_id, 0)::bigint as key_id, coalesce(k.name, s.account)::text as name, s.scopes, s.created_at, s.used_at, s.ends_at
from console_sessions s left join api_keys k on k.workspace_id = s.workspace_id and k.id = s.key_id
where s.workspace_id = @workspace_id and s.ends_at > now() and s.used_at > now() - interval '8 hours'
order by s.id desc;

-- name: ConsoleSessionResolve :many
select ws_id::bigint as workspace, ws_name::text as name, ws_key::text as key, session_id::bigint as id,
  coalesce(session_key, 0)::bigint as key_id, session_account::text as account, session_scopes::text[] as scopes, session_idle::boolean as idle
from cairn.resolve_console_session(@hash::bytea);

-- name: ConsoleCodeInsert :exec
insert into console_codes (workspace_id, hash, account, scopes) values (@workspace_id, @hash, @account, @scopes);

-- name: ConsoleCodeResolve :one
select ws_id::bigint as workspace, ws_name::text as name, ws_key::text as key from cairn.resolve_console_code(@hash::bytea);

-- name: ConsoleCodeDelete :one
delete from console_codes where workspace_id = @workspace_id and hash = @hash and ends_at > now()
returning account, scopes;

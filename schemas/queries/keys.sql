-- API keys.

-- name: KeyInsert :one
insert into api_keys (workspace_id, name, hash, hint, scopes, expires_at, lifetime)
values (@workspace_id, @name, @hash, @hint, @scopes, sqlc.narg(expires_at), sqlc.narg(expires_at)::timestamptz - now())
returning id, created_at;

-- name: KeysList :many
select id, name, hint, scopes, created_at, expires_at, last_used_at as used_at, revoked_at from api_keys where workspace_id = @workspace_id order by id;

-- name: KeyRevoke :execrows
update api_keys set revoked_at = now() where workspace_id = @workspace_id and id = @id and revoked_at is null;

-- name: KeyRotate :one
-- Creates a key with the name and scopes of another one, whose overlap begins now and never extends
-- its life. Without an end of its own, the new key lives as long as the old one was made for.
with old as (
  update api_keys set expires_at = least(api_keys.expires_at, now() + @overlap::interval)
  where api_keys.workspace_id = @workspace_id and api_keys.id = @id and revoked_at is null and (api_keys.expires_at is null or api_keys.expires_at > now())
  returning name, scopes, lifetime
)
insert into api_keys (workspace_id, name, hash, hint, scopes, expires_at, lifetime)
select @workspace_id, name, @hash, @hint, scopes, coalesce(sqlc.narg(expires_at)::timestamptz, now() + lifetime),
  coalesce(sqlc.narg(expires_at)::timestamptz - now(), lifetime) from old
returning id, name, scopes, created_at, expires_at;

-- name: KeyUsed :exec
-- Several gateways may see a key at once: the first one writes.
update api_keys set last_used_at = now()
where workspace_id = @workspace_id and id = @id and (last_used_at is null or last_used_at <= now() - interval '5 minutes');

-- name: KeyResolve :one
select ws_id::bigint as workspace, ws_name::text as name, ws_key::text as key, key_id::bigint as key_id, key_scopes::text[] as scopes,
  key_seconds::double precision as seconds, key_idle::boolean as idle
from cairn.resolve_key(@hash::bytea);

-- name: OperatorKeyInsert :one
insert into operator_keys (name, hash, hint, scopes, account, expires_at)
values (@name, @hash, @hint, @scopes, sqlc.narg(account), sqlc.narg(expires_at))
returning id, created_at;

-- name: OperatorKeysList :many
select id, name, hint, scopes, coalesce(account, '')::text as account, created_at, expires_at, last_used_at as used_at, revoked_at
from operator_keys order by id;

-- name: OperatorKeyRevoke :execrows
update operator_keys set revoked_at = now() where id = @id and revoked_at is null;

-- name: OperatorKeyUsed :exec
update operator_keys set last_used_at = now() where id = @id and (last_used_at is null or last_used_at <= now() - interval '5 minutes');

-- name: OperatorKeyResolve :one
select key_id::bigint as key_id, key_scopes::text[] as scopes, key_seconds::double precision as seconds, key_idle::boolean as idle
from cairn.resolve_operator_key(@hash::bytea);

-- name: GatewayKeyResolve :one
select key_id::bigint as key_id, key_account::text as account, coalesce(ws_id, 0)::bigint as workspace, coalesce(ws_name, '')::text as name,
  coalesce(ws_key, '')::text as key, coalesce(ws_role, '')::text as role, key_seconds::double precision as seconds, key_idle::boolean as idle
from cairn.resolve_gateway_key(@hash::bytea, @person::text);

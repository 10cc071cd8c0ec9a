-- name: WorkspaceOpen :one
select ws_id::bigint as id, ws_key::text as key, ws_state::text as state from cairn.open_workspace(@external_id::text, @make::boolean);

-- name: WorkspaceEnter :exec
select cairn.enter(@workspace_id::bigint);

-- name: WorkspaceEnterByKeys :exec
-- WorkspaceEnter for a transaction whose statements find their rows by keys, in any workspace the same way: each is
-- planned once for a connection, those of enter too. It may be planned while its tables are small, so a scan is no choice.
select set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true), cairn.enter(@workspace_id::bigint);

-- name: WorkspaceEnterToSearch :exec
-- WorkspaceEnter for one statement that calls a function, which plans what is in it by its own settings.
select set_config('plan_cache_mode', 'force_generic_plan', true), cairn.enter(@workspace_id::bigint);

-- name: WorkspaceSettings :one
select settings, time_zone, reflection_cron from workspaces where id = @workspace_id;

-- name: WorkspaceSettingsSet :execrows
update workspaces set settings = @settings, time_zone = coalesce(nullif(@time_zone::text, ''), time_zone),
  reflection_cron = coalesce(nullif(@reflection_cron::text, ''), reflection_cron) where id = @workspace_id;

-- name: SessionRoles :one
select login::text, role::text, super::boolean, bypass::boolean, owns::boolean, login_super::boolean from cairn.session_roles();

-- name: SpaceOpen :one
select cairn.open_space(@model::text, @dims::int)::smallint;

-- name: WorkspaceKey :one
select external_id, key from workspaces where id = @workspace_id;

-- name: WorkspaceByKey :one
-- System role.
select id, external_id from workspaces where key = @key and state = 'active';

-- name: WorkspaceOpen :one
select ws_id::bigint as id, ws_key::text as key, ws_state::text as state from cairn.open_workspace(@external_id::text, @make::boolean);

-- name: WorkspaceList :many
-- System role.
select external_id as name, state, created_at from workspaces where external_id > @after::text and starts_with(external_id, @prefix::text)
order by external_id limit @most;

-- name: WorkspaceSettings :one
select settings, time_zone, reflection_cron from workspaces where id = @workspace_id;

-- name: WorkspaceSettingsSet :execrows
update workspaces set settings = @settings, time_zone = coalesce(nullif(@time_zone::text, ''), time_zone),
  reflection_cron = coalesce(nullif(@reflection_cron::text, ''), reflection_cron) where id = @workspace_id;

-- name: SessionRoles :one
select login::text, role::text, super::boolean, bypass::boolean, owns::boolean, login_super::boolean, inherits::boolean from cairn.session_roles();

-- name: SpaceOpen :one
select cairn.open_space(@model::text, @dims::int)::smallint;

-- name: WorkspaceKey :one
select external_id, key from workspaces where id = @workspace_id;

-- name: WorkspaceByKey :one
-- System role.
select id, external_id from workspaces where key = @key and state = 'active';

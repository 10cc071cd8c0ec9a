-- name: ImportPut :one
-- Returns nothing if the workspace has the file already.
insert into imports (workspace_id, sha256, name, format, allow_unknown, distill, outcome, report, bytes, content)
values (@workspace_id, @sha256, @name, @format, @allow_unknown, @distill, @outcome, @report, @bytes, @content)
on conflict (workspace_id, sha256) do nothing returning id;

-- name: ImportID :one
select id from imports where workspace_id = @workspace_id and sha256 = @sha256;

-- name: ImportsPage :many
-- The latest imports, or one, without their files.
select i.id, i.sha256, i.name, i.distill, i.report, i.bytes, i.stored, i.created_at, i.stored_at,
  array(select c.external_id from unnest(i.conversations) with ordinality u(id, n)
    join conversations c on c.workspace_id = i.workspace_id and c.id = u.id order by u.n)::text[] as conversations
from imports i where i.workspace_id = @workspace_id and (@id::bigint = 0 or i.id = @id) and (@before::bigint = 0 or i.id < @before)
order by i.id desc limit @max_rows;

-- name: ImportFile :one
-- The file with the state of its latest reading.
select name, format, allow_unknown, distill, outcome, content, stored, (stored_at is not null)::boolean as ended from imports
where workspace_id = @workspace_id and id = @id;

-- name: ImportLock :one
-- An erasure waits for the transaction, and then finds what it has stored.
select id from imports where workspace_id = @workspace_id and id = @id for update;

-- name: ImportAdvance :execrows
-- Counts a stored conversation. No row means that another process has stored it.
update imports set stored = stored + 1, stored_at = case when @last::boolean then now() end,
  conversations = case when @conversation::bigint = any(conversations) then conversations else conversations || @conversation end
where workspace_id = @workspace_id and id = @id and stored = @was::int and stored_at is null;

-- name: ImportReparse :execrows
update imports set report = @report, stored = 0, stored_at = null where workspace_id = @workspace_id and id = @id;

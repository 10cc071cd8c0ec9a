-- name: SoulGet :one
select v.* from workspaces w join soul_versions v on v.workspace_id = w.id and v.version = w.soul_version where w.id = @workspace_id;

-- name: SoulAt :one
select * from soul_versions where workspace_id = @workspace_id and version = @version;

-- name: SoulHistory :many
select * from soul_versions where workspace_id = @workspace_id order by version desc limit @max_rows;

-- name: SoulInsert :exec
insert into soul_versions (workspace_id, version, content, action, origin, run_id, op_id, conversation_id, from_seq, to_seq)
values (@workspace_id, @version, @content, @action, @origin, @run_id, @op_id, @conversation_id, @from_seq, @to_seq);

-- name: SoulAdvance :execrows
update workspaces set soul_version = @version where id = @workspace_id and soul_version = @base_version;

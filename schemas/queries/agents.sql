-- name: AgentRunPut :one
-- Records a run of an agent, or finds the one that has its key.
insert into runs (workspace_id, id, kind, business_key, generation, args_sha, conversation_id, parent_id, spec,
  workflow_id, add_subject, add_joins, add_tokens)
values (@workspace_id, @id, @kind, @business_key, @generation, @args_sha, sqlc.narg('conversation_id'),
  sqlc.narg('parent_id'), @spec, @workflow_id, sqlc.narg('add_subject'), sqlc.narg('add_joins'), sqlc.narg('add_tokens'))
on conflict (workspace_id, kind, business_key, generation) do update set kind = runs.kind
returning id;

-- name: RunsOfParent :many
select * from runs where workspace_id = @workspace_id and parent_id = @parent_id order by created_at, id;

-- name: RunOpenOf :one
-- An open run of a kind about a conversation, if one exists.
select id from runs
where workspace_id = @workspace_id and kind = @kind and conversation_id = @conversation_id and status <> 'ended'
order by created_at, id limit 1;

-- name: MarkGet :one
select seq from conversation_marks where workspace_id = @workspace_id and conversation_id = @conversation_id and kind = @kind;

-- name: MarkSet :exec
-- A mark only moves forward.
insert into conversation_marks as m (workspace_id, conversation_id, kind, seq, run_id) values (@workspace_id, @conversation_id, @kind, @seq, sqlc.narg('run_id'))
on conflict (workspace_id, conversation_id, kind) do update set seq = greatest(m.seq, excluded.seq), run_id = excluded.run_id, updated_at = now();

-- name: LongTermAny :one
-- Whether the workspace has anything from which a question could be answered.
select (exists (select 1 from memories m where m.workspace_id = @workspace_id and m.status = 'active' and m.type in ('personal', 'procedural', 'tool', 'summary'))
  or exists (select 1 from memory_targets t where t.workspace_id = @workspace_id))::boolean as found;

-- name: AddsOpen :many
-- Locks the open adds of a subject, the first one first. Those that another transaction has locked are left out.
select sqlc.embed(r), coalesce((select c.step from llm_calls c where c.workspace_id = r.workspace_id and c.run_id = r.id and c.step like 'facts%' order by c.created_at limit 1), '')::text as step
from runs r where r.workspace_id = @workspace_id and r.add_subject = @subject and r.kind = 'summarize' and r.status <> 'ended'
order by r.created_at, r.id limit @max_rows for no key update of r skip locked;

-- name: AddsJoin :exec
update runs set add_batch = @batch::text where workspace_id = @workspace_id and id = any(@ids::text[]);

-- name: AddsCount :one
select c.mine::bigint as mine, c.mine_seconds::float8 as mine_seconds, c.everyone::bigint as everyone, c.everyone_seconds::float8 as everyone_seconds
from cairn.open_adds() c;

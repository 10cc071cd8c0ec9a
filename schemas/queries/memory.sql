-- name: MemoryLock :exec
-- Serializes the writers of one workspace: budgets, duplicates and quotas are checked on rows that
-- do not change.
select pg_advisory_xact_lock(6, hashint8(@workspace_id::bigint));

-- name: MemoriesList :many
select * from memories
where workspace_id = @workspace_id and type = any(@types::text[]) and (@every_status::boolean or status = 'active')
order by id limit @max_rows;

-- name: MemoriesInPrompt :many
select * from memories
where workspace_id = @workspace_id and type = any(@types::text[]) and status = 'active' and not moved and type in ('core', 'profile')
order by id limit @max_rows;

-- name: MemoriesMove :execrows
-- Moves entries to long-term memory, or back. Their content, source and time stay, so the revision is a copy of the one
-- before.
with changed as (
  update memories m set moved = @moved::boolean, version = m.version + 1, op_id = @op_id
  where m.workspace_id = @workspace_id and m.id = any(@ids::bigint[]) and m.status = 'active' and m.moved <> @moved::boolean
  returning m.*
)
insert into memory_revisions (workspace_id, memory_id, version, action, status, content, when_to_use, metadata, targets, author, origin, tainted, run_id, op_id, conversation_id, from_seq, to_seq, decision_id, moved, moved_by)
select c.workspace_id, c.id, c.version, @action::text, c.status, c.content, c.when_to_use, c.metadata, c.targets, c.author, c.origin, c.tainted,
  case when r.version is null then c.run_id else r.run_id end, @op_id,
  case when r.version is null then c.conversation_id else r.conversation_id end,
  case when r.version is null then c.from_seq else r.from_seq end,
  case when r.version is null then c.to_seq else r.to_seq end,
  coalesce(r.decision_id, ''), c.moved, sqlc.narg(moved_by)::text
from changed c left join memory_revisions r on r.workspace_id = c.workspace_id and r.memory_id = c.id and r.version = c.version - 1;

-- name: MemoriesConfirm :exec
update memories set confirmed_at = now() where workspace_id = @workspace_id and id = any(@ids::bigint[]);

-- name: MemoryGet :one
select * from memories where workspace_id = @workspace_id and external_id = @external_id;

-- name: MemoryInsert :one
-- Returns no row if the external ID is taken; the caller then salts it.
insert into memories (workspace_id, external_id, type, target, content, content_sha256, origin, tainted, approved, run_id, op_id, conversation_id, from_seq, to_seq, event_time)
values (@workspace_id, @external_id, @type, @target, @content, @content_sha256, @origin, @tainted, @approved, @run_id, @op_id, sqlc.narg(conversation_id), sqlc.narg(from_seq), sqlc.narg(to_seq),
  cairn.event_time(@workspace_id::bigint, sqlc.narg(conversation_id)::bigint, sqlc.narg(from_seq)::int, sqlc.narg(to_seq)::int, sqlc.narg(event_time)::timestamptz, @origin = 'user'))
on conflict (workspace_id, external_id) do nothing
returning *;

-- name: MemoryChange :execrows
update memories set content = @content, content_sha256 = @content_sha256, status = @status, tainted = @tainted, origin = @origin, approved = @approved, moved = @moved, op_id = @op_id, version = version + 1, updated_at = now()
where workspace_id = @workspace_id and id = @id and version = @version and status = @was;

-- name: MemoryRevisionInsert :exec
insert into memory_revisions (workspace_id, memory_id, version, action, status, content, when_to_use, metadata, targets, author, origin, tainted, run_id, op_id, conversation_id, from_seq, to_seq, decision_id, valid_until, moved)
values (@workspace_id, @memory_id, @version, @action, @status, @content, @when_to_use, @metadata, @targets::text[], @author, @origin, @tainted, @run_id, @op_id, @conversation_id, @from_seq, @to_seq, @decision_id, @valid_until, @moved);

-- name: MemoryRevisions :many
select r.* from memory_revisions r join memories m on m.workspace_id = r.workspace_id and m.id = r.memory_id
where r.workspace_id = @workspace_id and m.external_id = @external_id order by r.version desc limit @max_rows;

-- name: MemoryAddedByRun :one
-- Pending additions are counted as added.
select (
  (select count(*) from memory_revisions r join memories m on m.workspace_id = r.workspace_id and m.id = r.memory_id
    where r.workspace_id = @workspace_id and r.run_id = @run_id and r.action = 'add' and m.type = any(@types::text[]))
  + (select coalesce(sum(p.adds), 0) from pending_memories p
    where p.workspace_id = @workspace_id and p.run_id = @run_id and p.state = 'pending' and p.expires_at > now() and p.type = any(@types::text[]))
)::bigint;

-- name: PendingMemoryInsert :one
insert into pending_memories (workspace_id, type, operations, base, adds, gist, risk, reason, origin, tainted, run_id, op_id, conversation_id, from_seq, to_seq)
values (@workspace_id, @type, @operations, @base, @adds, @gist, @risk, @reason, @origin, @tainted, @run_id, @op_id, @conversation_id, @from_seq, @to_seq)
returning id;

-- name: PendingMemoryGet :one
select * from pending_memories where workspace_id = @workspace_id and id = @id and state = 'pending' and expires_at > now() for update;

-- name: PendingMemoryExpire :execrows
update pending_memories set state = 'expired', decided_at = now() where workspace_id = @workspace_id and state = 'pending' and expires_at <= now();

-- name: PendingMemoryExpired :one
select exists (select 1 from pending_memories where workspace_id = @workspace_id and id = @id and (state = 'expired' or state = 'pending' and expires_at <= now()));

-- name: PendingMemoryList :many
select * from pending_memories where workspace_id = @workspace_id and state in ('pending', 'expired') and expires_at > now() - interval '30 days'
order by state = 'expired', id limit @max_rows;

-- name: PendingMemoryCount :one
select count(*) from pending_memories where workspace_id = @workspace_id and state = 'pending' and expires_at > now();

-- name: PendingMemoryDecide :execrows
update pending_memories set state = @state, decided_at = now() where workspace_id = @workspace_id and id = @id and state = 'pending';

-- name: ReplyChunksPut :exec
-- The reply of an ended run is stored, so only open runs get chunks. Notifies the readers of each run.
with put as (
  insert into reply_chunks (workspace_id, run_id, step, attempt, seq, body)
  select @workspace_id, c.run_id, c.step, c.attempt, c.seq, c.body
  from (select unnest(@runs::text[]) as run_id, unnest(@steps::int[]) as step, unnest(@attempts::int[]) as attempt,
    unnest(@seqs::int[]) as seq, unnest(@bodies::text[]) as body) c
  where exists (select from runs r where r.workspace_id = @workspace_id and r.id = c.run_id and r.status <> 'ended')
  on conflict do nothing
)
select pg_notify('cairn_reply', r) from (select distinct unnest(@runs::text[])) d (r);

-- name: ReplyChunksAfter :many
select step, attempt, seq, body from reply_chunks
where workspace_id = @workspace_id and run_id = @run_id and (step, attempt, seq) > (@step::int, @attempt::int, @seq::int)
order by step, attempt, seq limit @max_rows;

-- name: ReplySteps :many
select step, content from agent_steps where workspace_id = @workspace_id and run_id = @run_id order by step;

-- name: ReplyChunksPurge :execrows
-- System role. Its policies show only what has expired.
delete from reply_chunks where (workspace_id, run_id, step, attempt, seq) in (
  select workspace_id, run_id, step, attempt, seq from reply_chunks order by created_at limit @max_rows);

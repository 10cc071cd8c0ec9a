-- name: ReplyChunksPut :exec
-- System role, which sees open runs only: the reply of an ended run is stored. Notifies the readers of
-- each run.
with put as (
  insert into reply_chunks (workspace_id, run_id, step, attempt, seq, body)
  select c.workspace_id, c.run_id, c.step, c.attempt, c.seq, c.body
  from (select unnest(@workspaces::bigint[]) as workspace_id, unnest(@runs::text[]) as run_id, unnest(@steps::int[]) as step,
    unnest(@attempts::int[]) as attempt, unnest(@seqs::int[]) as seq, unnest(@bodies::text[]) as body) c
  where exists (select from runs r where r.workspace_id = c.workspace_id and r.id = c.run_id and r.status <> 'ended')
  on conflict do nothing
)
select pg_notify('cairn_reply', r) from (select distinct unnest(@runs::text[])) d (r);

-- name: ReplyChunksAfter :many
select step, attempt, seq, body from reply_chunks
where workspace_id = @workspace_id and run_id = @run_id and (step, attempt, seq) > (@step::int, @attempt::int, @seq::int)
order by step, attempt, seq limit @max_rows;

-- name: ReplyChunksPurge :execrows
delete from reply_chunks where (workspace_id, run_id, step, attempt, seq) in (
  select workspace_id, run_id, step, attempt, seq from reply_chunks where created_at < now() - @age::interval limit @max_rows);

-- name: ReplySteps :many
select step, content from agent_steps where workspace_id = @workspace_id and run_id = @run_id order by step;

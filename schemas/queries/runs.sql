-- name: RunInsert :one
insert into runs (workspace_id, id, kind, business_key, generation, args_sha, conversation_id, spec, workflow_id)
values (@workspace_id, @id, @kind, @business_key, @generation, @args_sha, @conversation_id, @spec, @workflow_id)
on conflict (workspace_id, kind, business_key, generation) do nothing
returning id;

-- name: RunByKey :one
select * from runs where workspace_id = @workspace_id and kind = @kind and business_key = @business_key
order by generation desc limit 1;

-- name: RunGet :one
select * from runs where workspace_id = @workspace_id and id = @id;

-- name: RunState :one
-- All columns except the configuration, which is long and never changes.
select workspace_id, id, kind, business_key, generation, attempt, args_sha, conversation_id, status, outcome, reason, result, workflow_id,
  created_at, started_at, ended_at, pruned
from runs where workspace_id = @workspace_id and id = @id;

-- name: RunSpec :one
select spec from runs where workspace_id = @workspace_id and id = @id;

-- name: RunPinModels :one
-- The first step of a run stores the models of its worker. Later ones keep them.
update runs set spec = case when coalesce(spec -> 'models', 'null') in ('null', '{}') then jsonb_set(spec, '{models}', @models) else spec end
where workspace_id = @workspace_id and id = @id returning spec;

-- name: RunGetLocked :one
select * from runs where workspace_id = @workspace_id and id = @id for no key update;

-- name: RunLock :one
select status, conversation_id from runs where workspace_id = @workspace_id and id = @id for no key update;

-- name: RunsRecent :many
select r.id, r.kind, r.business_key, r.generation, r.attempt, r.status, r.outcome, r.reason, r.workflow_id, r.created_at, r.ended_at,
  coalesce(c.title, '')::text as title
from runs r left join conversations c on c.workspace_id = r.workspace_id and c.id = r.conversation_id
where r.workspace_id = @workspace_id order by r.created_at desc, r.id desc limit @max_rows;

-- name: RunStart :execrows
update runs set status = 'running', started_at = coalesce(started_at, now())
where workspace_id = @workspace_id and id = @id and status <> 'ended';

-- name: RunEnd :exec
-- Ends a run, removes its outbox task and notifies waiting callers, in one statement. It also ends
-- open tasks that no workflow will end: those not started before a cancellation, or left by a
-- terminated workflow.
with ended as (
  update runs r set status = 'ended', outcome = @outcome, reason = @reason, result = @result, ended_at = now()
  where r.workspace_id = @workspace_id and r.id = @id and r.status <> 'ended' returning r.id as run, pg_notify('cairn_ended', r.id)
), left_over as (
  update distill_tasks t set stage = 'ended', outcome = 'failed', reason = @why, ended_at = now()
  from ended where t.workspace_id = @workspace_id and t.run_id = ended.run and t.stage <> 'ended'
)
delete from outbox o where o.workspace_id = @workspace_id and o.kind in ('turn', 'drive') and o.key = @duty;

-- name: RunReopen :execrows
update runs set status = 'accepted', outcome = '', reason = '', attempt = attempt + 1, redriven = 0, workflow_id = @workflow_id, opened_at = now(), ended_at = null
where workspace_id = @workspace_id and id = @id and status = 'ended' and attempt = @attempt;

-- name: RunRedrive :execrows
-- Another attempt at an open run whose workflow has closed.
update runs set status = 'accepted', attempt = attempt + 1, redriven = redriven + 1, workflow_id = @workflow_id
where workspace_id = @workspace_id and id = @id and status <> 'ended' and attempt = @attempt and redriven < @most;

-- name: RunUsage :one
select count(*) as keys, coalesce(sum(attempts), 0)::bigint as attempts, coalesce(sum(unknown), 0)::bigint as unknown,
  coalesce(sum(input_tokens), 0)::bigint as input_tokens, coalesce(sum(output_tokens), 0)::bigint as output_tokens,
  coalesce(sum(cached_tokens), 0)::bigint as cached_tokens, coalesce(sum(written_tokens), 0)::bigint as written_tokens,
  coalesce(sum(cost_micros), 0)::bigint as cost_micros, coalesce(bool_or(cost_micros is not null), false)::boolean as priced, coalesce(bool_or(estimated), false)::boolean as estimated
from llm_calls where workspace_id = @workspace_id and run_id = @run_id;

-- name: RunProgress :one
-- The changing state of a run, cheap enough to be polled several times a second by every client.
select r.status, r.outcome, r.attempt, t.keys::text[] as keys, t.names::text[] as names, t.stages::text[] as stages, t.outcomes::text[] as outcomes,
  c.calls::bigint as calls, c.tokens::bigint as tokens
from runs r, lateral (
  select coalesce(array_agg(x.task_key order by x.position), '{}') as keys, coalesce(array_agg(x.name order by x.position), '{}') as names,
    coalesce(array_agg(x.stage order by x.position), '{}') as stages, coalesce(array_agg(x.outcome order by x.position), '{}') as outcomes
  from distill_tasks x where x.workspace_id = r.workspace_id and x.run_id = r.id
) t, lateral (
  select count(*) as calls, coalesce(sum(y.input_tokens + y.output_tokens), 0) as tokens from llm_calls y where y.workspace_id = r.workspace_id and y.run_id = r.id
) c
where r.workspace_id = @workspace_id and r.id = @id;

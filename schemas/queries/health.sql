-- name: WorkerBeat :exec
-- System role.
insert into worker_beats (queue) select unnest(@queues::text[]) on conflict (queue) do update set seen_at = now();

-- name: WorkerBeats :many
select queue, seen_at, (seen_at > now() - @fresh::interval)::boolean as live from worker_beats;

-- name: HealthFacts :many
-- What is wrong in a workspace. A name is that of a model, a queue or a day; a detail is an error or its class.
with today as (select date_trunc('day', now() at time zone 'UTC') at time zone 'UTC' as begins),
answered as (
  select l.model, max(l.sent_at) as at from llm_calls l
  where l.workspace_id = @workspace_id and l.state = 'done' and l.sent_at > now() - interval '1 day' group by l.model
),
failing as (
  select l.model, (array_agg(l.error_class order by l.sent_at desc))[1] as class, count(*) as rows, min(l.sent_at) as since
  from llm_calls l left join answered a on a.model = l.model
  where l.workspace_id = @workspace_id and l.state = 'failed' and l.sent_at > now() - interval '1 day'
    and l.error_class not in ('context_length', 'no_schema', 'no_option') and (a.at is null or l.sent_at > a.at)
  group by l.model
)
select 'embedding_behind'::text as code, ''::text as name, ''::text as detail, count(*)::bigint as rows, min(o.created_at)::timestamptz as since
from outbox o where o.workspace_id = @workspace_id and o.kind = 'embed' and o.created_at < now() - @embed_patience::interval having count(*) > 0
union all
select 'outbox_stuck', min(o.kind), (array_agg(o.last_error order by o.failures desc))[1], count(*), min(o.failed_since)
from outbox o where o.workspace_id = @workspace_id and (o.failures >= @stuck_failures::int or o.failed_since <= now() - @stuck_age::interval) having count(*) > 0
union all
select 'model_errors', f.model, f.class, f.rows, f.since from failing f
union all
select 'budget_exhausted', r.id, r.reason, 1::bigint, r.ended_at from (
  select x.id, x.reason, x.ended_at from runs x, today t
  where x.workspace_id = @workspace_id and x.outcome = 'over_budget' and x.ended_at >= t.begins and x.created_at > t.begins - interval '1 day'
    and not exists (select from llm_calls l where l.workspace_id = x.workspace_id and l.sent_at > x.ended_at)
  order by x.created_at desc limit 1
) r
union all
select 'calls_unknown', min(c.run_id), '', count(*), min(c.sent_at) from llm_calls c
where c.workspace_id = @workspace_id and c.state = 'unknown' and c.sent_at > now() - interval '1 day' having count(*) > 0
union all
select 'reflection_failed', d.local_date::text, coalesce(d.reason, ''), d.failures::bigint, d.updated_at from (
  select x.local_date, x.status, x.reason, x.failures, x.updated_at from reflection_runs x where x.workspace_id = @workspace_id order by x.local_date desc limit 1
) d where d.status = 'failed'
union all
select 'reflection_unheard', max(d.local_date)::text, '', count(*), min(d.created_at) from reflection_runs d
where d.workspace_id = @workspace_id and d.empty_week and d.local_date > current_date - 3 having count(*) > 0
union all
select 'learning_frozen', b.name, '', 1, b.frozen_at from banks b where b.workspace_id = @workspace_id and b.frozen_at is not null;

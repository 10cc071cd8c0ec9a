-- name: Attention :many
-- System role. All values of the backlog metrics in one statement: open runs and outbox tasks by
-- kind, tasks that fail again and again, activities that lost their run, calls with an unknown end, tasks that are due and not yet swept, policies on canary, days
-- given up after repeated failures, and workspaces with seven empty days although conversations
-- took place.
select 'run'::text as what, r.kind, count(*) as rows, extract(epoch from now() - min(r.opened_at))::float8 as oldest_seconds
from runs r where r.status <> 'ended' group by r.kind
union all
select 'duty', o.kind, count(*), extract(epoch from now() - min(o.created_at))::float8 from outbox o group by o.kind
union all
select 'stuck duty', o.kind, count(*), extract(epoch from now() - min(o.failed_since))::float8 from outbox o
where o.failures >= @stuck_failures::int or o.failed_since <= now() - @stuck_age::interval group by o.kind
union all
select 'lost commit', '', s.lost_commits, 0::float8 from store_state s
union all
select 'unknown call', '', count(*), coalesce(extract(epoch from now() - min(c.lease_until)), 0)::float8 from llm_calls c where c.state = 'unknown'
union all
select 'due task', t.kind, count(*), extract(epoch from now() - min(coalesce(t.lease_until, t.due_at, now())))::float8 from scheduled_tasks t where t.look_at <= now() group by t.kind
union all
select 'canary', '', count(*), coalesce(extract(epoch from now() - min(u.canary_at)), 0)::float8 from policy_updates u where u.state = 'canary'
union all
select 'failed day', '', count(*), coalesce(extract(epoch from now() - min(d.updated_at)), 0)::float8 from reflection_runs d where d.status = 'failed' and d.failures >= @patience::int
union all
select 'empty week', '', count(distinct d.workspace_id), 0::float8 from reflection_runs d where d.empty_week and d.local_date > current_date - 3;

-- name: SchemaVersion :one
select cairn.schema_version()::bigint as version;

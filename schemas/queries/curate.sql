-- name: SkillsToCurate :many
-- Active and stale skills. Ages are in seconds, by this database's clock.
select s.id, s.name, s.status, s.managed, s.pinned, s.eta, s.trials, v.description, coalesce(encode(v.body_sha256, 'hex'), '')::text as body_sha,
  extract(epoch from now() - greatest(coalesce(s.last_used_at, v.created_at), v.created_at))::float8 as unused_seconds,
  extract(epoch from now() - s.updated_at)::float8 as unchanged_seconds,
  exists (select from scheduled_tasks t where t.workspace_id = s.workspace_id and position(s.name in t.prompt) > 0) as scheduled
from skills s join skill_versions v on v.workspace_id = s.workspace_id and v.skill_id = s.id and v.version = s.head_version
where s.workspace_id = @workspace_id and s.deleted_at is null and s.status in ('active', 'stale') order by s.name for no key update of s;

-- name: SkillInsights :many
-- Uses within the given span, and the cost of the runs that created versions of the skill within
-- it. The cost of a run with several skills is divided among them.
with used as (
  select u.skill_id, count(*)::int as uses, count(*) filter (where u.outcome = 'pass')::int as passes, count(*) filter (where u.outcome = 'fail')::int as fails, max(u.created_at) as last
  from skill_uses u where u.workspace_id = @workspace_id and u.created_at > now() - @span::interval group by u.skill_id
), made as (
  select v.skill_id, v.run_id, 1.0 / (select count(distinct o.skill_id) from skill_versions o where o.workspace_id = v.workspace_id and o.run_id = v.run_id) as share
  from skill_versions v where v.workspace_id = @workspace_id and v.run_id is not null and v.created_at > now() - @span::interval group by v.workspace_id, v.skill_id, v.run_id
), paid as (
  select m.skill_id, sum(c.cost_micros * m.share)::bigint as micros, sum((c.input_tokens + c.output_tokens) * m.share)::bigint as tokens
  from made m join llm_calls c on c.workspace_id = @workspace_id and c.run_id = m.run_id group by m.skill_id
)
select s.id, s.name, s.status, s.managed, s.pinned, s.origin, s.eta, s.trials, s.uses as uses_ever, s.last_used_at, s.created_at, s.head_version,
  coalesce(u.uses, 0)::int as uses, coalesce(u.passes, 0)::int as passes, coalesce(u.fails, 0)::int as fails,
  coalesce(p.micros, 0)::bigint as micros, coalesce(p.tokens, 0)::bigint as tokens
from skills s left join used u on u.skill_id = s.id left join paid p on p.skill_id = s.id
where s.workspace_id = @workspace_id and s.deleted_at is null
order by coalesce(u.uses, 0) desc, s.uses desc, s.name;

-- name: RunInsights :many
-- The results of the runs of each kind within the given span.
select r.kind, count(distinct r.id)::int as runs, count(c.step)::int as calls, coalesce(sum(c.input_tokens + c.output_tokens), 0)::bigint as tokens,
  coalesce(sum(c.cost_micros), 0)::bigint as micros, count(c.step) filter (where c.cost_micros is null)::int as unpriced
from runs r left join llm_calls c on c.workspace_id = r.workspace_id and c.run_id = r.id
where r.workspace_id = @workspace_id and r.created_at > now() - @span::interval
group by r.kind order by 5 desc, 4 desc, 1;

-- name: SavesPerDay :many
-- Versions of skills by day, in the workspace's time zone, and their writers.
select (v.created_at at time zone w.time_zone)::date::text as day, v.origin, count(*)::int as versions, count(*) filter (where v.version = 1)::int as made
from skill_versions v join workspaces w on w.id = v.workspace_id
where v.workspace_id = @workspace_id and v.created_at > now() - @span::interval group by 1, 2 order by 1 desc, 2;

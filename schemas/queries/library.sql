-- name: VersionsList :many
select v.version, v.base_version, v.description, v.origin, v.change_summary, v.model, v.run_id, v.degraded, v.violations, v.risk, v.quality, v.content_sha256, v.category, v.op, v.created_at,
  p.key as package_key, p.bytes as package_bytes
from skill_versions v join packages p on p.workspace_id = v.workspace_id and p.sha256 = v.package_sha256
where v.workspace_id = @workspace_id and v.skill_id = @skill_id order by v.version desc limit @max_rows;

-- name: SkillStatusSet :execrows
update skills set status = @status, updated_at = now() where workspace_id = @workspace_id and id = @id and status = @was;

-- name: SkillPinSet :execrows
update skills set pinned = @pinned, updated_at = now() where workspace_id = @workspace_id and id = @id;

-- name: DocStatusSet :execrows
update search_docs set status = @status where workspace_id = @workspace_id and kind = @kind and owner_id = @owner_id;

-- name: PackageKeyGet :one
select key from packages where workspace_id = @workspace_id and sha256 = @sha256 and state = 'live';

-- name: PendingPut :one
insert into pending_writes (workspace_id, skill_id, base_version, version, reason, origin, op, gist, absorbed_into, run_id, canary_until)
values (@workspace_id, @skill_id, @base_version, @version, @reason, @origin, @op, @gist, @absorbed_into, @run_id, case when @canary::boolean then now() + @canary_period::interval end) returning id;

-- name: PendingExpire :many
-- Pending changes expire after thirty days without a decision.
update pending_writes set state = 'expired', decided_at = now() where workspace_id = @workspace_id and state = 'pending' and created_at < now() - interval '30 days'
returning id;

-- name: PendingGet :one
select p.*, (p.state = 'expired' or p.created_at < now() - interval '30 days')::boolean as expired, coalesce(p.canary_until > now(), false)::boolean as canary from pending_writes p where p.workspace_id = @workspace_id and p.id = @id for update;

-- name: PendingList :many
select p.id, p.skill_id, s.name, p.base_version, p.version, p.reason, p.origin, p.op, p.gist, p.absorbed_into, p.state, p.created_at, (p.created_at + interval '30 days')::timestamptz as expires_at, p.canary_until, coalesce(p.canary_until > now(), false)::boolean as canary
from pending_writes p join skills s on s.workspace_id = p.workspace_id and s.id = p.skill_id
where p.workspace_id = @workspace_id and p.state in ('pending', 'expired') and s.deleted_at is null and p.created_at > now() - interval '60 days' order by p.state = 'expired', p.id limit @max_rows;

-- name: PendingCanary :one
-- The update of the version in force that is shown in a part of the conversations.
select p.* from pending_writes p join skills s on s.workspace_id = p.workspace_id and s.id = p.skill_id
where p.workspace_id = @workspace_id and p.skill_id = @skill_id and p.state = 'pending' and p.canary_until > now()
  and p.base_version = s.head_version and s.status in ('active', 'stale') and s.deleted_at is null
order by p.id limit 1;

-- name: PendingCanaryEnd :exec
update pending_writes set canary_until = now() where workspace_id = @workspace_id and id = @id;

-- name: PendingDecide :execrows
update pending_writes set state = @state, decided_at = now() where workspace_id = @workspace_id and id = @id and state in ('pending', 'failed');

-- name: UseInsert :execrows
insert into skill_uses (workspace_id, skill_id, use_id, version, change_id, outcome, decided_at)
values (@workspace_id, @skill_id, @use_id, @version, sqlc.narg(change_id), @outcome, case when @outcome <> '' then clock_timestamp() end)
on conflict (workspace_id, skill_id, use_id) do nothing;

-- name: UseOutcome :one
-- Replaces the outcome of a use and returns the one before.
update skill_uses u set outcome = @outcome, decided_at = clock_timestamp()
from (select outcome from skill_uses where workspace_id = @workspace_id and skill_id = @skill_id and use_id = @use_id for update) w
where u.workspace_id = @workspace_id and u.skill_id = @skill_id and u.use_id = @use_id and w.outcome <> @outcome
returning w.outcome as was, u.change_id;

-- name: SkillUsed :exec
-- Reliability counts the prior as one observation and then averages in the passes.
update skills set uses = uses + @uses, trials = trials + @trials, passes = passes + @passes, last_used_at = now(),
  eta = (eta * (trials + 1) + @passes)::real / (trials + 1 + @trials)
where workspace_id = @workspace_id and id = @id;

-- name: SkillsListed :exec
with listed as (select l.id from skills l where l.workspace_id = @workspace_id and l.id = any(@ids::bigint[]) order by l.id for update)
update skills s set impressions = s.impressions + 1 from listed where s.workspace_id = @workspace_id and s.id = listed.id;

-- name: UsesOfConversation :many
-- The uses of skills in the turns of a conversation.
select u.skill_id, u.use_id, u.version from turns t
join skill_uses u on u.workspace_id = t.workspace_id and u.use_id = 'run/' || t.run_id
join skills s on s.workspace_id = u.workspace_id and s.id = u.skill_id and s.deleted_at is null
where t.workspace_id = @workspace_id and t.conversation_id = @conversation_id
order by u.skill_id, u.use_id limit @max_rows;

-- name: UsesOfRun :many
select u.skill_id, u.use_id, u.version from skill_uses u
join skills s on s.workspace_id = u.workspace_id and s.id = u.skill_id and s.deleted_at is null
where u.workspace_id = @workspace_id and u.use_id = 'run/' || @run_id::text order by u.skill_id limit @max_rows;

-- name: UseOutcomes :many
-- Stated outcomes of a skill's uses, the latest first.
select version, outcome from skill_uses
where workspace_id = @workspace_id and skill_id = @skill_id and outcome <> '' and change_id is null order by decided_at desc, use_id limit @max_rows;

-- name: SkillCanaryOutcomes :many
-- Stated outcomes in conversations of a canary and of the version in force, the latest first.
select version, outcome, (change_id is not null)::boolean as canary from skill_uses
where workspace_id = @workspace_id and skill_id = @skill_id and use_id like 'run/%' and outcome <> ''
  and (change_id = @change_id or change_id is null and version = @version)
order by decided_at desc, use_id limit @max_rows;

-- name: SkillCanaryAdopt :one
-- The uses of a canary become those of the version that it is now.
with adopted as (
  update skill_uses set change_id = null, version = @version
  where workspace_id = @workspace_id and skill_id = @skill_id and change_id = @change_id returning outcome
)
select count(*) filter (where outcome <> '')::int as trials, count(*) filter (where outcome = 'pass')::int as passes from adopted;

-- name: MemoGet :one
select code, reason, greatest(0, extract(epoch from now() - created_at))::float8 as age_seconds from failure_memos where workspace_id = @workspace_id and key = @key and created_at > now() - @fresh::interval;

-- name: MemoPut :exec
insert into failure_memos (workspace_id, key, code, reason) values (@workspace_id, @key, @code, @reason)
on conflict (workspace_id, key) do update set code = excluded.code, reason = excluded.reason, created_at = now();

-- name: TaskBased :exec
update distill_tasks set based_on_skill = @based_on_skill, based_on_version = @based_on_version, draft = @draft
where workspace_id = @workspace_id and run_id = @run_id and task_key = @task_key and stage in ('extracted', 'packaged');

-- name: PendingRelease :exec
update packages p set state = 'pending', touched_at = now()
where p.workspace_id = @workspace_id
  and p.sha256 = (select decode(w.version ->> 'PackageSHA', 'hex') from pending_writes w where w.workspace_id = @workspace_id and w.id = @id and w.state in ('rejected', 'failed', 'expired'))
  and not exists (select from skill_versions v where v.workspace_id = p.workspace_id and v.package_sha256 = p.sha256);

-- name: VersionsPrune :many
-- All but the newest versions and those still in use: used versions, the source and target of a
-- rollback, the base of an open change or task, versions that an open run has read, and, within the
-- hour, versions that the write limits count.
with gone as (
  select v.skill_id, v.version from skill_versions v
  join skills s on s.workspace_id = v.workspace_id and s.id = v.skill_id
  where v.workspace_id = @workspace_id and v.skill_id = @skill_id and v.version <= s.head_version - @keep::int and v.restores = 0
    and not exists (select from skill_versions w where w.workspace_id = v.workspace_id and w.skill_id = v.skill_id and w.restores > 0 and v.version in (w.restores, w.base_version))
    and not exists (select from skill_uses u where u.workspace_id = v.workspace_id and u.skill_id = v.skill_id and u.version = v.version)
    and not exists (select from pending_writes p where p.workspace_id = v.workspace_id and p.skill_id = v.skill_id and p.base_version = v.version and p.state = 'pending')
    and not exists (select from distill_tasks t where t.workspace_id = v.workspace_id and t.stage <> 'ended'
      and (t.based_on_skill = v.skill_id and t.based_on_version = v.version or t.candidates @> jsonb_build_array(jsonb_build_object('skill', v.skill_id, 'version', v.version))))
    and not exists (select from skill_views w join runs r on r.workspace_id = w.workspace_id and r.id = w.run_id and r.status <> 'ended'
      where w.workspace_id = v.workspace_id and w.skill_id = v.skill_id and w.version = v.version)
    and (v.created_at < now() - interval '1 hour' or v.origin <> all(@counted::text[]))
), views as (
  delete from skill_views w using gone g where w.workspace_id = @workspace_id and w.skill_id = g.skill_id and w.version = g.version
), files as (
  delete from skill_files f using gone g where f.workspace_id = @workspace_id and f.skill_id = g.skill_id and f.version = g.version
), sources as (
  delete from skill_sources o using gone g where o.workspace_id = @workspace_id and o.skill_id = g.skill_id and o.version = g.version
)
delete from skill_versions v using gone g where v.workspace_id = @workspace_id and v.skill_id = g.skill_id and v.version = g.version
returning v.package_sha256;

-- name: PackagesRelease :exec
-- The collector's grace starts here.
update packages p set state = 'pending', touched_at = now()
where p.workspace_id = @workspace_id and p.sha256 = any(@sha256s::bytea[]) and p.state = 'live'
  and not exists (select from skill_versions v where v.workspace_id = p.workspace_id and v.package_sha256 = p.sha256)
  and not exists (select from pending_writes w where w.workspace_id = p.workspace_id and w.state = 'pending' and decode(w.version ->> 'PackageSHA', 'hex') = p.sha256);

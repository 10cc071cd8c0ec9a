-- name: ViewPut :exec
insert into skill_views (workspace_id, run_id, skill_id, version) values (@workspace_id, @run_id, @skill_id, @version)
on conflict (workspace_id, run_id, skill_id, version) do nothing;

-- name: ViewLatest :one
-- 0 if the run has not read the skill.
select coalesce(max(version), 0)::int from skill_views where workspace_id = @workspace_id and run_id = @run_id and skill_id = @skill_id;

-- name: WritesRecent :one
-- Changes that tools made or proposed within the hour, and those of them by autonomous writers.
with w as (
  select v.origin from skill_versions v where v.workspace_id = @workspace_id and v.created_at > now() - interval '1 hour'
  union all
  select p.origin from pending_writes p where p.workspace_id = @workspace_id and p.created_at > now() - interval '1 hour'
)
select count(*) filter (where origin = any(@watched::text[]))::int as watched, count(*) filter (where origin = any(@autonomous::text[]))::int as autonomous from w;

-- name: SkillsActiveCount :one
select count(*)::int from skills where workspace_id = @workspace_id and deleted_at is null and status <> 'archived';

-- name: SkillsOfBody :many
select s.name from skills s join skill_versions v on v.workspace_id = s.workspace_id and v.skill_id = s.id and v.version = s.head_version
where s.workspace_id = @workspace_id and s.deleted_at is null and v.body_sha256 = @body_sha256 order by s.name limit 5;

-- name: SkillNames :many
select id, name, status from skills where workspace_id = @workspace_id and deleted_at is null order by name;

-- name: SkillsOffered :many
-- The skills for the index of a prompt, the most useful first.
select s.id, s.name, s.category, s.status, s.pinned, v.description, v.risk
from skills s join skill_versions v on v.workspace_id = s.workspace_id and v.skill_id = s.id and v.version = s.head_version
where s.workspace_id = @workspace_id and s.deleted_at is null and s.status in ('active', 'stale')
order by s.pinned desc, s.last_used_at desc nulls last, s.updated_at desc, s.id;

-- name: SkillManagedSet :execrows
update skills set managed = @managed, updated_at = now() where workspace_id = @workspace_id and id = @id;

-- name: SkillTaintSet :execrows
update skills set tainted = @tainted where workspace_id = @workspace_id and id = @id;

-- name: SkillAbsorbedSet :execrows
update skills set absorbed_into = sqlc.narg(absorbed_into) where workspace_id = @workspace_id and id = @id;

-- name: TasksNaming :many
select t.name from scheduled_tasks t where t.workspace_id = @workspace_id and position(@skill::text in t.prompt) > 0 order by t.name limit 20;

-- name: SkillDelete :one
update skills set deleted_at = now(), absorbed_into = sqlc.narg(absorbed_into) where workspace_id = @workspace_id and id = @id and deleted_at is null
returning (deleted_at + @undo::interval)::timestamptz as undo_until;

-- name: SkillDeleted :one
-- The latest one whose deletion can still be undone.
select id, name, status from skills where workspace_id = @workspace_id and (id = @id or name = @name::text) and deleted_at > now() - @undo::interval
order by deleted_at desc, id desc limit 1;

-- name: SkillUndelete :execrows
update skills set deleted_at = null, absorbed_into = null, updated_at = now() where workspace_id = @workspace_id and id = @id and deleted_at is not null;

-- name: EraseDeleted :one
-- Erases skills and memories whose undo period is over.
select cairn.erase_deleted(@most::int)::int;

-- name: DeletedLong :many
-- System role: workspaces with deleted skills or memories whose undo period is over.
select distinct w.id from (select workspace_id, deleted_at as at from skills where deleted_at is not null union all select workspace_id, updated_at from memories where status = 'removed') gone
join workspaces w on w.id = gone.workspace_id where w.state = 'active' and gone.at <= now() - make_interval(days => w.undo_days) order by w.id limit @max_rows;

-- name: SkillsLock :exec
select pg_advisory_xact_lock(4, hashint8(@workspace_id::bigint));

-- name: SkillByName :one
select * from skills where workspace_id = @workspace_id and name = @name and deleted_at is null;

-- name: SkillGet :one
select s.*, v.description, v.lang, v.degraded, p.key as package_key
from skills s join skill_versions v on v.workspace_id = s.workspace_id and v.skill_id = s.id and v.version = s.head_version
join packages p on p.workspace_id = v.workspace_id and p.sha256 = v.package_sha256
where s.workspace_id = @workspace_id and s.id = @id and s.deleted_at is null;

-- name: SkillInsert :one
insert into skills (workspace_id, name, category, status, head_version, origin, managed, tainted) values (@workspace_id, @name, @category, @status, 1, @origin, @managed, @tainted) returning id;

-- name: SkillAdvance :execrows
update skills set head_version = @version, category = @category, tainted = tainted or @tainted::boolean, updated_at = now()
where workspace_id = @workspace_id and id = @id and head_version = @base_version;

-- name: SkillsPage :many
-- A page of the list, after the last row of the previous page.
select s.id, s.name, s.category, s.status, s.head_version, s.pinned, s.managed, s.tainted, s.origin, s.eta, s.uses, s.impressions, s.created_at, s.updated_at, v.description, v.lang, v.degraded, p.key as package_key
from skills s join skill_versions v on v.workspace_id = s.workspace_id and v.skill_id = s.id and v.version = s.head_version
join packages p on p.workspace_id = v.workspace_id and p.sha256 = v.package_sha256
where s.workspace_id = @workspace_id and s.deleted_at is null and s.status = any(@states::text[]) and (s.category, s.name) > (@after_category::text, @after_name::text)
  and (@category::text = '' or s.category = @category::text)
  and (@holds::text = '' or position(lower(@holds::text) in lower(s.name || chr(10) || v.description)) > 0)
order by s.category, s.name limit @max_rows;

-- name: SkillCategories :many
-- The number of skills of each category; those without one are counted under ''.
select category, count(*)::int as skills from skills
where workspace_id = @workspace_id and deleted_at is null and status = any(@states::text[]) group by category order by category;

-- name: VersionInsert :exec
insert into skill_versions (workspace_id, skill_id, version, base_version, run_id, task_key, display_name, description, body, lang, content_sha256, package_sha256,
  origin, change_summary, model, prompt_sha256, degraded, violations, risk, findings, redactions, quality, extra, restores, category, op, body_sha256)
values (@workspace_id, @skill_id, @version, @base_version, @run_id, @task_key, @display_name, @description, @body, @lang, @content_sha256, @package_sha256,
  @origin, @change_summary, @model, @prompt_sha256, @degraded, @violations, @risk, @findings, @redactions, @quality, @extra, @restores, @category, @op, @body_sha256);

-- name: VersionGet :one
select v.*, s.name, s.status, s.head_version, s.created_at as skill_created_at, p.key as package_key, p.bytes as package_bytes
from skill_versions v join skills s on s.workspace_id = v.workspace_id and s.id = v.skill_id
join packages p on p.workspace_id = v.workspace_id and p.sha256 = v.package_sha256
where v.workspace_id = @workspace_id and v.skill_id = @skill_id and v.version = @version;

-- name: VersionsCount :one
select count(*) from skill_versions where workspace_id = @workspace_id;

-- name: FilesPut :exec
insert into skill_files (workspace_id, skill_id, version, path, content)
select @workspace_id, @skill_id, @version, unnest(@paths::text[]), unnest(@contents::text[]);

-- name: FilesGet :many
select path, content from skill_files where workspace_id = @workspace_id and skill_id = @skill_id and version = @version order by path;

-- name: SourcesPut :exec
insert into skill_sources (workspace_id, skill_id, version, conversation_id, from_seq, to_seq)
select @workspace_id, @skill_id, @version, @conversation_id, unnest(@from_seqs::int[]), unnest(@to_seqs::int[])
on conflict (workspace_id, skill_id, version, conversation_id, from_seq) do nothing;

-- name: SourcesGet :many
select conversation_id, from_seq, to_seq from skill_sources
where workspace_id = @workspace_id and skill_id = @skill_id and version = @version order by conversation_id, from_seq;

-- name: SkillConversations :many
-- The conversations that a skill was learnt from, except one, the latest first.
select conversation_id from skill_sources
where workspace_id = @workspace_id and skill_id = @skill_id and conversation_id <> @except_id
group by conversation_id order by max(version) desc, conversation_id desc limit @max_rows;

-- name: SkillsNamed :many
-- Active skills by name, for callers that know only names.
select s.id, s.name, s.category, s.status, s.head_version, s.updated_at, v.description from skills s
join skill_versions v on v.workspace_id = s.workspace_id and v.skill_id = s.id and v.version = s.head_version
where s.workspace_id = @workspace_id and s.deleted_at is null and s.status = 'active' and s.name = any(@names::text[]);

-- Queries of the experiment, run as superuser over all rows.

-- name: ended
select count(*) from cairn.runs where status = 'ended'

-- name: runs
select r.business_key, r.id, r.generation, r.status, r.outcome, r.reason, r.workflow_id, r.created_at, r.ended_at
from cairn.runs r order by r.created_at, r.id

-- name: skills
select s.name, v.description, v.body, s.head_version from cairn.skills s
join cairn.skill_versions v on v.workspace_id = s.workspace_id and v.skill_id = s.id and v.version = s.head_version order by s.id

-- name: tasks_by_outcome
select outcome, count(*) from cairn.distill_tasks group by outcome

-- name: versions
select count(*) from cairn.skill_versions

-- name: versions_of_one_task
select coalesce(sum(n - 1), 0)::bigint from (select count(*) as n from cairn.skill_versions group by workspace_id, run_id, task_key having count(*) > 1) d

-- name: heads_astray
-- The head is the last version; versions are numbered from 1 without gaps.
select count(*) from cairn.skills s
where s.head_version <> (select count(*) from cairn.skill_versions v where v.workspace_id = s.workspace_id and v.skill_id = s.id)
   or s.head_version <> (select max(v.version) from cairn.skill_versions v where v.workspace_id = s.workspace_id and v.skill_id = s.id)

-- name: commits
select count(*) from cairn.tool_op_log where op_id like '%/commit/%' and result is not null

-- name: operations_open
select count(*) from cairn.tool_op_log where result is null

-- name: documents_astray
-- Search has each skill once, with its vector, and with correct counts.
select (select count(*) from cairn.skills s where 1 <> (select count(*) from cairn.search_docs d where d.workspace_id = s.workspace_id and d.kind = 'skill' and d.owner_id = s.id))
     + (select count(*) from cairn.search_docs d where not exists (select from cairn.embeddings e where e.workspace_id = d.workspace_id and e.doc = d.doc))
     + (select coalesce(sum(abs(l.docs - (select count(*) from cairn.search_docs d where d.workspace_id = l.workspace_id))), 0)::bigint from cairn.lex_stats l)
     + (select count(*) from cairn.lex_terms t where t.df <> (select count(*) from cairn.lex_docs l where l.workspace_id = t.workspace_id and l.keys @> array[t.workspace_id << 32 | t.term]))

-- name: packages
select p.key, p.state, p.sha256, exists (select from cairn.skill_versions v where v.workspace_id = p.workspace_id and v.package_sha256 = p.sha256) as used
from cairn.packages p order by p.key

-- name: duties
select count(*) from cairn.outbox

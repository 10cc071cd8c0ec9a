-- name: TaskInsert :exec
insert into distill_tasks (workspace_id, run_id, task_key, position, name, seqs, lang, query, verdict, proof)
values (@workspace_id, @run_id, @task_key, @position, @name, @seqs, @lang, @query, @verdict, @proof)
on conflict (workspace_id, run_id, task_key) do nothing;

-- name: TasksOfRun :many
select * from distill_tasks where workspace_id = @workspace_id and run_id = @run_id order by position;

-- name: TaskGet :one
select * from distill_tasks where workspace_id = @workspace_id and run_id = @run_id and task_key = @task_key;

-- name: TaskRecalled :exec
update distill_tasks set stage = 'recalled', query = @query, candidates = @candidates
where workspace_id = @workspace_id and run_id = @run_id and task_key = @task_key and stage = 'chunked';

-- name: TaskExtracted :exec
update distill_tasks set stage = 'extracted', draft = @draft, based_on_skill = @based_on_skill, based_on_version = @based_on_version, notes = notes || @notes::text[]
where workspace_id = @workspace_id and run_id = @run_id and task_key = @task_key and stage = 'recalled';

-- name: TaskHold :one
select stage from distill_tasks
where workspace_id = @workspace_id and run_id = @run_id and task_key = @task_key and stage <> 'ended' for no key update;

-- name: TaskPackaged :exec
update distill_tasks set stage = 'packaged', package = @package
where workspace_id = @workspace_id and run_id = @run_id and task_key = @task_key and stage in ('extracted', 'packaged');

-- name: TaskEnd :execrows
update distill_tasks set stage = 'ended', outcome = @outcome, reason = @reason, skill_id = @skill_id, version = @version, ended_at = now()
where workspace_id = @workspace_id and run_id = @run_id and task_key = @task_key and stage <> 'ended';

-- name: TaskOutcomes :many
-- The outcomes of all tasks of a run, '' for one that has not ended.
select task_key, outcome from distill_tasks where workspace_id = @workspace_id and run_id = @run_id;

-- name: TasksReopen :execrows
update distill_tasks set outcome = '', reason = '', ended_at = null,
  stage = case when package is not null then 'packaged' when draft is not null then 'extracted' when query <> '' then 'recalled' else 'chunked' end
where workspace_id = @workspace_id and run_id = @run_id and outcome = 'failed';

-- name: TaskFilesPut :exec
insert into distill_files (workspace_id, run_id, task_key, kind, name, content, reason)
select @workspace_id, @run_id, @task_key, @kind, unnest(@names::text[]), unnest(@contents::text[]), unnest(@reasons::text[])
on conflict (workspace_id, run_id, task_key, kind, name) do update set content = excluded.content, reason = excluded.reason where distill_files.reason <> '';

-- name: TaskFilesGet :many
select kind, name, content, reason from distill_files where workspace_id = @workspace_id and run_id = @run_id and task_key = @task_key order by kind, name;

-- name: TaskCompared :exec
update distill_tasks set comparison = @comparison, notes = notes || @notes::text[]
where workspace_id = @workspace_id and run_id = @run_id and task_key = @task_key and stage <> 'ended';

-- name: TaskJudged :exec
update distill_tasks set quality = @quality, notes = notes || @notes::text[]
where workspace_id = @workspace_id and run_id = @run_id and task_key = @task_key and stage <> 'ended';

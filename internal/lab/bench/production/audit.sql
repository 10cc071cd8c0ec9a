-- Queries of the experiment, run as superuser over all rows.

-- name: replies
-- The messages of users and the replies in workspaces whose names begin with $1.
select w.external_id, c.external_id, m.role, m.content
from cairn.messages m
join cairn.workspaces w on w.id = m.workspace_id
join cairn.conversations c on c.workspace_id = m.workspace_id and c.id = m.conversation_id
where w.external_id like $1 || '%' and m.role in ('user', 'assistant') and m.tool_calls = '[]' and m.turn is not null

-- name: open_runs
select count(*) from cairn.runs r join cairn.workspaces w on w.id = r.workspace_id
where r.status <> 'ended' and w.external_id like $1 || '%'

-- name: skills
select count(*) from cairn.skills s join cairn.workspaces w on w.id = s.workspace_id
where s.status = 'active' and w.external_id like $1 || '%'

-- name: reflections
select count(*) from cairn.runs r join cairn.workspaces w on w.id = r.workspace_id
where r.kind = 'reflection' and r.status = 'ended' and r.reason <> 'failed' and w.external_id like $1 || '%'

-- name: tables
select table_name from information_schema.columns
where table_schema = 'cairn' and column_name = 'workspace_id'
  and table_name in (select tablename from pg_tables where schemaname = 'cairn')
order by 1

-- name: connections
select count(*) from pg_stat_activity where usename = 'cairn'

-- name: replicas
select count(*) from pg_stat_replication where state = 'streaming' and sync_state = 'sync'

-- name: lost_text
select count(*) from cairn.messages where content ~ 'lost timeline' or content ~ 'bees'

-- name: held
select count(*) from cairn.conversations where external_id = 'held'

-- name: archived
select count(*) from pg_stat_archiver where last_archived_wal >= $1

-- name: in_ledger
select (select count(*) from cairn.llm_calls where strpos(llm_calls::text, $1) > 0) + (select count(*) from cairn.request_parts where strpos(content, $1) > 0)

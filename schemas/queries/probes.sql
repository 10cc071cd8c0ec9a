-- name: ProbeLock :exec
select pg_advisory_xact_lock(10, hashint8(@workspace_id::bigint));

-- name: ProbesSpent :one
-- Questions of the last 24 hours. A run without any is counted as one.
select coalesce(sum(greatest(1, (select count(*) from probes p where p.workspace_id = r.workspace_id and p.run_id = r.id))), 0)::int as spent
from runs r where r.workspace_id = @workspace_id and r.kind = 'probe' and r.created_at > now() - interval '24 hours';

-- name: ProbePut :exec
insert into probes (workspace_id, run_id, number, conversation_id, bank_id, question, answer, evidence, decisions)
values (@workspace_id, @run_id, @number, @conversation_id, @bank_id, @question, @answer, @evidence, @decisions)
on conflict (workspace_id, run_id, number) do nothing;

-- name: ProbesOfRun :many
select * from probes where workspace_id = @workspace_id and run_id = @run_id order by number;

-- name: ProbeEnd :execrows
update probes set state = @state, score = sqlc.narg('score'), note = @note, ended_at = now()
where workspace_id = @workspace_id and run_id = @run_id and number = @number and state = 'open';

-- name: ProbesOf :many
select p.* from probes p join runs r on r.workspace_id = p.workspace_id and r.id = p.run_id
where p.workspace_id = @workspace_id and p.bank_id = @bank_id order by r.created_at desc, r.id desc, p.number limit @max_rows;

-- name: DecisionsOfMemories :many
-- Memories with their decisions and content at that time, the latest last.
select m.external_id, r.decision_id, r.content from memories m
join memory_revisions r on r.workspace_id = m.workspace_id and r.memory_id = m.id
where m.workspace_id = @workspace_id and m.external_id = any(@ids::text[]) order by m.external_id, r.version;

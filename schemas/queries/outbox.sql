-- name: OutboxPut :exec
insert into outbox (workspace_id, kind, key, due_at) values (@workspace_id, @kind, @key, now() + @wait::interval)
on conflict (workspace_id, kind, key) do update set due_at = excluded.due_at, attempts = 0, last_error = '', failures = 0, failed_since = null;

-- name: OutboxDone :execrows
delete from outbox where workspace_id = @workspace_id and kind = @kind and key = @key;

-- name: OutboxPutRun :exec
-- A run that a caller waits for has another kind of task than the others.
insert into outbox (workspace_id, kind, key, due_at)
select r.workspace_id, case when r.kind = any(@awaited::text[]) then @awaited_kind::text else @other_kind::text end, r.id, now() + @wait::interval
from runs r where r.workspace_id = @workspace_id and r.id = @id
on conflict (workspace_id, kind, key) do update set due_at = excluded.due_at, attempts = 0, last_error = '', failures = 0, failed_since = null;

-- name: OutboxClaim :many
-- System role. Claims due tasks of a lane, which has one or more kinds. The index is read for each kind, so tasks of
-- other lanes are not read. A claim is a due time in the future, so the row of a crashed relay becomes due again.
with due as (
  select o.id from unnest(@kinds::text[]) lane(kind)
  cross join lateral (
    select x.id, x.due_at from outbox x where x.kind = lane.kind and x.due_at <= now() order by x.due_at limit @max_rows for update skip locked) o
  order by o.due_at limit @max_rows
)
update outbox o set due_at = now() + least(interval '1 minute', interval '5 seconds' * power(2, least(o.attempts, 6))), attempts = o.attempts + 1
from due where o.id = due.id
returning o.workspace_id, o.id, o.kind, o.key, o.attempts, o.failures, extract(epoch from o.due_at - now())::float8 as claim_seconds;

-- name: OutboxFail :exec
update outbox set last_error = @last_error, failures = failures + 1, failed_since = coalesce(failed_since, now()) where id = @id;

-- name: OutboxRecover :exec
-- The latest attempt at a task that stays has succeeded.
update outbox set last_error = '', failures = 0, failed_since = null where id = @id;

-- name: OutboxStuck :many
-- System role. Tasks that fail again and again, the longest first.
select workspace_id, kind, key, failures, last_error, extract(epoch from now() - failed_since)::float8 as seconds
from outbox where failures >= @failures or failed_since <= now() - @age::interval order by failed_since limit @max_rows;

-- name: OutboxPutEmbeds :exec
insert into outbox (workspace_id, kind, key, due_at) select @workspace_id, 'embed', d.doc::text, now() from (select unnest(@docs::bigint[]) as doc) d
on conflict (workspace_id, kind, key) do update set due_at = excluded.due_at, attempts = 0, last_error = '', failures = 0, failed_since = null;

-- name: CallInsert :one
-- Stores a call if the limits of the day have room for it. Otherwise it returns the limit that has none: see
-- cairn.reserve_call, which locks until the end of the transaction.
with room as (select (case when @limited::boolean then cairn.reserve_call(@reserved::bigint, sqlc.narg(max_tokens)::bigint,
    @reserved_micros::bigint, sqlc.narg(max_micros)::bigint, sqlc.narg(max_deployment)::bigint) else '' end)::text as over),
made as (
  insert into llm_calls (workspace_id, run_id, step, round, state, stage, model, label, request, parts, conversation_id, request_sha, holder, lease_until, reserved, reserved_micros)
  select @workspace_id, @run_id, @step, @round, 'started', @stage, @model, @label, @request::text[], @parts::bytea[], sqlc.narg(conversation_id)::bigint, @request_sha, @holder,
    now() + @lease::interval, @reserved::bigint, @reserved_micros::bigint from room where room.over = ''
)
select over from room;

-- name: RequestPartsPut :exec
-- A part that was used today already is not touched.
with given as (select distinct on (conversation_id, sha256) u.* from (select unnest(@conversations::bigint[]) as conversation_id, unnest(@shas::bytea[]) as sha256, unnest(@contents::text[]) as content) u
  order by conversation_id, sha256)
insert into request_parts (workspace_id, conversation_id, sha256, content)
select @workspace_id, g.conversation_id, g.sha256, g.content from given g
where not exists (select from request_parts p where p.workspace_id = @workspace_id and p.conversation_id = g.conversation_id and p.sha256 = g.sha256 and p.used_on = (now() at time zone 'UTC')::date)
on conflict (workspace_id, conversation_id, sha256) do update set used_on = excluded.used_on;

-- name: CallGet :one
-- The request is empty if a part of it was erased.
select state, model, label, coalesce(cairn.request_of(workspace_id, conversation_id, request, parts), '')::text as request, attempts, reply, tool_calls, refusal, finish, reply_model, input_tokens, output_tokens, cached_tokens, written_tokens, estimated,
  -- a call without a stored outcome is already part of the sums of the day
  (state in ('started', 'unknown') and sent_at >= date_trunc('day', now() at time zone 'UTC') at time zone 'UTC')::boolean as counted,
  reserved, reserved_micros, (lease_until > now())::boolean as leased, greatest(0, extract(epoch from lease_until - now()))::float8 as lease_seconds
from llm_calls where workspace_id = @workspace_id and run_id = @run_id and step = @step and round = @round;

-- name: CallReply :one
select reply, tool_calls, refusal, finish, reply_model, input_tokens, output_tokens, cached_tokens, written_tokens, estimated
from llm_calls where workspace_id = @workspace_id and run_id = @run_id and step = @step and round = @round and state = 'done';

-- name: CallTakeOver :execrows
update llm_calls set state = 'started', holder = @holder, lease_until = now() + @lease::interval, attempts = attempts + 1,
  unknown = unknown + (state = 'started')::int, error_class = '', error = '', status = 0, retry_at = null, sent_at = now(), reserved = @reserved, reserved_micros = @reserved_micros
where workspace_id = @workspace_id and run_id = @run_id and step = @step and round = @round
  and (state in ('failed', 'unknown') or (state = 'started' and lease_until <= now()));

-- name: CallReplaceRequest :execrows
update llm_calls set request = @request::text[], parts = '{}', request_sha = @request_sha
where workspace_id = @workspace_id and run_id = @run_id and step = @step and round = @round and state = 'started' and holder = @holder;

-- name: CallExtend :execrows
update llm_calls set lease_until = now() + @lease::interval
where workspace_id = @workspace_id and run_id = @run_id and step = @step and round = @round and state = 'started' and holder = @holder;

-- name: CallDone :execrows
-- The first stored reply is valid, also after a change of the lease holder.
update llm_calls set state = 'done', reply = @reply, tool_calls = @tool_calls, refusal = @refusal, finish = @finish, reply_model = @reply_model, input_tokens = @input_tokens,
  output_tokens = @output_tokens, cached_tokens = @cached_tokens, written_tokens = @written_tokens, estimated = @estimated, cost_micros = @cost_micros, reserved = 0, reserved_micros = 0, finished_at = now()
where workspace_id = @workspace_id and run_id = @run_id and step = @step and round = @round and state <> 'done';

-- name: CallFailed :execrows
update llm_calls set state = 'failed', error_class = @error_class, error = @error, unknown = unknown + @unknown, reserved = 0, reserved_micros = 0, finished_at = now(),
  status = @status, retry_at = case when @retry_seconds::float8 > 0 then now() + make_interval(secs => @retry_seconds::float8) end
where workspace_id = @workspace_id and run_id = @run_id and step = @step and round = @round and state = 'started' and holder = @holder;

-- name: CallRoom :one
-- The limits of another call: the workspace's settings, what it has used today, and the run's calls in flight.
select w.settings, coalesce(d.tokens, 0)::bigint as tokens, coalesce(d.micros, 0)::bigint as micros, (select count(*) from llm_calls c
  where @parallel::int > 0 and c.workspace_id = w.id and c.run_id = @run_id and c.state = 'started' and c.lease_until > now()) as in_flight
from workspaces w left join call_days d on d.workspace_id = w.id and d.day = (now() at time zone 'UTC')::date
where w.id = @workspace_id;

-- name: CallsOfRun :many
select step, round, state, stage, model, attempts, unknown, input_tokens, output_tokens, cached_tokens, written_tokens, estimated, cost_micros, error_class, error, created_at, finished_at,
  status, retry_at, greatest(0, extract(epoch from retry_at - now()))::float8 as retry_seconds
from llm_calls where workspace_id = @workspace_id and run_id = @run_id order by created_at, step, round;

-- name: CallExchanges :many
-- The calls of a run with their requests and replies; of all steps without a step. A request is empty if a part
-- of it was erased.
select step, round, state, stage, model, attempts, unknown, input_tokens, output_tokens, cached_tokens, written_tokens, estimated, cost_micros, error_class, error, created_at, finished_at,
  coalesce(cairn.request_of(workspace_id, conversation_id, request, parts), '')::text as request, reply, tool_calls, refusal, finish, reply_model
from llm_calls where workspace_id = @workspace_id and run_id = @run_id and @step::text in ('', step) order by created_at, step, round;

-- name: CallReserve :one
-- The limit of the day without room for a call, empty if there is room.
select cairn.reserve_call(@tokens::bigint, sqlc.narg(max_tokens)::bigint, @micros::bigint, sqlc.narg(max_micros)::bigint, sqlc.narg(max_deployment)::bigint)::text as over;

-- name: CallDay :one
select coalesce(sum(tokens), 0)::bigint as tokens, coalesce(sum(micros), 0)::bigint as micros from call_days
where workspace_id = @workspace_id and day = (now() at time zone 'UTC')::date;

-- name: CallDaysPurge :execrows
-- System role. Days whose limits are over.
delete from call_days d using (
  select x.workspace_id, x.day from call_days x where x.day < (now() at time zone 'UTC')::date - 7 limit @max_rows) o
where d.workspace_id = o.workspace_id and d.day = o.day;

-- name: CallsExpire :execrows
-- System role. An expired lease marks a call whose caller has stopped waiting.
update llm_calls set state = 'unknown', unknown = unknown + 1 where state = 'started' and lease_until < now() - @grace::interval;

-- name: WorkspaceSpent :one
-- The sums of all stored replies of a workspace.
select count(*) as calls, coalesce(sum(input_tokens), 0)::bigint as input_tokens, coalesce(sum(output_tokens), 0)::bigint as output_tokens,
  coalesce(sum(cost_micros), 0)::bigint as cost_micros, (count(*) filter (where cost_micros is null))::bigint as unpriced
from llm_calls where workspace_id = @workspace_id and state = 'done';

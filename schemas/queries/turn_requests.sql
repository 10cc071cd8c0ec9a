-- name: TurnImport :exec
-- A turn that was answered elsewhere.
insert into turns (workspace_id, conversation_id, number, message_id, mode, origin, args_sha, first_seq, status, reason, ended_at)
values (@workspace_id, @conversation_id, @number, @message_id, @mode, @origin, @args_sha, @first_seq, 'ended', @reason, now());

-- name: TurnRequestPut :execrows
-- Stores nothing if an equal request has the number already.
insert into turn_requests (workspace_id, conversation_id, number, thread, history_sha, body_sha, times)
values (@workspace_id, @conversation_id, @number, @thread, @history_sha, @body_sha, @times)
on conflict (workspace_id, body_sha, times) do nothing;

-- name: TurnRequestSame :one
-- The latest turn of an equal request.
select c.external_id, t.message_id, t.run_id, t.status, t.reason, r.created_at, t.ended_at, now()::timestamptz as now, r.times
from turn_requests r
join turns t on t.workspace_id = r.workspace_id and t.conversation_id = r.conversation_id and t.number = r.number
join conversations c on c.workspace_id = r.workspace_id and c.id = r.conversation_id
where r.workspace_id = @workspace_id and r.body_sha = @body_sha order by r.times desc limit 1;

-- name: TurnRequestsBefore :many
-- Turns that a request may continue, the latest conversation first: the last ended turns of
-- conversations whose history it has.
select c.external_id, t.number, t.run_id, t.reason, coalesce(m.content, '')::text as reply from turn_requests r
join turns t on t.workspace_id = r.workspace_id and t.conversation_id = r.conversation_id and t.number = r.number
join conversations c on c.workspace_id = r.workspace_id and c.id = r.conversation_id and c.next_turn = t.number + 1
left join messages m on m.workspace_id = t.workspace_id and m.conversation_id = t.conversation_id and m.seq = t.reply_seq
where r.workspace_id = @workspace_id and r.thread = @thread and r.history_sha = @history_sha and t.status = 'ended'
order by r.conversation_id desc limit @max_rows;

-- name: TurnLast :one
-- The last turn of a conversation, and its user's message. The number is 0 if there is no turn.
select coalesce(t.number, 0)::int as number, t.run_id, coalesce(t.status, '')::text as status, coalesce(t.reason, '')::text as reason,
  coalesce(m.content, '')::text as reply, coalesce(u.content, '')::text as said
from conversations c
left join turns t on t.workspace_id = c.workspace_id and t.conversation_id = c.id and t.number = c.next_turn - 1
left join messages m on m.workspace_id = t.workspace_id and m.conversation_id = t.conversation_id and m.seq = t.reply_seq
left join messages u on u.workspace_id = t.workspace_id and u.conversation_id = t.conversation_id and u.seq = t.first_seq
where c.workspace_id = @workspace_id and c.external_id = @external_id;

-- name: TurnRequestWatch :execrows
update turn_requests r set watcher = @watcher from turns t
where r.workspace_id = @workspace_id and t.workspace_id = r.workspace_id and t.conversation_id = r.conversation_id
  and t.number = r.number and t.run_id = @run_id;

-- name: TurnRequestWatched :one
select r.watcher from turn_requests r
join turns t on t.workspace_id = r.workspace_id and t.conversation_id = r.conversation_id and t.number = r.number
where r.workspace_id = @workspace_id and t.run_id = @run_id;

-- name: RunOutcome :one
-- What the client of an API gets of an ended run besides its text.
select r.status, r.reason, c.input_tokens::bigint as input_tokens, c.output_tokens::bigint as output_tokens,
  coalesce(l.finish, '')::text as finish
from runs r cross join lateral (
  select coalesce(sum(y.input_tokens), 0) as input_tokens, coalesce(sum(y.output_tokens), 0) as output_tokens
  from llm_calls y where y.workspace_id = r.workspace_id and y.run_id = r.id
) c left join lateral (
  select s.finish from agent_steps s where s.workspace_id = r.workspace_id and s.run_id = r.id
  order by s.step desc limit 1
) l on true
where r.workspace_id = @workspace_id and r.id = @id;

-- name: ClientCalls :many
-- The calls of a run to tools of the client.
select call_id, tool, arguments from agent_calls
where workspace_id = @workspace_id and run_id = @run_id and class = 'client' order by step, position;

-- name: ResponseGet :one
-- The turn of a response that was not deleted.
select c.external_id, t.message_id, t.number, (c.next_turn = t.number + 1)::boolean as last,
  (r.spec -> 'client' -> 'response')::jsonb as shown, r.created_at, r.ended_at
from turns t
join turn_requests q on q.workspace_id = t.workspace_id and q.conversation_id = t.conversation_id and q.number = t.number
join conversations c on c.workspace_id = t.workspace_id and c.id = t.conversation_id
join runs r on r.workspace_id = t.workspace_id and r.id = t.run_id
where t.workspace_id = @workspace_id and t.run_id = @run_id and not q.deleted and r.spec -> 'client' ? 'response';

-- name: ResponseDelete :execrows
update turn_requests q set deleted = true from turns t
where q.workspace_id = @workspace_id and t.workspace_id = q.workspace_id and t.conversation_id = q.conversation_id
  and t.number = q.number and t.run_id = @run_id;

-- name: MessagesUpToTurn :many
-- The latest messages of a conversation up to a turn, the latest first.
select m.role, m.content, m.name, m.tool_calls, m.tool_call_id from messages m
join conversations c on c.workspace_id = m.workspace_id and c.id = m.conversation_id
where c.workspace_id = @workspace_id and c.external_id = @external_id and m.turn <= @turn::int
order by m.seq desc limit @max_rows;

-- name: CompletionSame :one
-- The latest run of a task with a key.
select id, generation, status, outcome, created_at, ended_at, now()::timestamptz as now from runs
where workspace_id = @workspace_id and kind = 'completion' and business_key = @business_key
order by generation desc limit 1;

-- name: ConversationOpen :one
-- Creates or finds a conversation and locks it: its turns are serialized.
insert into conversations (workspace_id, external_id, channel, title)
values (@workspace_id, @external_id, @channel, @title)
on conflict (workspace_id, external_id) do update set title = conversations.title
returning id, channel, next_seq, next_turn, counters, counted, reviewed_turn, notice, last_turn_at, closed_at;

-- name: ConversationSaid :execrows
update conversations set next_seq = @next_seq, next_turn = @next_turn, last_turn_at = now(), closed_at = null
where workspace_id = @workspace_id and id = @id;

-- name: ConversationLock :one
select next_seq, next_turn, channel, counters, counted, reviewed_turn, notice, external_id from conversations where workspace_id = @workspace_id and id = @id for no key update;

-- name: ConversationCount :execrows
update conversations set next_seq = @next_seq, counters = @counters, counted = @counted, reviewed_turn = @reviewed_turn where workspace_id = @workspace_id and id = @id;

-- name: ConversationNotice :execrows
update conversations set notice = @notice where workspace_id = @workspace_id and id = @id;

-- name: ConversationClose :execrows
update conversations set counters = @counters, closed_at = case when @ended::boolean then now() else closed_at end
where workspace_id = @workspace_id and id = @id;

-- name: ConversationByName :one
select c.id, c.external_id, c.channel, c.title, c.next_seq, c.next_turn, c.counters, c.created_at, c.last_turn_at, c.closed_at
from conversations c where c.workspace_id = @workspace_id and c.external_id = @external_id;

-- name: TurnByMessage :one
select * from turns where workspace_id = @workspace_id and conversation_id = @conversation_id and message_id = @message_id;

-- name: TurnByNames :one
select t.* from turns t where t.workspace_id = @workspace_id and t.message_id = @message_id
  and t.conversation_id = (select c.id from conversations c where c.workspace_id = @workspace_id and c.external_id = @external_id);

-- name: AnswerGet :one
-- The result of a channel's message, and the reply. number is null if the conversation has no such
-- message.
select t.number, t.run_id, t.status, t.reason, t.reply_seq, m.content from conversations c
left join turns t on t.workspace_id = c.workspace_id and t.conversation_id = c.id and t.message_id = @message_id
left join messages m on m.workspace_id = c.workspace_id and m.conversation_id = c.id and m.seq = t.reply_seq and t.status = 'ended'
where c.workspace_id = @workspace_id and c.external_id = @external_id;

-- name: TurnAccept :one
-- A turn with its run and the outbox task that drives the run. The caller has locked the
-- conversation, and it has no turn of the message.
with made as (
  insert into runs (workspace_id, id, kind, business_key, generation, args_sha, conversation_id, spec, workflow_id)
  values (@workspace_id, @run_id, 'turn', @business_key, 1, @args_sha, @conversation_id, @spec, @workflow_id)
  returning id, spec, status, attempt
), answered as (
  insert into turns (workspace_id, conversation_id, number, message_id, mode, origin, args_sha, run_id, first_seq, reply_seq, facts)
  select @workspace_id, @conversation_id, @number, @message_id, @mode, @origin, @args_sha, made.id, @first_seq, sqlc.narg('reply_seq')::int, @facts from made
), owed as (
  insert into outbox (workspace_id, kind, key, due_at) select @workspace_id, @duty, made.id, now() + @wait::interval from made
)
select id, spec, status, attempt from made;

-- name: TurnGet :one
select * from turns where workspace_id = @workspace_id and conversation_id = @conversation_id and number = @number;

-- name: TurnByRun :one
select * from turns where workspace_id = @workspace_id and run_id = @run_id;

-- name: TurnsRange :many
select * from turns where workspace_id = @workspace_id and conversation_id = @conversation_id and number between @from_number and @to_number order by number;

-- name: TurnsRecent :many
select * from turns where workspace_id = @workspace_id and conversation_id = @conversation_id and (@before::int = 0 or number < @before::int)
order by number desc limit @max_rows;

-- name: TurnEnd :execrows
update turns set status = 'ended', reason = @reason, reply_seq = sqlc.narg('reply_seq'), facts = @facts, tainted = @tainted, ended_at = now()
where workspace_id = @workspace_id and conversation_id = @conversation_id and number = @number and status = 'accepted';

-- name: TurnMessages :many
-- Messages of turns up to a turn, the newest turns only, in the order of their replies.
select m.seq, m.turn, m.external_id, m.role, m.content, m.name, m.tool_calls, m.tool_call_id, m.event_time, m.details
from messages m where m.workspace_id = @workspace_id and m.conversation_id = @conversation_id
  and m.turn > @after_turn::int and m.turn <= @to_turn::int
order by m.turn, m.seq;

-- name: TurnMessagesPut :execrows
insert into messages (workspace_id, conversation_id, turn, seq, external_id, role, content, name, tool_calls, tool_call_id, details)
select @workspace_id, @conversation_id, @turn::int, unnest(@seqs::int[]), unnest(@external_ids::text[]), unnest(@roles::text[]), unnest(@contents::text[]),
  unnest(@names::text[]), unnest(@tool_calls::text[])::jsonb, unnest(@tool_call_ids::text[]), unnest(@details::text[])::jsonb;

-- name: MessageGet :one
select seq, role, content from messages where workspace_id = @workspace_id and conversation_id = @conversation_id and seq = @seq;

-- name: SessionLock :exec
select pg_advisory_xact_lock(8, hashtext(@workspace_id::bigint || '/' || @channel::text));

-- name: SessionLive :one
select id, rendered, tools, sha256, created_at, expires_at from frozen_sessions
where workspace_id = @workspace_id and channel = @channel and lang = @lang and revoked_at is null and expires_at > now()
order by expires_at desc limit 1;

-- name: SessionOffered :one
-- The live session, for a run that has none.
select f.id, f.rendered, f.tools, f.sha256, f.created_at, f.expires_at from frozen_sessions f
where f.workspace_id = @workspace_id and f.channel = @channel and f.lang = @lang and f.revoked_at is null and f.expires_at > now()
  and not exists (select 1 from runs r join frozen_sessions k on k.workspace_id = r.workspace_id and k.id = r.session_id and k.revoked_at is null
    where r.workspace_id = @workspace_id and r.id = @run_id)
order by f.expires_at desc limit 1;

-- name: SessionGet :one
select id, rendered, tools, sha256, created_at, expires_at from frozen_sessions where workspace_id = @workspace_id and id = @id;

-- name: SessionEpoch :one
select sessions_epoch from workspaces where id = @workspace_id;

-- name: SessionPut :one
-- Returns no row if sessions were revoked since the epoch was read: the rendered text may contain
-- deleted content.
with still as (select w.id from workspaces w where w.id = @workspace_id and w.sessions_epoch = @epoch for share)
insert into frozen_sessions (workspace_id, channel, lang, rendered, tools, sha256, expires_at)
select still.id, @channel, @lang, @rendered, @tools, @sha256, now() + @lives::interval from still
returning id, created_at, expires_at;

-- name: SessionsRevoke :execrows
update frozen_sessions set revoked_at = now() where workspace_id = @workspace_id and revoked_at is null and expires_at > now();

-- name: SessionsEpochNext :execrows
-- Runs before the revocation, so that the revocation sees a session that is stored meanwhile.
update workspaces set sessions_epoch = sessions_epoch + 1 where id = @workspace_id;

-- name: RunSession :one
-- The session of a run: the first that was set stays, unless it was revoked.
update runs r set session_id = case when exists (select 1 from frozen_sessions f where f.workspace_id = r.workspace_id and f.id = r.session_id and f.revoked_at is null)
    then r.session_id else @session_id end,
  status = 'running', started_at = coalesce(r.started_at, now())
where r.workspace_id = @workspace_id and r.id = @id and r.status <> 'ended'
returning session_id;

-- name: RunSessionGet :one
select f.id, f.rendered, f.tools, f.sha256, f.created_at, f.expires_at from runs r
join frozen_sessions f on f.workspace_id = r.workspace_id and f.id = r.session_id and f.revoked_at is null
where r.workspace_id = @workspace_id and r.id = @id;

-- name: RunSessionKept :one
select f.id from runs r join frozen_sessions f on f.workspace_id = r.workspace_id and f.id = r.session_id and f.revoked_at is null
where r.workspace_id = @workspace_id and r.id = @id;

-- name: StepPut :exec
-- A response with its calls. An existing one stays unchanged, including its calls.
with put as (
  insert into agent_steps (workspace_id, run_id, step, note, content, finish)
  values (@workspace_id, @run_id, @step, @note, @content, @finish)
  on conflict (workspace_id, run_id, step) do nothing returning step
)
insert into agent_calls (workspace_id, run_id, step, position, call_id, tool, class, arguments)
select @workspace_id, @run_id, put.step, c.position, c.call_id, c.tool, c.class, c.arguments from put,
  (select unnest(@positions::int[]) as position, unnest(@call_ids::text[]) as call_id, unnest(@tools::text[]) as tool, unnest(@classes::text[]) as class, unnest(@arguments::text[]) as arguments) c;

-- name: StepsOf :many
select step, note, content, finish from agent_steps where workspace_id = @workspace_id and run_id = @run_id order by step;

-- name: AgentCallsOf :many
select step, position, call_id, tool, class, arguments, result, code, ended_at from agent_calls
where workspace_id = @workspace_id and run_id = @run_id order by step, position;

-- name: AgentCallEnd :one
-- The result of a call for the model is set once. Later callers get the stored one.
update agent_calls set result = coalesce(result, @result), code = case when result is null then @code else code end, ended_at = coalesce(ended_at, now())
where workspace_id = @workspace_id and run_id = @run_id and step = @step and position = @position
returning result::text as told, code;

-- name: RunHold :one
-- Prevents the run from ending until the transaction is over.
select status from runs where workspace_id = @workspace_id and id = @id for share;

-- name: NudgesToday :one
select count(*) from runs where workspace_id = @workspace_id and kind = 'nudge' and created_at >= date_trunc('day', now());

-- name: RunInputTokens :one
select coalesce(sum(input_tokens), 0)::bigint from llm_calls where workspace_id = @workspace_id and run_id = @run_id;

-- name: NudgesOf :many
select id, status, coalesce((spec ->> 'number')::int, 0)::int as number, result, created_at, ended_at from runs
where workspace_id = @workspace_id and kind = 'nudge' and conversation_id = @conversation_id
order by created_at desc, id desc limit @max_rows;

-- name: RunInsertKind :one
insert into runs (workspace_id, id, kind, business_key, generation, args_sha, conversation_id, spec, workflow_id)
values (@workspace_id, @id, @kind, @business_key, 1, @args_sha, @conversation_id, @spec, @workflow_id)
on conflict (workspace_id, kind, business_key, generation) do update set kind = runs.kind
returning id, spec, status, outcome, result, attempt;

-- name: TurnNews :many
-- The context of a turn that its session does not contain: skills that changed since it was frozen,
-- and decisions of a person, since the previous turn, about changes that this conversation had
-- proposed. The name is empty for a change of memory. The time zone is in every row, and there is
-- at least one row.
select w.time_zone, coalesce(n.state, '')::text as state, coalesce(n.name, '')::text as name
from workspaces w left join (
  select v.workspace_id, 'changed' as state, s.name from skill_versions v
  join skills s on s.workspace_id = v.workspace_id and s.id = v.skill_id and s.head_version = v.version
  where s.deleted_at is null and s.status in ('active', 'stale') and v.created_at > sqlc.arg(frozen)::timestamptz
  union
  select p.workspace_id, p.state, s.name from pending_writes p
  join skills s on s.workspace_id = p.workspace_id and s.id = p.skill_id
  join runs r on r.workspace_id = p.workspace_id and r.id = p.run_id
  where r.conversation_id = sqlc.arg(conversation)::bigint and p.state in ('approved', 'rejected') and p.decided_at > (select b.accepted_at from turns b where b.workspace_id = p.workspace_id and b.conversation_id = r.conversation_id and b.number = sqlc.arg(before)::int)
  union all
  select m.workspace_id, m.state, '' from pending_memories m
  where m.conversation_id = sqlc.arg(conversation)::bigint and m.state in ('approved', 'rejected') and m.decided_at > (select b.accepted_at from turns b where b.workspace_id = m.workspace_id and b.conversation_id = m.conversation_id and b.number = sqlc.arg(before)::int)
) n on n.workspace_id = w.id
where w.id = sqlc.arg(workspace_id)
order by n.state, n.name;

-- name: TurnContext :one
select context from turns where workspace_id = @workspace_id and conversation_id = @conversation_id and number = @number;

-- name: TurnContextPin :execrows
-- Set once: later callers get the stored one.
update turns set context = @context where workspace_id = @workspace_id and conversation_id = @conversation_id and number = @number and context = '';

-- name: TurnsOpenBefore :many
-- The runs of the turns of a conversation before a number that have not ended, in their order.
select r.* from turns t join runs r on r.workspace_id = t.workspace_id and r.id = t.run_id
where t.workspace_id = @workspace_id and t.conversation_id = @conversation_id and t.number < @number::int and t.status = 'accepted'
order by t.number limit @max_rows;

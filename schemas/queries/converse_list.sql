-- name: MessagesPage :many
-- A conversation's messages in the order in which they were stored.
select m.seq, m.turn, m.external_id, m.role, m.content, m.name, m.tool_calls, m.tool_call_id, m.details, m.created_at
from messages m where m.workspace_id = @workspace_id and m.conversation_id = @conversation_id and m.seq > @after::int
order by m.seq limit @max_rows;

-- name: AgentProgress :one
-- The progress of a turn or a review, cheap enough to be polled several times a second.
select r.kind, r.status, r.outcome, r.reason, r.attempt, c.calls::bigint as calls, c.tokens::bigint as tokens,
  (select count(*) from agent_steps s where s.workspace_id = r.workspace_id and s.run_id = r.id)::bigint as steps
from runs r, lateral (
  select count(*) as calls, coalesce(sum(y.input_tokens + y.output_tokens), 0) as tokens from llm_calls y where y.workspace_id = r.workspace_id and y.run_id = r.id
) c
where r.workspace_id = @workspace_id and r.id = @id;

-- name: AgentCallsShort :many
select step, tool, code, (ended_at is not null)::boolean as done from agent_calls
where workspace_id = @workspace_id and run_id = @run_id order by step, position;

-- name: WorkspaceSettingsLock :one
select settings, time_zone, reflection_cron from workspaces where id = @workspace_id for no key update;

-- name: ConversationName :one
select external_id, title from conversations where workspace_id = @workspace_id and id = @id;

-- name: ConversationsRunning :many
select id from conversations where workspace_id = @workspace_id and last_turn_at > now() - @within::interval order by last_turn_at desc limit @max_rows;

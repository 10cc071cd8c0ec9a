-- name: ConversationPut :one
insert into conversations (workspace_id, external_id, channel, title, reward)
values (@workspace_id, @external_id, @channel, @title, @reward)
on conflict (workspace_id, external_id) do update set title = conversations.title
returning id, next_seq, (session is not null)::boolean as grows;

-- name: ImportedSessionLock :exec
-- One import at a time stores the conversations of a session.
select pg_advisory_xact_lock(hashtextextended(encode(@session::bytea, 'hex'), @workspace_id::bigint));

-- name: ImportedSessionConversations :many
-- The imported conversations of a session, the longest first. An erased one is not continued.
select id, external_id, next_seq from conversations
where workspace_id = @workspace_id and session = @session::bytea and channel = @channel and external_id not like 'erased/%'
order by next_seq desc, id desc limit 1000 for update;

-- name: ImportedSessionPut :exec
update conversations set session = @session::bytea where workspace_id = @workspace_id and id = @id and session is null;

-- name: ConversationAdvance :execrows
update conversations set next_seq = @next_seq, dated = dated or @dated::boolean where workspace_id = @workspace_id and id = @id and next_seq = @was;

-- name: ConversationGet :one
select c.*, coalesce((select o.outcome from conversation_outcomes o
  where o.workspace_id = c.workspace_id and o.conversation_id = c.id order by o.stated_at desc limit 1), '')::text as outcome
from conversations c where c.workspace_id = @workspace_id and c.id = @id;

-- name: OutcomePut :one
-- Stores a person's statement and returns the ID of the conversation.
insert into conversation_outcomes (workspace_id, conversation_id, voter, outcome, note)
select c.workspace_id, c.id, @voter, @outcome, @note from conversations c
where c.workspace_id = @workspace_id and c.external_id = @external_id
on conflict (workspace_id, conversation_id, voter) do update
set outcome = excluded.outcome, note = excluded.note, stated_at = clock_timestamp()
returning conversation_id;

-- name: OutcomeDelete :exec
delete from conversation_outcomes where workspace_id = @workspace_id and conversation_id = @conversation_id and voter = @voter;

-- name: OutcomesList :many
select voter, outcome, note, stated_at from conversation_outcomes
where workspace_id = @workspace_id and conversation_id = @conversation_id order by stated_at desc limit @max_rows;

-- name: MessagesPut :execrows
insert into messages (workspace_id, conversation_id, seq, external_id, role, content, name, tool_calls, tool_call_id, event_time, details)
select @workspace_id, @conversation_id, unnest(@seqs::int[]), unnest(@external_ids::text[]), unnest(@roles::text[]), unnest(@contents::text[]),
  unnest(@names::text[]), unnest(@tool_calls::text[])::jsonb, unnest(@tool_call_ids::text[]), nullif(unnest(@event_times::text[]), '')::timestamptz,
  unnest(@details::text[])::jsonb;

-- name: MessagesRange :many
select seq, external_id, role, content, name, tool_calls, tool_call_id, event_time, details from messages
where workspace_id = @workspace_id and conversation_id = @conversation_id and seq between @from_seq and @to_seq order by seq;

-- name: MessagesCount :one
select count(*) from messages where workspace_id = @workspace_id and conversation_id = @conversation_id;

-- name: ConversationChannel :one
select channel from conversations where workspace_id = @workspace_id and id = @id;

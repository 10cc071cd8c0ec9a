-- +goose Up
-- Session files grow while an agent works. A later import of the same session continues its conversation.

alter table conversations add column session bytea check (length(session) = 32); -- SHA-256 of the format and the agent's ID of the session; null if unknown
create index conversations_session on conversations (workspace_id, session) where session is not null;
grant update (session) on conversations to cairn_app;

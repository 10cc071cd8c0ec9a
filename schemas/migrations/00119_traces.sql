-- +goose Up
-- Spans that OpenTelemetry exporters send. A conversation is imported when its spans have ended. Its spans then lose
-- their content, and are kept for some days, so that a repeated request has no second effect.

create table trace_spans (
  workspace_id bigint not null references workspaces,
  id           bigint generated always as identity,     -- in the order of arrival
  trace_id     bytea not null check (length(trace_id) = 16),
  span_id      bytea not null check (length(span_id) = 8),
  session      bytea not null check (length(session) = 32), -- of the conversation: conversations.session
  format       text not null,                           -- of the content
  content      bytea,                                   -- a line of OTLP JSON; null when it was imported
  received_at  timestamptz not null default now(),
  primary key (workspace_id, id),
  unique (workspace_id, trace_id, span_id)
);
create index trace_spans_open on trace_spans (workspace_id, session, id) where content is not null;
create index trace_spans_old on trace_spans (workspace_id, received_at) where content is null;

alter table trace_spans enable row level security;
alter table trace_spans force row level security;
create policy trace_spans_app on trace_spans to cairn_app using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint);
grant select, insert, delete on trace_spans to cairn_app;
grant update (content) on trace_spans to cairn_app;

alter table outbox drop constraint outbox_kind_check;
alter table outbox add check (kind in ('drive', 'embed', 'settings', 'event', 'deliver', 'report', 'import', 'trace'));

-- Spans are deleted with the conversations of their session. What is not imported yet may be about any subject.
insert into erase_rules (tbl, how, scope, subject) values
  ('trace_spans', 'rows', 't.session in (select c.session from conversations c where c.workspace_id = $1 and c.id = any($2))', 't.content is not null');
select cairn.cover_erase();

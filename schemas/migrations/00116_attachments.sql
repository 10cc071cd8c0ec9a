-- +goose Up
-- Images and recordings of users. Requests to models name them by their hash, so that the ledger stores no content.

create table attachments (
  workspace_id    bigint not null references workspaces,
  id              bigint generated always as identity,
  sha256          bytea not null check (length(sha256) = 32),
  kind            text not null check (kind in ('image', 'voice')),
  type            text not null,                        -- MIME type, by the content
  bytes           int not null,
  content         bytea not null,                       -- of a recording: empty when its words are known
  event_id        bigint,                               -- the received event, until it is handled
  conversation_id bigint,
  turn            int,
  seq             int,                                  -- of the message
  position        int not null,                         -- in the event, then in the message
  problem         text not null default '',             -- why a recording was not transcribed
  created_at      timestamptz not null default now(),
  expires_at      timestamptz not null default now() + interval '7 days',
  primary key (workspace_id, id),
  foreign key (workspace_id, event_id) references channel_events,
  foreign key (workspace_id, conversation_id) references conversations,
  check ((event_id is null) <> (conversation_id is null)),
  check ((conversation_id is null) = (turn is null) and (turn is null) = (seq is null))
);
-- Images and recordings are compressed already.
alter table attachments alter column content set storage external;
create unique index attachments_event on attachments (workspace_id, event_id, position) where event_id is not null;
create index attachments_message on attachments (workspace_id, conversation_id, turn) where conversation_id is not null;
create index attachments_content on attachments (workspace_id, sha256);
create index attachments_expired on attachments (expires_at);

alter table attachments enable row level security;
alter table attachments force row level security;
create policy attachments_app on attachments to cairn_app using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint);
grant select, insert, delete on attachments to cairn_app;
grant update (content, event_id, conversation_id, turn, seq, position, problem) on attachments to cairn_app;

-- The relay deletes what has expired.
create policy attachments_system_see on attachments for select to cairn_system using (expires_at < now());
create policy attachments_system_purge on attachments for delete to cairn_system using (expires_at < now());
grant select (workspace_id, id, expires_at), delete on attachments to cairn_system;

-- Replaces the text of a user's message by that with the words of its recordings, in the workspace that the caller has
-- entered. A message that has another text by now keeps it: its user has deleted it, or it was erased.
-- +goose StatementBegin
create function cairn.transcribe_message(conversation bigint, message int, was text, becomes text) returns int
language plpgsql security definer set search_path = cairn, pg_catalog, pg_temp as $$
declare n int;
begin
  update messages m set content = becomes
  where m.workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint and m.conversation_id = conversation
    and m.seq = message and m.role = 'user' and m.content = was;
  get diagnostics n = row_count;
  return n;
end $$;
-- +goose StatementEnd
revoke all on function cairn.transcribe_message(bigint, int, text, text) from public;
grant execute on function cairn.transcribe_message(bigint, int, text, text) to cairn_app;

insert into erase_rules (tbl, how, scope, subject) values
  ('attachments', 'rows', 't.conversation_id = any($2) or t.event_id in (select e.id from channel_events e where e.workspace_id = $1 and cairn.erase_placed($1, $2, e.route_id, e.received_at))',
    $$t.event_id is not null or (t.conversation_id, t.seq) in (select id, seq from erase_items where erasure = $3 and kind = 'message')$$);
select cairn.cover_erase();

-- +goose Up
-- Transcript: append-only. All that is remembered points back to message ranges.

create table conversations (
  workspace_id bigint not null references workspaces,
  id           bigint generated always as identity,
  external_id  text not null,
  channel      text not null default 'chat' check (channel in ('voice', 'sms', 'chat', 'scheduled', 'import')),
  title        text not null default '',
  reward       double precision,                -- outcome that came with an imported trajectory
  next_seq     int not null default 0,          -- sequence numbers have no gaps: taken under this row's lock
  created_at   timestamptz not null default now(),
  primary key (workspace_id, id),
  unique (workspace_id, external_id)
);

create table messages (
  workspace_id    bigint not null,
  conversation_id bigint not null,
  seq             int not null check (seq >= 0),
  external_id     text not null,                -- the channel's id, or the position in an imported file
  role            text not null check (role in ('user', 'assistant', 'tool', 'system')),
  content         text not null,
  name            text not null default '',
  tool_calls      jsonb not null default '[]',
  tool_call_id    text not null default '',
  event_time      timestamptz,                  -- when it was said: for display, never a watermark
  created_at      timestamptz not null default now(),
  primary key (workspace_id, conversation_id, seq),
  unique (workspace_id, conversation_id, external_id),
  foreign key (workspace_id, conversation_id) references conversations
);

-- +goose StatementBegin
do $$
declare t text;
begin
  foreach t in array array['conversations', 'messages'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format($p$create policy %I on %I to cairn_app using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint)$p$, t || '_app', t);
  end loop;
end $$;
-- +goose StatementEnd
grant select, insert on conversations, messages to cairn_app;
grant update (next_seq, title) on conversations to cairn_app;

-- +goose Up
-- Transcript: append-only. Memories and skills refer to message ranges as evidence.

create table conversations (
  workspace_id  bigint not null references workspaces,
  id            bigint generated always as identity,
  external_id   text not null,
  channel       text not null default 'chat' check (channel in ('voice', 'sms', 'chat', 'scheduled', 'import')),
  title         text not null default '',
  reward        double precision check (reward between -1000000 and 1000000), -- outcome of an imported trajectory
  -- next message number; without gaps, assigned under this row's lock
  next_seq      int not null default 0,
  -- next turn number; without gaps, assigned under this row's lock
  next_turn     int not null default 1,
  counters      jsonb not null default '{}',            -- of the nudge, as of the turn `counted`
  counted       int not null default 0,                 -- number of turns that are in the counters
  reviewed_turn int not null default 0,                 -- the last turn that a review has read
  notice        text not null default '',               -- one line for the next reply: what a review saved
  -- Imported conversations are reflected on if their messages have times. Others are never
  -- reflected on.
  dated         boolean not null default false,
  created_at    timestamptz not null default now(),
  last_turn_at  timestamptz,
  closed_at     timestamptz,                            -- ended by its user; the next message reopens it
  primary key (workspace_id, id),
  unique (workspace_id, external_id)
);

create table messages (
  workspace_id    bigint not null,
  conversation_id bigint not null,
  seq             int not null check (seq >= 0),
  external_id     text not null,                        -- the channel's ID, or the position in an imported file
  role            text not null check (role in ('user', 'assistant', 'tool', 'system')),
  content         text not null,
  name            text not null default '',
  tool_calls      jsonb not null default '[]',
  tool_call_id    text not null default '',
  -- reasoning, errors, exit code, model, sub-agent, origin, attachments and place in the imported file
  details         jsonb not null default '{}',
  event_time      timestamptz,                          -- time of the message; for display, never a watermark
  -- A message belongs to a turn: the next message may arrive while a turn is being processed.
  turn            int,
  created_at      timestamptz not null default now(),
  primary key (workspace_id, conversation_id, seq),
  unique (workspace_id, conversation_id, external_id),
  foreign key (workspace_id, conversation_id) references conversations
);
-- How a conversation ended, as people state it: one row for each person. The latest counts.
create table conversation_outcomes (
  workspace_id    bigint not null,
  conversation_id bigint not null,
  voter           text not null,                        -- key/ID or cli/ACCOUNT
  outcome         text not null check (outcome in ('success', 'failure')),
  note            text not null default '',
  stated_at       timestamptz not null default clock_timestamp(),
  primary key (workspace_id, conversation_id, voter),
  foreign key (workspace_id, conversation_id) references conversations
);

create index messages_turn on messages (workspace_id, conversation_id, turn, seq) where turn is not null;

-- +goose StatementBegin
do $$
declare t text;
begin
  foreach t in array array['conversations', 'messages', 'conversation_outcomes'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format($p$create policy %I on %I to cairn_app using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint)$p$, t || '_app', t);
  end loop;
end $$;
-- +goose StatementEnd
grant select, insert on conversations, messages to cairn_app;
grant select, insert, update, delete on conversation_outcomes to cairn_app;
grant update (next_seq, title, next_turn, counters, counted, reviewed_turn, notice, last_turn_at, closed_at, dated) on conversations to cairn_app;

create policy conversations_system on conversations for select to cairn_system using (true);
grant select (workspace_id, id, channel, next_seq, last_turn_at, dated) on conversations to cairn_system;

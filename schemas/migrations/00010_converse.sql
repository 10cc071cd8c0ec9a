-- +goose Up
-- Conversations that are answered: turns, what an agent did in a run, and the
-- prompt that a session is frozen to.

alter table conversations add column next_turn int not null default 1;      -- turns have no gaps: numbered under this row's lock
alter table conversations add column counters jsonb not null default '{}';  -- of the nudge, after the turn `counted`
alter table conversations add column counted int not null default 0;        -- turns that have been counted
alter table conversations add column reviewed_turn int not null default 0;  -- the last turn that a nudge has read
alter table conversations add column notice text not null default '';       -- one line for the next answer: what a nudge saved
alter table conversations add column last_turn_at timestamptz;
alter table conversations add column closed_at timestamptz;                 -- ended by its user; the next message opens it again
grant update (next_turn, counters, counted, reviewed_turn, notice, last_turn_at, closed_at) on conversations to cairn_app;

-- A turn owns its messages: while one is answered, the next may have been said.
alter table messages add column turn int;
create index messages_turn on messages (workspace_id, conversation_id, turn, seq) where turn is not null;

alter table runs drop constraint runs_kind_check;
alter table runs add constraint runs_kind_check check (kind in ('distill', 'turn', 'nudge'));
create index runs_nudges_day on runs (workspace_id, created_at) where kind = 'nudge';
create index runs_nudges_of on runs (workspace_id, conversation_id, id desc) where kind = 'nudge';

-- The exact beginning of every request of a session: system message and tools.
create table frozen_sessions (
  workspace_id bigint not null references workspaces,
  id           bigint generated always as identity,
  channel      text not null,
  lang         text not null,
  rendered     text not null,
  tools        jsonb not null,
  sha256       bytea not null,                         -- of both
  created_at   timestamptz not null default now(),
  expires_at   timestamptz not null,                   -- counted from its creation: use does not prolong it
  revoked_at   timestamptz,                            -- something in it was found to be poisoned
  primary key (workspace_id, id)
);
create index frozen_sessions_live on frozen_sessions (workspace_id, channel, lang, expires_at desc);

alter table runs add column session_id bigint;         -- of a turn: set by its first step, kept to its end
alter table runs add foreign key (workspace_id, session_id) references frozen_sessions;

create table turns (
  workspace_id    bigint not null,
  conversation_id bigint not null,
  number          int not null check (number > 0),
  message_id      text not null,                       -- the channel's id of the message
  mode            text not null check (mode in ('answer', 'observe')),
  origin          text not null check (origin in ('user', 'scheduled', 'heartbeat', 'subagent')),
  args_sha        bytea not null,                      -- of what was said: one id, one message
  run_id          bigint,                              -- null when the turn was only observed
  context         text not null default '',            -- what was volatile when the turn began: told with the message, and kept
  first_seq       int not null,
  reply_seq       int,
  status          text not null default 'accepted' check (status in ('accepted', 'ended')),
  reason          text not null default '',            -- why it ended
  facts           jsonb not null default '{}',         -- what the nudge's counters follow from
  tainted         boolean not null default false,      -- untrusted text has entered
  accepted_at     timestamptz not null default now(),
  ended_at        timestamptz,
  primary key (workspace_id, conversation_id, number),
  unique (workspace_id, conversation_id, message_id),
  foreign key (workspace_id, conversation_id) references conversations,
  foreign key (workspace_id, run_id) references runs,
  check ((status = 'ended') = (reason <> ''))
);
create index turns_run on turns (workspace_id, run_id);

-- One row for each model response of a run.
create table agent_steps (
  workspace_id bigint not null,
  run_id       bigint not null,
  step         int not null check (step > 0),
  note         text not null default '',               -- said to the model before this response, and kept for the next
  content      text not null,
  finish       text not null default '',
  created_at   timestamptz not null default now(),
  primary key (workspace_id, run_id, step),
  foreign key (workspace_id, run_id) references runs
);

-- One row for each tool call of a response, in its order. The result is what the
-- model was told, once and for all.
create table agent_calls (
  workspace_id bigint not null,
  run_id       bigint not null,
  step         int not null,
  position     int not null check (position >= 0),
  call_id      text not null,
  tool         text not null,
  class        text not null check (class in ('fast', 'slow', 'control')),
  arguments    text not null,                          -- as the model wrote them: perhaps no JSON
  result       text,                                   -- null until it has run
  code         text not null default '',               -- of a failure
  ended_at     timestamptz,
  primary key (workspace_id, run_id, step, position),
  foreign key (workspace_id, run_id, step) references agent_steps
);

-- +goose StatementBegin
do $$
declare t text;
begin
  foreach t in array array['frozen_sessions', 'turns', 'agent_steps', 'agent_calls'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format($p$create policy %I on %I to cairn_app using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint)$p$, t || '_app', t);
    execute format('grant select, insert on %I to cairn_app', t);
  end loop;
end $$;
-- +goose StatementEnd
grant update (revoked_at) on frozen_sessions to cairn_app;
grant update (context, reply_seq, status, reason, facts, tainted, ended_at) on turns to cairn_app;
grant update (result, code, ended_at) on agent_calls to cairn_app;

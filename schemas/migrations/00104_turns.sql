-- +goose Up
-- Conversations with replies: turns, and the steps of an agent in a run.

create table turns (
  workspace_id    bigint not null,
  conversation_id bigint not null,
  number          int not null check (number > 0),
  message_id      text not null,                        -- the channel's ID of the message
  mode            text not null check (mode in ('answer', 'observe')),
  origin          text not null check (origin in ('user', 'scheduled', 'heartbeat', 'subagent')),
  args_sha        bytea not null,                       -- of the message: one ID, one message
  run_id          text collate "C",                     -- null if the turn was only observed
  -- volatile context at the start of the turn: sent with the message, and stored
  context         text not null default '',
  first_seq       int not null,
  reply_seq       int,
  status          text not null default 'accepted' check (status in ('accepted', 'ended')),
  reason          text not null default '',             -- reason of its end
  facts           jsonb not null default '{}',          -- the input of the nudge's counters
  tainted         boolean not null default false,       -- contains untrusted text
  accepted_at     timestamptz not null default now(),
  ended_at        timestamptz,
  primary key (workspace_id, conversation_id, number),
  unique (workspace_id, conversation_id, message_id),
  foreign key (workspace_id, conversation_id) references conversations,
  foreign key (workspace_id, run_id) references runs,
  check ((status = 'ended') = (reason <> ''))
);
create index turns_run on turns (workspace_id, run_id);
create index turns_open on turns (workspace_id, conversation_id, number) where status = 'accepted';

-- What a request of the OpenAI-compatible API stated about its conversation, for the requests that
-- continue or repeat it.
create table turn_requests (
  workspace_id    bigint not null,
  conversation_id bigint not null,
  number          int not null,
  thread          text collate "C" not null,            -- hash of what requests that can continue each other share
  history_sha     bytea not null,                       -- of the visible messages up to the turn's own
  body_sha        bytea not null,                       -- of the request
  times           int not null check (times > 0),       -- number of the request among equal ones
  watcher         text not null default '',             -- the latest request that waits for the reply
  deleted         boolean not null default false,       -- a response that its client has deleted
  created_at      timestamptz not null default now(),
  primary key (workspace_id, conversation_id, number),
  foreign key (workspace_id, conversation_id, number) references turns
);
create index turn_requests_history on turn_requests (workspace_id, thread, history_sha, conversation_id desc);
create unique index turn_requests_body on turn_requests (workspace_id, body_sha, times);

-- One row for each model response of a run.
create table agent_steps (
  workspace_id bigint not null,
  run_id       text collate "C" not null,
  step         int not null check (step > 0),
  -- text added before this response, also sent with later requests
  note         text not null default '',
  content      text not null,
  finish       text not null default '',
  created_at   timestamptz not null default now(),
  primary key (workspace_id, run_id, step),
  foreign key (workspace_id, run_id) references runs
);

-- One row for each tool call of a response, in its order. The result is the one sent to the model
-- and never changes.
create table agent_calls (
  workspace_id bigint not null,
  run_id       text collate "C" not null,
  step         int not null,
  position     int not null check (position >= 0),
  call_id      text not null,
  tool         text not null,
  class        text not null check (class in ('fast', 'slow', 'control', 'isolated', 'client')),
  arguments    text not null,                           -- as the model wrote them; may be invalid JSON
  result       text,                                    -- null until the call has ended
  code         text not null default '',                -- error code of a failure
  ended_at     timestamptz,
  primary key (workspace_id, run_id, step, position),
  foreign key (workspace_id, run_id, step) references agent_steps
);

-- +goose StatementBegin
do $$
declare t text;
begin
  foreach t in array array['turns', 'turn_requests', 'agent_steps', 'agent_calls'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format($p$create policy %I on %I to cairn_app using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint)$p$, t || '_app', t);
  end loop;
end $$;
-- +goose StatementEnd
grant select, insert on turns, turn_requests, agent_steps, agent_calls to cairn_app;
grant update (watcher, deleted) on turn_requests to cairn_app;
grant update (context, reply_seq, status, reason, facts, tainted, ended_at) on turns to cairn_app;
grant update (result, code, ended_at) on agent_calls to cairn_app;

create policy turns_system on turns for select to cairn_system using (origin = 'user');
grant select (workspace_id, origin, accepted_at) on turns to cairn_system;

-- Text of replies while a model writes them, for callers that read along. Nothing else reads it: the
-- ledger stores the whole reply. It is unlogged, because a reader gets what is lost from there.
create unlogged table reply_chunks (
  workspace_id bigint not null references workspaces,
  run_id       text collate "C" not null,
  step         int not null,
  attempt      int not null,                            -- at the model call of the step
  seq          int not null,
  body         text not null,
  created_at   timestamptz not null default now(),
  primary key (workspace_id, run_id, step, attempt, seq),
  foreign key (workspace_id, run_id) references runs
);
create index reply_chunks_age on reply_chunks (created_at);
alter table reply_chunks enable row level security;
alter table reply_chunks force row level security;
create policy reply_chunks_app on reply_chunks to cairn_app using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint);
grant select, insert on reply_chunks to cairn_app;
create policy reply_chunks_system_see on reply_chunks for select to cairn_system using (created_at < now() - interval '10 minutes');
create policy reply_chunks_system_purge on reply_chunks for delete to cairn_system using (created_at < now() - interval '10 minutes');
grant select (workspace_id, run_id, step, attempt, seq, created_at), delete on reply_chunks to cairn_system;

-- +goose Up
-- Runs, the ledger of model calls, the log of operations, the outbox: what makes
-- every effect happen once.

create table runs (
  workspace_id bigint not null references workspaces,
  id           bigint generated always as identity,
  kind         text not null check (kind in ('distill')),
  business_key text not null,                          -- the caller's id of the request
  generation   int not null default 1,                 -- raised by a deliberate redo, which pays again
  attempt      int not null default 1,                 -- raised by a retry, which pays only for what is missing
  args_sha     bytea not null,                         -- of what was asked: one key, one request
  conversation_id bigint,
  spec         jsonb not null,                         -- pinned configuration, instructions included
  status       text not null default 'accepted' check (status in ('accepted', 'running', 'ended')),
  outcome      text not null default '',               -- set when ended
  reason       text not null default '',
  result       jsonb not null default '{}',
  workflow_id  text not null,
  created_at   timestamptz not null default now(),
  started_at   timestamptz,
  ended_at     timestamptz,
  primary key (workspace_id, id),
  unique (workspace_id, kind, business_key, generation),
  foreign key (workspace_id, conversation_id) references conversations,
  check ((status = 'ended') = (outcome <> ''))
);
create index runs_recent on runs (workspace_id, id desc);

create table distill_tasks (
  workspace_id bigint not null,
  run_id       bigint not null,
  task_key     text not null,
  position     int not null,
  name         text not null,
  seqs         int[] not null,
  lang         text not null,
  stage        text not null default 'chunked',        -- chunked recalled extracted written packaged ended
  outcome      text not null default '',               -- created updated unchanged skipped failed, set when ended
  reason       text not null default '',
  query        text not null default '',
  candidates   jsonb not null default '[]',            -- handle → skill and the version that the model saw
  draft        jsonb,
  package      jsonb,                                  -- what the commit will make: base version, document, sha
  skill_id     bigint,
  version      int,
  notes        text[] not null default '{}',
  ended_at     timestamptz,
  primary key (workspace_id, run_id, task_key),
  foreign key (workspace_id, run_id) references runs,
  check ((stage = 'ended') = (outcome <> ''))
);

-- Optional files as they were written, before the package takes them. A reason
-- in place of content says why a file could not be written.
create table distill_files (
  workspace_id bigint not null,
  run_id       bigint not null,
  task_key     text not null,
  kind         text not null check (kind in ('scripts', 'reference')),
  name         text not null,                          -- as the model returned it: checked when packaged
  content      text not null,
  reason       text not null default '',
  primary key (workspace_id, run_id, task_key, kind, name),
  foreign key (workspace_id, run_id, task_key) references distill_tasks
);

-- Ledger. The exact request is stored before the call, the reply before the
-- activity returns; the lease is on this database's clock.
create table llm_calls (
  workspace_id  bigint not null,
  run_id        bigint not null,
  step          text not null,                         -- chunk, <task>/extract, <task>/doc/<file> …
  round         int not null,                          -- 0, then one for each repair
  state         text not null check (state in ('started', 'done', 'failed', 'unknown')),
  stage         text not null,
  model         text not null,
  label         jsonb not null,
  request       text not null,                         -- the bytes that are sent, and sent again
  request_sha   bytea not null,
  holder        uuid not null,                         -- the attempt that holds the lease
  lease_until   timestamptz not null,
  attempts      int not null default 1,
  unknown       int not null default 0,                -- attempts that died between sending and storing: perhaps paid
  reserved      bigint not null default 0,             -- tokens held against the day's budget until the reply settles it
  reserved_micros bigint not null default 0,           -- what they may cost, 0 when the model's price is unknown
  reply         text,
  tool_calls    jsonb not null default '[]',           -- [{id, name, arguments}] of the reply; arguments are a text, as the model wrote it
  refusal       text not null default '',
  finish        text not null default '',
  reply_model   text not null default '',
  input_tokens  bigint not null default 0,
  output_tokens bigint not null default 0,
  estimated     boolean not null default false,
  cost_micros   bigint,                                -- micro-dollars, null when the model's price is unknown
  error_class   text not null default '',
  error         text not null default '',
  created_at    timestamptz not null default now(),
  sent_at       timestamptz not null default now(),    -- latest attempt: its day pays
  finished_at   timestamptz,
  primary key (workspace_id, run_id, step, round),
  foreign key (workspace_id, run_id) references runs,
  check ((state = 'done') = (reply is not null))
);
create index llm_calls_day on llm_calls (workspace_id, sent_at);
create index llm_calls_open on llm_calls (lease_until) where state = 'started';

-- The row of an operation goes in first, in the transaction of its effect: a
-- second attempt blocks on the key and reads the result. Other arguments under
-- the same id are an error, never a silent skip.
create table tool_op_log (
  workspace_id bigint not null references workspaces,
  op_id        text not null,                          -- <run>/<step>/<call>
  args_sha     bytea not null,
  result       jsonb,
  created_at   timestamptz not null default now(),
  primary key (workspace_id, op_id)
);

-- What was accepted is driven to its end by the relay.
create table outbox (
  workspace_id bigint not null references workspaces,
  id           bigint generated always as identity primary key,
  kind         text not null check (kind in ('drive', 'embed')),
  key          text not null,                          -- run id, document id
  due_at       timestamptz not null default now(),
  attempts     int not null default 0,
  last_error   text not null default '',
  created_at   timestamptz not null default now(),
  unique (workspace_id, kind, key)
);
create index outbox_due on outbox (due_at);

-- +goose StatementBegin
do $$
declare t text;
begin
  foreach t in array array['runs', 'distill_tasks', 'distill_files', 'llm_calls', 'tool_op_log', 'outbox'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format($p$create policy %I on %I to cairn_app using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint)$p$, t || '_app', t);
    execute format('grant select, insert, update on %I to cairn_app', t);
  end loop;
end $$;
-- +goose StatementEnd
grant delete on outbox, distill_files to cairn_app;

-- The relay and the watch over leases have no workspace yet: they see ids and times only.
create policy outbox_system on outbox to cairn_system using (true);
grant select, update (due_at, attempts, last_error), delete on outbox to cairn_system;
-- An update must be allowed to see the row that it leaves, hence two policies.
create policy llm_calls_system_see on llm_calls for select to cairn_system using (state in ('started', 'unknown'));
create policy llm_calls_system_expire on llm_calls for update to cairn_system using (state = 'started') with check (state = 'unknown');
grant select (workspace_id, run_id, step, round, state, unknown, lease_until), update (state, unknown) on llm_calls to cairn_system;

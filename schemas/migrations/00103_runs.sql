-- +goose Up
-- Runs, the ledger of model calls, the log of operations and the outbox. They make every effect
-- happen once.

-- The exact beginning of every request of a session: system message and tools.
create table frozen_sessions (
  workspace_id bigint not null references workspaces,
  id           bigint generated always as identity,
  channel      text not null,
  lang         text not null,
  rendered     text not null,
  tools        jsonb not null,
  sha256       bytea not null,                          -- of both
  created_at   timestamptz not null default now(),
  expires_at   timestamptz not null,                    -- counted from its creation; use does not extend it
  revoked_at   timestamptz,                             -- set if its content was found to be poisoned
  primary key (workspace_id, id)
);
create index frozen_sessions_live on frozen_sessions (workspace_id, channel, lang, expires_at desc);

-- A run is one durable unit of work: its request, its pinned configuration and its result. Its ID is
-- random and says nothing about other runs. Runs are ordered by their creation.
create table runs (
  workspace_id    bigint not null references workspaces,
  id              text collate "C" not null check (id ~ '^run_[0-9a-hjkmnp-tv-z]{26}$'),
  kind            text not null check (kind in ('distill', 'turn', 'nudge', 'summarize', 'specialist', 'retrieve', 'completion', 'reflection', 'build', 'train', 'evolve', 'adapt', 'probe', 'offload', 'flush')),
  business_key    text not null,                        -- the caller's ID of the request
  generation      int not null default 1,               -- raised by a deliberate repetition, which pays again
  attempt         int not null default 1,               -- raised by a retry, which pays only for missing replies
  args_sha        bytea not null,                       -- of the request: one key, one request
  conversation_id bigint,
  spec            jsonb not null,                       -- pinned configuration, instructions included
  status          text not null default 'accepted' check (status in ('accepted', 'running', 'ended')),
  outcome         text not null default '',             -- set when ended
  reason          text not null default '',
  result          jsonb not null default '{}',
  workflow_id     text not null,
  session_id      bigint,                               -- of a turn: set by its first step, unchanged until its end
  parent_id       text collate "C",                     -- of a specialist: the run that handed off its target
  -- The time of its insertion: the runs of one transaction have an order, too.
  created_at      timestamptz not null default clock_timestamp(),
  started_at      timestamptz,
  ended_at        timestamptz,
  redriven        int not null default 0,               -- attempts because the workflow had closed without ending the run
  -- Time since which the run is open. A retry resets it, because the run had ended in between.
  opened_at       timestamptz not null default now(),
  primary key (workspace_id, id),
  unique (workspace_id, kind, business_key, generation),
  foreign key (workspace_id, conversation_id) references conversations,
  check ((status = 'ended') = (outcome <> '')),
  foreign key (workspace_id, session_id) references frozen_sessions,
  foreign key (workspace_id, parent_id) references runs
);
create index runs_recent on runs (workspace_id, created_at desc, id desc);
create index runs_open on runs (kind, opened_at) where status <> 'ended';
create index runs_nudges_day on runs (workspace_id, created_at) where kind = 'nudge';
create index runs_nudges_of on runs (workspace_id, conversation_id, created_at desc, id desc) where kind = 'nudge';
create index runs_children on runs (workspace_id, parent_id, created_at, id) where parent_id is not null;
create index runs_reflections on runs (workspace_id, created_at desc, id desc) where kind = 'reflection';
create index runs_probing on runs (workspace_id, created_at) where kind = 'probe';

-- Conversations that a run without a conversation has sent to a model.
create table run_conversations (
  workspace_id    bigint not null,
  run_id          text collate "C" not null,
  conversation_id bigint not null,
  primary key (workspace_id, run_id, conversation_id),
  foreign key (workspace_id, run_id) references runs,
  foreign key (workspace_id, conversation_id) references conversations
);

-- Ledger. The exact request is stored before the call, the reply before the activity returns. The
-- lease uses this database's clock.
create table llm_calls (
  workspace_id    bigint not null,
  run_id          text collate "C" not null,
  step            text not null,                        -- segment, <task>/extract, <task>/files …
  round           int not null,                         -- 0, then one more for each repair
  state           text not null check (state in ('started', 'done', 'failed', 'unknown')),
  stage           text not null,
  model           text not null,
  label           jsonb not null,
  -- The bytes sent, also in retries: cairn.request_of joins the pieces and the parts between them.
  request         text[] not null,
  parts           bytea[] not null default '{}',        -- SHA-256 of the request_parts of the run's conversation
  conversation_id bigint,                               -- of the run
  request_sha     bytea not null,
  holder          uuid not null,                        -- the attempt that holds the lease
  lease_until     timestamptz not null,
  attempts        int not null default 1,
  -- attempts that died between sending and storing; they may have been paid
  unknown         int not null default 0,
  -- tokens reserved in the daily budget until the reply settles it
  reserved        bigint not null default 0,
  reserved_micros bigint not null default 0,            -- their maximum cost, 0 if the model's price is unknown
  reply           text,
  -- [{id, name, arguments}] of the reply; arguments are text, as the model wrote it
  tool_calls      jsonb not null default '[]',
  refusal         text not null default '',
  finish          text not null default '',
  reply_model     text not null default '',
  input_tokens    bigint not null default 0,
  output_tokens   bigint not null default 0,
  cached_tokens   bigint not null default 0,            -- part of input_tokens that was read from a cache
  written_tokens  bigint not null default 0,            -- part of input_tokens that was written to a cache
  estimated       boolean not null default false,
  cost_micros     bigint,                               -- micro-dollars, null if the model's price is unknown
  error_class     text not null default '',
  error           text not null default '',
  status          int not null default 0,               -- HTTP status of the latest failure, 0 without a response
  retry_at        timestamptz,                          -- when a failed call is sent again; null if it is not
  created_at      timestamptz not null default now(),
  sent_at         timestamptz not null default now(),   -- of the latest attempt, whose day is charged
  finished_at     timestamptz,
  primary key (workspace_id, run_id, step, round),
  foreign key (workspace_id, run_id) references runs,
  check ((state = 'done') = (reply is not null)),
  -- The sums of a day stay within 64 bits, and a reply cannot lower them.
  check (reserved between 0 and 1000000000 and input_tokens between 0 and 1000000000 and output_tokens between 0 and 1000000000),
  check (cached_tokens >= 0 and written_tokens >= 0 and cached_tokens + written_tokens <= input_tokens),
  check (reserved_micros between 0 and 1000000000000 and cost_micros between 0 and 1000000000000)
);
-- The request of a long conversation is stored for each model call. PostgreSQL's own compression
-- takes over a millisecond for 60 kB of it; lz4 takes a fifth of that time and twice the space. A
-- server without lz4 keeps its own compression.
-- +goose StatementBegin
do $$ begin
  alter table llm_calls alter column request set compression lz4;
exception when feature_not_supported then
  raise notice 'the server does not support lz4: requests use the default compression';
end $$;
-- +goose StatementEnd

-- What the requests of a conversation have in common, each once: messages and lists of tools. A part
-- is in the requests of no other conversation, so that it is erased with its own. Constant instructions
-- and schemas contain nothing of a conversation.
create table request_parts (
  workspace_id    bigint not null,
  conversation_id bigint not null,                      -- 0 for constant parts
  sha256          bytea not null,
  content         text not null,
  used_on         date not null default (now() at time zone 'UTC')::date, -- of the latest call, in UTC
  primary key (workspace_id, conversation_id, sha256)
);
-- +goose StatementBegin
do $$ begin
  alter table request_parts alter column content set compression lz4;
exception when feature_not_supported then null;
end $$;
-- +goose StatementEnd

-- The bytes of a stored request, or null if a part was erased.
-- +goose StatementBegin
create function cairn.request_of(ws bigint, conv bigint, pieces text[], shas bytea[]) returns text
language sql stable security invoker set search_path = cairn, pg_catalog, pg_temp as $$
  select case when bool_and(u.sha is null or p.content is not null) then string_agg(u.piece || coalesce(p.content, ''), '' order by u.at) end
  from unnest(pieces, shas) with ordinality u(piece, sha, at)
  left join lateral (select r.content from request_parts r where r.workspace_id = ws and r.conversation_id in (conv, 0) and r.sha256 = u.sha limit 1) p on true
$$;
-- +goose StatementEnd
grant execute on function cairn.request_of to cairn_app;
create index llm_calls_day on llm_calls (workspace_id, sent_at);
create index llm_calls_open on llm_calls (lease_until) where state = 'started';
create index llm_calls_unknown on llm_calls (lease_until) where state = 'unknown';

-- What all workspaces have spent or reserved in a UTC day, for the limit of the deployment. Erasing a
-- workspace gives nothing back. Parts keep workspaces from waiting for each other.
create table deployment_spend (
  day    date not null,
  part   smallint not null check (part between 0 and 15),
  micros bigint not null,
  primary key (day, part)
);
alter table deployment_spend enable row level security;
alter table deployment_spend force row level security;
create policy deployment_spend_definer on deployment_spend to cairn_owner using (true) with check (true);

-- Runs at the end of the transaction, so that the rows are locked last and for a short time. All calls
-- of a transaction are of one workspace and so of one part.
-- +goose StatementBegin
create function cairn.count_spend() returns trigger
language plpgsql security definer set search_path = cairn, pg_catalog, pg_temp as $$
declare
  was bigint := case when tg_op = 'UPDATE' then coalesce(old.cost_micros, 0) + old.reserved_micros else 0 end;
  now_is bigint := coalesce(new.cost_micros, 0) + new.reserved_micros;
  today date := (new.sent_at at time zone 'UTC')::date;
begin
  if tg_op = 'UPDATE' and (old.sent_at at time zone 'UTC')::date <> today then
    update deployment_spend s set micros = s.micros - was
    where s.day = (old.sent_at at time zone 'UTC')::date and s.part = new.workspace_id % 16;
    was := 0;
  end if;
  if now_is <> was then
    insert into deployment_spend as s (day, part, micros) values (today, new.workspace_id % 16, now_is - was)
    on conflict (day, part) do update set micros = s.micros + excluded.micros;
  end if;
  return null;
end $$;

create function cairn.deployment_spend() returns bigint
language sql stable security definer set search_path = cairn, pg_catalog, pg_temp as $$
  select coalesce(sum(s.micros), 0)::bigint from deployment_spend s where s.day = (now() at time zone 'UTC')::date
$$;
-- +goose StatementEnd
revoke all on function cairn.count_spend(), cairn.deployment_spend() from public;
grant execute on function cairn.deployment_spend() to cairn_app;
create constraint trigger llm_calls_spend_new after insert on llm_calls deferrable initially deferred
  for each row when (new.reserved_micros <> 0 or new.cost_micros <> 0) execute function cairn.count_spend();
create constraint trigger llm_calls_spend_changed after update on llm_calls deferrable initially deferred
  for each row when ((old.reserved_micros, old.cost_micros, old.sent_at) is distinct from (new.reserved_micros, new.cost_micros, new.sent_at)
    and (old.reserved_micros <> 0 or new.reserved_micros <> 0 or old.cost_micros <> 0 or new.cost_micros <> 0))
  execute function cairn.count_spend();

-- The row of an operation is inserted first, in the transaction of its effect. A second attempt
-- blocks on the key and reads the result. Other arguments under the same ID are an error, never a
-- silent skip.
create table tool_op_log (
  workspace_id bigint not null references workspaces,
  op_id        text not null,                           -- <run>/<step>/<call>
  args_sha     bytea not null,
  result       jsonb,
  created_at   timestamptz not null default now(),
  primary key (workspace_id, op_id)
);

-- The relay drives accepted work to its end.
create table outbox (
  workspace_id bigint not null references workspaces,
  id           bigint generated always as identity primary key,
  kind         text not null check (kind in ('drive', 'embed', 'settings')),
  key          text not null,                           -- run ID, document ID
  due_at       timestamptz not null default now(),
  attempts     int not null default 0,
  last_error   text not null default '',                -- of the latest attempt
  failures     int not null default 0,                  -- attempts in a row that failed
  failed_since timestamptz,                             -- of the first of them
  created_at   timestamptz not null default now(),
  check ((failures > 0) = (failed_since is not null)),
  unique (workspace_id, kind, key)
);
create index outbox_due on outbox (due_at);

-- +goose StatementBegin
do $$
declare t text;
begin
  foreach t in array array['frozen_sessions', 'runs', 'run_conversations', 'llm_calls', 'request_parts', 'tool_op_log', 'outbox'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format($p$create policy %I on %I to cairn_app using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint)$p$, t || '_app', t);
  end loop;
end $$;
-- +goose StatementEnd
grant select, insert on frozen_sessions, run_conversations to cairn_app;
grant select, insert, update on runs, llm_calls, tool_op_log to cairn_app;
grant select, insert, update (used_on) on request_parts to cairn_app;
grant select, insert, update, delete on outbox to cairn_app;
grant update (revoked_at) on frozen_sessions to cairn_app;

-- The system role counts the backlog across workspaces. It sees the kind and the age of open runs,
-- not their workspace or request.
create policy runs_system on runs for select to cairn_system using (status <> 'ended');
grant select (kind, status, opened_at) on runs to cairn_system;

-- An update needs a policy for the row that it leaves, hence two policies.
create policy llm_calls_system_see on llm_calls for select to cairn_system using (state in ('started', 'unknown'));
create policy llm_calls_system_expire on llm_calls for update to cairn_system using (state = 'started') with check (state = 'unknown');
grant select (workspace_id, run_id, step, round, state, unknown, lease_until), update (state, unknown) on llm_calls to cairn_system;

-- The relay and the check of leases have no workspace yet. They see IDs and times only.
create policy outbox_system on outbox to cairn_system using (true);
grant select, update (due_at, attempts, last_error, failures, failed_since), delete on outbox to cairn_system;

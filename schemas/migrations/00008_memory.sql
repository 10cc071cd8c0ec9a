-- +goose Up
-- Memory: one remembered statement is a row, of every type. core and profile are
-- short and always in the prompt. A row's external id is made when it is created
-- and stays for life; its content moves on by versions, all of which are kept.

create table memories (
  workspace_id    bigint not null references workspaces,
  id              bigint generated always as identity,    -- ascending in the order of creation, which is the order of the prompt
  external_id     text not null check (external_id ~ '^[0-9a-f]{16}$'),
  type            text not null check (type in ('core', 'profile', 'identity', 'personal', 'procedural', 'tool', 'summary', 'note')),
  target          text not null default '',               -- who or what it is about; empty for core and profile
  content         text not null check (content <> ''),
  content_sha256  bytea not null,
  version         int not null default 1,
  status          text not null default 'active' check (status in ('active', 'removed', 'quarantined')),
  origin          text not null check (origin in ('user', 'agent', 'nudge', 'reflection', 'distill', 'designer', 'import')),
  tainted         boolean not null default false,         -- untrusted text was in view when it was written
  run_id          bigint,                                 -- that created it, null outside of a run
  op_id           text not null,                          -- of the latest version
  conversation_id bigint,                                 -- evidence: messages, both ends included
  from_seq        int,
  to_seq          int check (to_seq >= from_seq),
  event_time      timestamptz,                            -- when what it says happened, if that is known
  created_at      timestamptz not null default now(),
  updated_at      timestamptz not null default now(),
  primary key (workspace_id, id),
  unique (workspace_id, external_id),
  foreign key (workspace_id, run_id) references runs,
  foreign key (workspace_id, conversation_id) references conversations,
  check (num_nulls(conversation_id, from_seq, to_seq) in (0, 3))
);
-- Nothing is remembered twice, and the active rows of a type are read together.
create unique index memories_content on memories (workspace_id, type, target, content_sha256) where status = 'active';

create table memory_revisions (
  workspace_id    bigint not null,
  memory_id       bigint not null,
  version         int not null,
  action          text not null check (action in ('add', 'replace', 'remove')),
  content         text not null,                          -- of a removal: what was removed
  origin          text not null,
  tainted         boolean not null,
  run_id          bigint,
  op_id           text not null,
  conversation_id bigint,
  from_seq        int,
  to_seq          int,
  created_at      timestamptz not null default now(),
  primary key (workspace_id, memory_id, version),
  foreign key (workspace_id, memory_id) references memories,
  foreign key (workspace_id, run_id) references runs,
  foreign key (workspace_id, conversation_id) references conversations
);
-- How much a run has added so far.
create index memory_revisions_run on memory_revisions (workspace_id, run_id) where run_id is not null;

-- Writes that wait for a person. What they were made on is in base: an entry that
-- has moved on since ends the write as a conflict.
create table pending_memories (
  workspace_id    bigint not null references workspaces,
  id              bigint generated always as identity,
  type            text not null,
  operations      jsonb not null,                         -- what is to be done, entries named by their ids
  base            jsonb not null,                         -- external id → version
  adds            int not null,                           -- entries that it would add
  gist            text not null,                          -- one line for whoever decides
  risk            text[] not null default '{}',           -- findings of the scan, never their text
  reason          text not null,                          -- why it waits: approval, risk, taint
  origin          text not null,
  tainted         boolean not null,
  run_id          bigint,
  op_id           text not null,
  conversation_id bigint,
  from_seq        int,
  to_seq          int,
  state           text not null default 'pending' check (state in ('pending', 'approved', 'rejected', 'conflict')),
  created_at      timestamptz not null default now(),
  expires_at      timestamptz not null default now() + interval '30 days',
  decided_at      timestamptz,
  primary key (workspace_id, id),
  foreign key (workspace_id, run_id) references runs,
  foreign key (workspace_id, conversation_id) references conversations
);
create index pending_memories_open on pending_memories (workspace_id, id) where state = 'pending';

-- The soul is how the user wants to be answered: one text, every version kept.
create table soul_versions (
  workspace_id    bigint not null references workspaces,
  version         int not null,
  content         text not null,
  action          text not null check (action in ('replace', 'append', 'rollback')),
  origin          text not null,
  run_id          bigint,
  op_id           text not null,
  conversation_id bigint,
  from_seq        int,
  to_seq          int,
  created_at      timestamptz not null default now(),
  primary key (workspace_id, version),
  foreign key (workspace_id, run_id) references runs,
  foreign key (workspace_id, conversation_id) references conversations
);
alter table workspaces add column soul_version int not null default 0;  -- the head, 0 before the first

alter table search_docs drop constraint search_docs_kind_check;
alter table search_docs add constraint search_docs_kind_check check (kind in ('skill', 'memory'));

-- +goose StatementBegin
do $$
declare t text;
begin
  foreach t in array array['memories', 'memory_revisions', 'pending_memories', 'soul_versions'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format($p$create policy %I on %I to cairn_app using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint)$p$, t || '_app', t);
    execute format('grant select, insert on %I to cairn_app', t);
  end loop;
end $$;
-- +goose StatementEnd
grant update (content, content_sha256, version, status, tainted, op_id, event_time, updated_at) on memories to cairn_app;
grant update (state, decided_at) on pending_memories to cairn_app;
grant update (soul_version) on workspaces to cairn_app;

-- +goose Up
-- Memory: each remembered statement is a row, of any type. core and profile are short and always in
-- the prompt. The other types have a short text that is read first and refers to the sessions. A
-- row's external ID is created with the row and never changes. Its content changes by versions, all
-- of which are stored.

-- How far a conversation has been read, by kind of work, so that nothing is extracted twice.
create table conversation_marks (
  workspace_id    bigint not null,
  conversation_id bigint not null,
  kind            text not null check (kind in ('summarize', 'distill', 'reflection')),
  seq             int not null,                         -- of the last message that was read
  run_id          text collate "C",                     -- the run that read it
  updated_at      timestamptz not null default now(),
  primary key (workspace_id, conversation_id, kind),
  foreign key (workspace_id, conversation_id) references conversations,
  foreign key (workspace_id, run_id) references runs
);

-- The targets of memories. A key is the folded form of a name. A match_key contains only its
-- letters and digits, so that another spelling finds the target.
create table memory_targets (
  workspace_id    bigint not null references workspaces,
  id              bigint generated always as identity,  -- ascending in the order of creation, which is the order of the lines
  type            text not null check (type in ('personal', 'procedural')),
  target_key      text not null check (target_key <> ''),
  match_key       text not null,
  target          text not null,                        -- as first written
  description     text not null default '',             -- empty: the default sentence of its type
  aliases         text[] not null default '{}',         -- other keys of the target
  run_id          text collate "C",                     -- that registered it; may have been erased
  created_at      timestamptz not null default now(),
  last_used_at    timestamptz not null default now(),
  last_summary_at timestamptz,
  primary key (workspace_id, id),
  unique (workspace_id, type, target_key)
);
create index memory_targets_match on memory_targets (workspace_id, type, match_key);

-- One writer at a time for a target. The fencing token rises with every holder, and a write with an
-- older token is rejected.
create table memory_leases (
  workspace_id bigint not null references workspaces,
  type         text not null,
  target_key   text not null,
  holder       text not null,
  fence        bigint not null,
  lease_until  timestamptz not null,                    -- by this database's clock
  primary key (workspace_id, type, target_key)
);

-- One session, or a part of one: a range of a conversation's messages. The ID is the hash of the
-- messages, so that a session that is sent again is the same.
create table memory_histories (
  workspace_id    bigint not null references workspaces,
  id              text not null check (id ~ '^[0-9a-f]{16}$'),
  content_sha256  bytea not null,
  conversation_id bigint not null,
  from_seq        int not null,
  to_seq          int not null check (to_seq >= from_seq),
  messages        int not null,                         -- without system messages
  tokens          int not null,                         -- estimated
  author          text not null default '',
  run_id          text collate "C",
  op_id           text not null,
  created_at      timestamptz not null default now(),
  primary key (workspace_id, id),
  unique (workspace_id, content_sha256),
  foreign key (workspace_id, conversation_id) references conversations,
  foreign key (workspace_id, run_id) references runs
);

-- The parts of a session that search finds: whole turns.
create table history_chunks (
  workspace_id bigint not null,
  id           bigint generated always as identity,
  history_id   text not null,
  number       int not null,
  from_seq     int not null,
  to_seq       int not null check (to_seq >= from_seq),
  tokens       int not null,                            -- estimated
  primary key (workspace_id, id),
  unique (workspace_id, history_id, number),
  foreign key (workspace_id, history_id) references memory_histories
);

-- Memory entries.
create table memories (
  workspace_id      bigint not null references workspaces,
  id                bigint generated always as identity, -- ascending in the order of creation, which is the order of the prompt
  external_id       text not null check (external_id ~ '^[0-9a-f]{16}$'),
  type              text not null check (type in ('core', 'profile', 'identity', 'personal', 'procedural', 'tool', 'summary', 'note')),
  target            text not null default '',           -- empty for core and profile
  content           text not null check (content <> ''),
  content_sha256    bytea not null,
  version           int not null default 1,
  status            text not null default 'active' check (status in ('active', 'superseded', 'removed', 'quarantined')),
  origin            text not null check (origin in ('user', 'agent', 'nudge', 'reflection', 'distill', 'designer', 'import')),
  tainted           boolean not null default false,     -- the writer's context contained untrusted text
  run_id            text collate "C",                   -- that created it, null outside of a run
  op_id             text not null,                      -- of the latest version
  conversation_id   bigint,                             -- evidence: messages, both ends inclusive
  from_seq          int,
  to_seq            int check (to_seq >= from_seq),
  event_time        timestamptz,                        -- time of the described event, if known
  when_to_use       text not null default '',
  embedded_field    text not null default 'content' check (embedded_field in ('content', 'when_to_use')),
  metadata          jsonb not null default '{}' check (jsonb_typeof(metadata) = 'object'),
  history_id        text,                               -- the session from which it was first extracted
  author            text not null default '',           -- model@prompt-hash
  importance        real not null default 0 check (importance between -1000000 and 1000000),
  targets           text[] not null default '{}',       -- of a summary: type/key of the session's targets
  superseded_by     text,                               -- the entry with the same meaning
  retrieve_count    int not null default 0,             -- number of runs that have used it
  created_at        timestamptz not null default now(),
  updated_at        timestamptz not null default now(),
  last_retrieved_at timestamptz,
  primary key (workspace_id, id),
  unique (workspace_id, external_id),
  foreign key (workspace_id, run_id) references runs,
  foreign key (workspace_id, conversation_id) references conversations,
  check (num_nulls(conversation_id, from_seq, to_seq) in (0, 3)),
  foreign key (workspace_id, history_id) references memory_histories
);
create index memories_scope on memories (workspace_id, type, target, status);
-- Must be unique: a sentence about one target, the guideline of a tool, the digest of a session.
create unique index memories_content on memories (workspace_id, type, target, content_sha256) where status = 'active' and type not in ('tool', 'summary');
create unique index memories_guideline on memories (workspace_id, when_to_use) where status = 'active' and type = 'tool';
create unique index memories_digest on memories (workspace_id, history_id) where status = 'active' and type = 'summary' and history_id is not null;
create unique index memories_digest_text on memories (workspace_id, content_sha256) where status = 'active' and type = 'summary' and history_id is null;
create index memories_gone on memories (updated_at) where status = 'removed';

-- A revision is the complete former state of an entry, so that any can be restored.
create table memory_revisions (
  workspace_id    bigint not null,
  memory_id       bigint not null,
  version         int not null,
  action          text not null check (action in ('add', 'replace', 'remove', 'merge', 'restore', 'undo')),
  content         text not null,                        -- of a removal: the removed content
  origin          text not null,
  tainted         boolean not null,
  run_id          text collate "C",
  op_id           text not null,
  conversation_id bigint,
  from_seq        int,
  to_seq          int,
  status          text not null default 'active',
  when_to_use     text not null default '',
  metadata        jsonb not null default '{}',
  targets         text[] not null default '{}',
  author          text not null default '',
  decision_id     text not null default '',             -- that led to it
  created_at      timestamptz not null default now(),
  primary key (workspace_id, memory_id, version),
  foreign key (workspace_id, memory_id) references memories,
  foreign key (workspace_id, run_id) references runs,
  foreign key (workspace_id, conversation_id) references conversations
);
-- For the number of entries that a run has added.
create index memory_revisions_run on memory_revisions (workspace_id, run_id) where run_id is not null;
create index memory_revisions_decision on memory_revisions (workspace_id, decision_id) where decision_id <> '';

-- All sessions from which an entry was extracted.
create table memory_refs (
  workspace_id bigint not null,
  memory_id    bigint not null,
  history_id   text not null,
  run_id       text collate "C",                        -- that found it there
  created_at   timestamptz not null default clock_timestamp(),
  primary key (workspace_id, memory_id, history_id),
  foreign key (workspace_id, memory_id) references memories,
  foreign key (workspace_id, history_id) references memory_histories,
  foreign key (workspace_id, run_id) references runs
);

-- The entries that a run has been shown. Each is counted once, and the run may be allowed to change
-- only these.
create table memory_views (
  workspace_id bigint not null,
  run_id       text collate "C" not null,
  memory_id    bigint not null,
  op_id        text not null,                           -- the operation that first showed it
  created_at   timestamptz not null default now(),
  primary key (workspace_id, run_id, memory_id),
  foreign key (workspace_id, run_id) references runs,
  foreign key (workspace_id, memory_id) references memories
);

-- Pending writes. base contains the versions that they are based on: if an entry has a newer
-- version, the write ends as a conflict.
create table pending_memories (
  workspace_id    bigint not null references workspaces,
  id              bigint generated always as identity,
  type            text not null,
  operations      jsonb not null,                       -- the operations, with entries named by their IDs
  base            jsonb not null,                       -- external ID → version
  adds            int not null,                         -- number of entries that it adds
  gist            text not null,                        -- one line for the person who decides
  risk            text[] not null default '{}',         -- findings of the scan, without their text
  reason          text not null,                        -- reason for the approval: approval, risk, taint
  origin          text not null,
  tainted         boolean not null,
  run_id          text collate "C",
  op_id           text not null,
  conversation_id bigint,
  from_seq        int,
  to_seq          int,
  state           text not null default 'pending' check (state in ('pending', 'approved', 'rejected', 'conflict', 'expired')),
  created_at      timestamptz not null default now(),
  expires_at      timestamptz not null default now() + interval '30 days',
  decided_at      timestamptz,
  primary key (workspace_id, id),
  foreign key (workspace_id, run_id) references runs,
  foreign key (workspace_id, conversation_id) references conversations
);
create index pending_memories_open on pending_memories (workspace_id, id) where state = 'pending';

-- The soul contains the user's reply preferences: one text, every version stored.
create table soul_versions (
  workspace_id    bigint not null references workspaces,
  version         int not null,
  content         text not null,
  action          text not null check (action in ('replace', 'append', 'rollback')),
  origin          text not null,
  run_id          text collate "C",
  op_id           text not null,
  conversation_id bigint,
  from_seq        int,
  to_seq          int,
  created_at      timestamptz not null default now(),
  primary key (workspace_id, version),
  foreign key (workspace_id, run_id) references runs,
  foreign key (workspace_id, conversation_id) references conversations
);

-- The agent's self-description: one document, every version stored.
create table identity_versions (
  workspace_id bigint not null references workspaces,
  version      int not null,
  content      text not null,
  action       text not null check (action in ('replace', 'rollback', 'undo')),
  origin       text not null,
  author       text not null default '',
  run_id       text collate "C",
  op_id        text not null,
  history_id   text,
  created_at   timestamptz not null default now(),
  primary key (workspace_id, version),
  foreign key (workspace_id, run_id) references runs,
  foreign key (workspace_id, history_id) references memory_histories
);

-- The event time of a memory: the named time if it is on a day of the source messages, else the time
-- of the latest of them. A user's time is always kept. Imported messages without a time have none.
-- +goose StatementBegin
create function cairn.event_time(ws bigint, conversation bigint, first_seq int, last_seq int, named timestamptz, kept boolean) returns timestamptz
language sql stable security invoker set search_path = cairn, pg_catalog, pg_temp as $$
  select case when named is not null and (kept or s.latest is null
      or (named at time zone 'UTC')::date between (s.earliest at time zone 'UTC')::date and (s.latest at time zone 'UTC')::date) then named else s.latest end
  from (select min(said) as earliest, max(said) as latest from (
    select case when c.channel = 'import' then m.event_time else coalesce(m.event_time, m.created_at) end as said
    from messages m join conversations c on c.workspace_id = m.workspace_id and c.id = m.conversation_id
    where m.workspace_id = ws and m.conversation_id = conversation and m.seq between first_seq and last_seq) m) s
$$;
-- +goose StatementEnd
grant execute on function cairn.event_time to cairn_app;

-- +goose StatementBegin
do $$
declare t text;
begin
  foreach t in array array['conversation_marks', 'memory_targets', 'memory_leases', 'memory_histories', 'history_chunks', 'memories', 'memory_revisions', 'memory_refs', 'memory_views', 'pending_memories', 'soul_versions', 'identity_versions'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format($p$create policy %I on %I to cairn_app using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint)$p$, t || '_app', t);
  end loop;
end $$;
-- +goose StatementEnd
grant select, insert on conversation_marks, memory_leases, memory_histories, history_chunks, memories, memory_revisions, memory_views, pending_memories, soul_versions, identity_versions to cairn_app;
grant select, insert, delete on memory_targets, memory_refs to cairn_app;
grant update (seq, run_id, updated_at) on conversation_marks to cairn_app;
grant update (description, aliases, last_used_at, last_summary_at) on memory_targets to cairn_app;
grant update (holder, fence, lease_until) on memory_leases to cairn_app;
grant update (content, content_sha256, version, status, tainted, origin, op_id, event_time, updated_at, when_to_use, embedded_field, metadata, author, targets, superseded_by, retrieve_count, last_retrieved_at) on memories to cairn_app;
grant update (state, decided_at) on pending_memories to cairn_app;

create policy conversation_marks_system on conversation_marks for select to cairn_system using (kind = 'reflection');
grant select (workspace_id, conversation_id, kind, seq) on conversation_marks to cairn_system;

create policy memories_system_gone on memories for select to cairn_system using (status = 'removed');
grant select (workspace_id, status, updated_at) on memories to cairn_system;

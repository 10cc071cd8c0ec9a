-- +goose Up
-- Long-term memory: statements about targets, digests of sessions, and the
-- sessions themselves. What is first read is short, and leads to what is long.

-- Who or what there are memories about. A key is the folded form of a name, a
-- match_key has its letters and digits alone: another spelling finds the target.
create table memory_targets (
  workspace_id    bigint not null references workspaces,
  id              bigint generated always as identity,    -- ascending in the order of creation, which is the order of the lines
  type            text not null check (type in ('personal', 'procedural')),
  target_key      text not null check (target_key <> ''),
  match_key       text not null,
  target          text not null,                          -- as it was first written
  description     text not null default '',               -- empty: the sentence of its type
  aliases         text[] not null default '{}',           -- other keys that mean it
  run_id          bigint,                                 -- that registered it; it may have been erased
  created_at      timestamptz not null default now(),
  last_used_at    timestamptz not null default now(),
  last_summary_at timestamptz,
  primary key (workspace_id, id),
  unique (workspace_id, type, target_key)
);
create index memory_targets_match on memory_targets (workspace_id, type, match_key);

-- One session, or a part of one: a range of a conversation's messages. The id is
-- the hash of the messages, so that a session that is sent again is the same.
create table memory_histories (
  workspace_id    bigint not null references workspaces,
  id              text not null check (id ~ '^[0-9a-f]{16}$'),
  content_sha256  bytea not null,
  conversation_id bigint not null,
  from_seq        int not null,
  to_seq          int not null check (to_seq >= from_seq),
  messages        int not null,                           -- without those of the system
  tokens          int not null,                           -- estimated
  author          text not null default '',
  run_id          bigint,
  op_id           text not null,
  created_at      timestamptz not null default now(),
  primary key (workspace_id, id),
  unique (workspace_id, content_sha256),
  foreign key (workspace_id, conversation_id) references conversations,
  foreign key (workspace_id, run_id) references runs
);

-- What of a session is found by a query: whole turns.
create table history_chunks (
  workspace_id    bigint not null,
  id              bigint generated always as identity,
  history_id      text not null,
  number          int not null,
  from_seq        int not null,
  to_seq          int not null check (to_seq >= from_seq),
  tokens          int not null,                           -- estimated
  primary key (workspace_id, id),
  unique (workspace_id, history_id, number),
  foreign key (workspace_id, history_id) references memory_histories
);

alter table memories add column when_to_use text not null default '';
alter table memories add column embedded_field text not null default 'content' check (embedded_field in ('content', 'when_to_use'));
alter table memories add column metadata jsonb not null default '{}' check (jsonb_typeof(metadata) = 'object');
alter table memories add column history_id text;          -- the session that it was first drawn from
alter table memories add column author text not null default '';                  -- model@prompt-hash
alter table memories add column importance real not null default 0;
alter table memories add column targets text[] not null default '{}';             -- of a summary: type/key of whom the session was about
alter table memories add column superseded_by text;       -- the entry that says the same
alter table memories add column retrieve_count int not null default 0;            -- runs that were shown it
alter table memories add column last_retrieved_at timestamptz;
alter table memories add foreign key (workspace_id, history_id) references memory_histories;
alter table memories drop constraint memories_status_check;
alter table memories add constraint memories_status_check check (status in ('active', 'superseded', 'removed', 'quarantined'));
create index memories_scope on memories (workspace_id, type, target, status);

-- What must not be there twice: a sentence about one target, the guideline of a
-- tool, the digest of a session.
drop index memories_content;
create unique index memories_content on memories (workspace_id, type, target, content_sha256) where status = 'active' and type not in ('tool', 'summary');
create unique index memories_guideline on memories (workspace_id, when_to_use) where status = 'active' and type = 'tool';
create unique index memories_digest on memories (workspace_id, history_id) where status = 'active' and type = 'summary' and history_id is not null;
create unique index memories_digest_text on memories (workspace_id, content_sha256) where status = 'active' and type = 'summary' and history_id is null;

-- A revision holds all of what an entry was, so that any can be gone back to.
alter table memory_revisions drop constraint memory_revisions_action_check;
alter table memory_revisions add constraint memory_revisions_action_check check (action in ('add', 'replace', 'remove', 'merge', 'restore', 'undo'));
alter table memory_revisions add column status text not null default 'active';
alter table memory_revisions add column when_to_use text not null default '';
alter table memory_revisions add column metadata jsonb not null default '{}';
alter table memory_revisions add column targets text[] not null default '{}';
alter table memory_revisions add column author text not null default '';

-- Every session that an entry was drawn from.
create table memory_refs (
  workspace_id    bigint not null,
  memory_id       bigint not null,
  history_id      text not null,
  run_id          bigint,                                 -- that found it there
  created_at      timestamptz not null default clock_timestamp(),
  primary key (workspace_id, memory_id, history_id),
  foreign key (workspace_id, memory_id) references memories,
  foreign key (workspace_id, history_id) references memory_histories,
  foreign key (workspace_id, run_id) references runs
);

-- What a run has been shown: counted once, and all that it may be let change.
create table memory_views (
  workspace_id    bigint not null,
  run_id          bigint not null,
  memory_id       bigint not null,
  op_id           text not null,                          -- the call that showed it first
  created_at      timestamptz not null default now(),
  primary key (workspace_id, run_id, memory_id),
  foreign key (workspace_id, run_id) references runs,
  foreign key (workspace_id, memory_id) references memories
);

-- Who the agent is: one document, every version kept.
create table identity_versions (
  workspace_id    bigint not null references workspaces,
  version         int not null,
  content         text not null,
  action          text not null check (action in ('replace', 'rollback', 'undo')),
  origin          text not null,
  author          text not null default '',
  run_id          bigint,
  op_id           text not null,
  history_id      text,
  created_at      timestamptz not null default now(),
  primary key (workspace_id, version),
  foreign key (workspace_id, run_id) references runs,
  foreign key (workspace_id, history_id) references memory_histories
);
alter table workspaces add column identity_version int not null default 0;      -- the head, 0 before the first

-- One writer at a time for a target. A fence rises with every holder: a write
-- under an older one is refused, whatever its holder believes.
create table memory_leases (
  workspace_id    bigint not null references workspaces,
  type            text not null,
  target_key      text not null,
  holder          text not null,
  fence           bigint not null,
  lease_until     timestamptz not null,                   -- by this database's clock
  primary key (workspace_id, type, target_key)
);

alter table search_docs drop constraint search_docs_kind_check;
alter table search_docs add constraint search_docs_kind_check check (kind in ('skill', 'memory', 'turn', 'chunk'));

-- +goose StatementBegin
do $$
declare t text;
begin
  foreach t in array array['memory_targets', 'memory_histories', 'history_chunks', 'memory_refs', 'memory_views', 'identity_versions', 'memory_leases'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format($p$create policy %I on %I to cairn_app using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint)$p$, t || '_app', t);
    execute format('grant select, insert on %I to cairn_app', t);
  end loop;
end $$;
-- +goose StatementEnd
grant update (when_to_use, embedded_field, metadata, author, targets, superseded_by, retrieve_count, last_retrieved_at) on memories to cairn_app;
grant update (description, aliases, last_used_at, last_summary_at), delete on memory_targets to cairn_app;
grant delete on memory_refs to cairn_app;                -- of a run that is undone
grant update (holder, fence, lease_until) on memory_leases to cairn_app;
grant update (identity_version) on workspaces to cairn_app;

-- +goose Up
-- Reflection: once a day the conversations of a workspace's local day become notes, memories and
-- skills. A note is a memory of type note; its target is the local date that it describes.

-- One row for each local date of a workspace, also on days with a clock change.
create table reflection_runs (
  workspace_id  bigint not null references workspaces,
  local_date    date not null,
  zone          text not null,
  status        text not null check (status in ('started', 'saved', 'nothing_to_save', 'empty', 'partial', 'failed')),
  from_at       timestamptz,                            -- null: from the start
  to_at         timestamptz not null,
  run_id        text collate "C",
  conversations int not null default 0,
  messages      int not null default 0,
  notes         int not null default 0,
  memories      int not null default 0,
  skills        int not null default 0,
  failures      int not null default 0,
  reason        text,
  empty_week    boolean not null default false,         -- empty, the seventh in a row although conversations took place
  created_at    timestamptz not null default now(),
  updated_at    timestamptz not null default now(),
  primary key (workspace_id, local_date),
  foreign key (workspace_id, run_id) references runs
);
-- For metrics: days that three reflections in a row could not read.
create index reflection_runs_failed on reflection_runs (failures) where status = 'failed';
create index reflection_runs_empty_week on reflection_runs (local_date) where empty_week;

-- The messages that a reflection reads, one row for each range of a conversation. The ranges of an
-- open or a successful run are not available to others; a failed run releases them.
create table reflection_reads (
  workspace_id    bigint not null,
  run_id          text collate "C" not null,
  conversation_id bigint not null,
  from_seq        int not null,
  to_seq          int not null check (to_seq >= from_seq),
  part            int not null,                         -- of the day, from 0: a long day is read in parts
  state           text not null default 'open' check (state in ('open', 'read', 'skipped')),
  primary key (workspace_id, run_id, conversation_id, from_seq),
  foreign key (workspace_id, run_id) references runs,
  foreign key (workspace_id, conversation_id) references conversations
);
create index reflection_reads_of on reflection_reads (workspace_id, conversation_id, from_seq);

-- The notes that searches have returned, by day and query. Notes that are found repeatedly become
-- long-term memories.
create table note_recalls (
  workspace_id bigint not null,
  memory_id    bigint not null,
  day          date not null default current_date,
  query_sha    bytea not null,
  relevance    real not null check (relevance between 0 and 1), -- 1 for the first result
  recalls      int not null default 1,
  last_at      timestamptz not null default now(),
  primary key (workspace_id, memory_id, day, query_sha),
  foreign key (workspace_id, memory_id) references memories on delete cascade
);

-- +goose StatementBegin
do $$
declare t text;
begin
  foreach t in array array['reflection_runs', 'reflection_reads', 'note_recalls'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format($p$create policy %I on %I to cairn_app using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint)$p$, t || '_app', t);
  end loop;
end $$;
-- +goose StatementEnd
grant select, insert on reflection_runs, note_recalls to cairn_app;
grant select, insert, delete on reflection_reads to cairn_app;
grant update (zone, status, from_at, to_at, run_id, conversations, messages, notes, memories, skills, failures, reason, updated_at, empty_week) on reflection_runs to cairn_app;
grant update (state, to_seq) on reflection_reads to cairn_app;
grant update (relevance, recalls, last_at) on note_recalls to cairn_app;

create policy reflection_runs_system_see on reflection_runs for select to cairn_system using (true);
create policy reflection_runs_system_empty on reflection_runs for insert to cairn_system with check (status = 'empty');
grant select (workspace_id, local_date, status, to_at, failures, updated_at, empty_week), insert (workspace_id, local_date, zone, status, from_at, to_at, empty_week) on reflection_runs to cairn_system;

-- Whether the day at an instant, if it was empty, is the seventh empty one in a row although
-- conversations took place. A reflection that fails to read messages otherwise looks like one
-- without messages.
-- +goose StatementBegin
create function cairn.empty_week(ws bigint, at timestamptz) returns boolean
language sql stable security invoker set search_path = cairn, pg_catalog, pg_temp as $$
  select (select count(*) >= 6 and bool_and(r.status = 'empty') from reflection_runs r where r.workspace_id = ws and r.to_at >= at - interval '6 days 3 hours' and r.to_at < at)
    and exists (select from turns t where t.workspace_id = ws and t.origin = 'user' and t.accepted_at > at - interval '7 days' and t.accepted_at <= at)
$$;
-- +goose StatementEnd
grant execute on function cairn.empty_week to cairn_app, cairn_system;
